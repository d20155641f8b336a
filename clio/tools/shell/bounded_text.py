"""Text that grows without end in memory that does not: its head and its tail, and a count of what is between."""

MAX_KEPT_CHARS = 2_000_000


class BoundedText:
    """Keeps the first and the last `max_chars` / 2 characters of everything added."""

    def __init__(self, max_chars: int = MAX_KEPT_CHARS) -> None:
        self._half = max(max_chars // 2, 1)
        self._head: list[str] = []
        self._head_chars = 0
        self._tail: list[str] = []
        self._tail_chars = 0
        self.total_chars = 0

    def add(self, text: str) -> None:
        """Append; costs as much as the text is long, averaged over many calls."""
        self.total_chars += len(text)
        taken = text[: self._half - self._head_chars]
        if taken:
            self._head.append(taken)
            self._head_chars += len(taken)
        rest = text[len(taken) :]
        if rest:
            self._tail.append(rest)
            self._tail_chars += len(rest)
            if self._tail_chars > 2 * self._half:
                self._tail = ["".join(self._tail)[-self._half :]]
                self._tail_chars = self._half

    def since(self, offset: int) -> str:
        """Everything from this character of the whole stream on; a notice stands for what is not kept."""
        head = "".join(self._head)
        tail = "".join(self._tail)[-self._half :]
        tail_start = self.total_chars - len(tail)
        gone = tail_start - max(self._head_chars, min(offset, tail_start))
        notice = f"\n[… {gone:,} characters are not kept …]\n" if gone else ""
        return head[offset:] + notice + tail[max(offset - tail_start, 0) :]

    def text(self) -> str:
        """Everything that is kept."""
        return self.since(0)
