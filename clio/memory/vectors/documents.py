"""Documents the user added: cut into windows and pieces, embedded, searched."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clio.errors import UserError
from clio.memory.vectors.vector_store import DOCUMENT_LIST, VectorItem, VectorStore
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import make_ignored_folder, read_regular
from clio.text.embedding import DEFAULT_TOP_K, compute_windows, filter_near_best, is_long_enough
from clio.text.lazy_regex import LazyRegex
from clio.threads import ProgressCallback, ignore_progress, never_stop

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = LazyRegex(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]{{1,6}}|\d{{1,3}}|[^\w\s]|_")
_LINE = LazyRegex(r"[^\n]*\n?")
_WORD = LazyRegex(r"\S+\s*")


class Piece(Struct, frozen=True, kw_only=True):
    """A part of a window, exactly as it stands in the document.

    window: from 0. line: where it begins, from 1.
    """

    window: int
    line: int
    text: str


def count_tokens(text: str) -> int:
    """About how many tokens a text is."""
    return sum(1 for _ in _TOKEN.finditer(text))


def pieces_of(text: str, piece_words: int) -> Iterator[Piece]:
    """The pieces of the windows (512 tokens, 128 of them shared, more than 50 characters) of a document.

    The pieces of a window, put together, are the window. piece_words: how many words one vector says well.
    """
    starts = [token.start() for token in _TOKEN.finditer(text)]
    line, counted = 1, 0
    for number, (first, last) in enumerate(compute_windows(len(starts))):
        start = starts[first] if first else 0
        end = starts[last] if last < len(starts) else len(text)
        if not is_long_enough(text[start:end]):
            continue
        line += text.count("\n", counted, start)
        counted = start
        inside = 0
        for piece in _cut(text[start:end], piece_words):
            yield Piece(window=number, line=line + inside, text=piece)
            inside += piece.count("\n")


def _cut(window: str, piece_words: int) -> Iterator[str]:
    """In runs of whole lines of up to so many words; a longer line in runs of words."""
    held, words = "", 0
    for line in _LINE.findall(window):
        size = len(line.split())
        if words and words + size > piece_words:
            yield held
            held, words = "", 0
        if size <= piece_words:
            held, words = held + line, words + size
            continue
        parts = _WORD.findall(line)
        indent = line[: len(line) - len(line.lstrip())]
        for at in range(0, len(parts), piece_words):
            held += ("" if at else indent) + "".join(parts[at : at + piece_words])
            if at + piece_words < len(parts):
                yield held
                held = ""
        words = len(parts) % piece_words or piece_words
    if held.strip():
        yield held


MAX_FILE_BYTES = 1_000_000
MAX_FILES = 2_000
SHOWN_CHARS = 1_000
_QUICK_BYTES = 200_000
"""A changed file up to this size is read again while a search waits."""
_LOOK_BYTES = 8_192


class DocumentSource(Struct, frozen=True, kw_only=True):
    """A file or folder that was added. Paths are relative to the project where they lie in it, else absolute.

    files: those that were taken in. added: seconds since the epoch.
    """

    path: str
    files: tuple[str, ...] = ()
    added: float = 0.0


class DocumentList(Struct, frozen=True, kw_only=True):
    """The content of `documents.json`."""

    sources: tuple[DocumentSource, ...] = ()


DOCUMENTS = DocumentFormat(schema="clio.documents", version=1, type=DocumentList)


class Taken(Struct, frozen=True, kw_only=True):
    """What adding or refreshing a source did. left_out: files that were not taken in, each with the reason.

    unread: how many files were not looked at, because it was stopped.
    """

    source: DocumentSource
    read: int = 0
    windows: int = 0
    unread: int = 0
    left_out: tuple[tuple[str, str], ...] = ()


class DocumentHit(Struct, frozen=True, kw_only=True):
    """A window of a document near the question, or as much of it around the hit as 1,000 characters are.

    line: where the text begins, from 1. changed: the file has changed since it was read.
    """

    path: str
    line: int
    text: str
    distance: float
    changed: bool = False


class Documents:
    """The documents of one project. For several threads and processes.

    redact: takes secrets out of what is kept. Methods raise StorageError for a damaged list, and OSError.
    """

    def __init__(
        self, project: Path, vectors: VectorStore, *, redact: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        self._project = project
        self._path = project / ".clio" / DOCUMENT_LIST
        self._vectors = vectors
        self._redact = redact
        self._clock = clock

    @property
    def exist(self) -> bool:
        """Whether anything was added; known without reading it."""
        return self._path.exists()

    def sources(self) -> tuple[DocumentSource, ...]:
        """What was added, in order of path."""
        document = load_document(self._path, DOCUMENTS)
        return document.value.sources if document else ()

    def state(self, source: DocumentSource) -> tuple[int, int]:
        """How many of its files have changed or gone since they were read, and how many have no vectors yet."""
        marks = self._vectors.marks()
        known = [file for file in source.files if file in marks]
        return sum(self._changed(file, marks[file]) for file in known), len(source.files) - len(known)

    def windows(self, source: DocumentSource) -> int:
        """How many windows there are of its files."""
        return sum(len(self._vectors.ids_of(file)) for file in source.files)

    def add(
        self,
        path: Path,
        files: Sequence[Path],
        *,
        stop: Callable[[], bool] = never_stop,
        tell: ProgressCallback = ignore_progress,
    ) -> Taken:
        """Take in a file, or these files of a folder; what is there already is read again only if it changed.

        stop: ends it before the next file; those read by then are taken in. tell: told of how many files are done, and
        of how many there are. Raises UserError where none of them is text, or none was read.
        """
        return self._take(DocumentSource(path=self.name_of(path), added=self._clock()), files, stop, tell)

    def refresh(
        self,
        source: DocumentSource,
        files: Sequence[Path] | None = None,
        *,
        stop: Callable[[], bool] = never_stop,
        tell: ProgressCallback = ignore_progress,
    ) -> Taken:
        """Read again what changed; files: those there are now, None: those there were. Those that are gone go."""
        if files is None:
            files = [path for file in source.files if (path := self._project / file).is_file()]
        return self._take(source, files, stop, tell)

    def catch_up(self, stop: Callable[[], bool] = never_stop, tell: ProgressCallback = ignore_progress) -> int:
        """Read what changed or has no vectors, for a thread in the background; how many files were read.

        stop: ends it before the next file. tell: told of how many files are done, and of how many there are.
        """
        read = 0
        files = dict.fromkeys(file for source in self.sources() for file in source.files)
        marks = self._vectors.marks()
        self._vectors.remove(self._vectors.groups() - files.keys(), wipe=True)
        for done, file in enumerate(files):
            if stop():
                break
            tell(done, len(files))
            if file not in marks or self._changed(file, marks[file]):
                read += self._read(file) is None
        return read

    def remove(self, name: str) -> DocumentSource:
        """Let go of what was added under that name. Raises UserError where nothing was."""
        source = self.find(name)
        kept = self._update(lambda sources: tuple(one for one in sources if one.path != source.path))
        still = {file for one in kept for file in one.files}
        self._vectors.remove([file for file in source.files if file not in still], wipe=True)
        return source

    def find(self, name: str) -> DocumentSource:
        """What was added under that name or path. Raises UserError."""
        wanted = {name.rstrip("/") or name, self.name_of((self._project / name).resolve())}
        for source in self.sources():
            if source.path in wanted:
                return source
        known = ", ".join(repr(source.path) for source in self.sources()[:10]) or "none"
        raise UserError(f"{name!r} is no document that was added; there are: {known}")

    def search(self, question: str, count: int = DEFAULT_TOP_K) -> list[DocumentHit]:
        """The nearest windows, nearest first, without those that are farther than 1.10 × the best."""
        embedder = self._vectors.embedder
        found = self._vectors.search(question, 2 * count)
        if embedder is not self._vectors.embedder:  # it failed, and its vectors are of no use to the other one
            self.catch_up()
            found = self._vectors.search(question, 2 * count)
        marks = self._vectors.marks()
        stale = {item.group for item, _ in found if self._changed(item.group, marks.get(item.group, ""))}
        quick = {file for file in stale if self._is_quick(file)}
        for file in quick:
            self._read(file)
        if quick:
            found = self._vectors.search(question, 2 * count)
        kept = filter_near_best([distance for _, distance in found])
        hits: list[DocumentHit] = []
        for item, distance in found[: len(kept)]:
            said = item.text.strip()
            if any(hit.path == item.group and said in hit.text for hit in hits):
                continue  # two windows share what stands between them
            hits.append(self._hit(item, distance, changed=item.group in stale - quick))
        return hits[:count]

    def name_of(self, path: Path) -> str:
        """How a path is called here: relative to the project where it lies in it."""
        try:
            return path.relative_to(self._project).as_posix()
        except ValueError:
            return str(path)

    def _take(
        self, source: DocumentSource, files: Sequence[Path], stop: Callable[[], bool], tell: ProgressCallback
    ) -> Taken:
        marks = self._vectors.marks()
        taken: list[str] = []
        left_out: list[tuple[str, str]] = [
            (self.name_of(path), f"more than {MAX_FILES:,} files") for path in files[MAX_FILES:]
        ]
        read = unread = 0
        looked_at = files[:MAX_FILES]
        for number, path in enumerate(looked_at):
            tell(number, len(looked_at))
            if stop():
                rest = [self.name_of(one) for one in looked_at[number:]]
                taken += [file for file in rest if file in source.files]
                unread = len(rest)
                break
            file = self.name_of(path)
            if file in marks and not self._changed(file, marks[file]):
                taken.append(file)
                continue
            problem = self._read(file)
            if problem is None:
                taken.append(file)
                read += 1
            else:
                left_out.append((file, problem))
        if not taken and unread:
            raise UserError(f"stopped before anything of {source.path!r} was read; nothing was changed")
        if not taken and not source.files:
            why = f": {left_out[0][0]!r} is {left_out[0][1]}" if left_out else ""
            raise UserError(f"{source.path!r} has no text to take in{why}")
        new = replace(source, files=tuple(taken))
        kept = self._update(lambda sources: (*(one for one in sources if one.path != new.path), new))
        still = {file for one in kept for file in one.files}
        self._vectors.remove([file for file in source.files if file not in still], wipe=True)
        windows = self.windows(new)
        return Taken(source=new, read=read, windows=windows, unread=unread, left_out=tuple(left_out))

    def _read(self, file: str) -> str | None:
        """Embed a file again; why it was not, where it is no text. A file that is gone leaves nothing behind."""
        path = self._project / file
        try:
            stat = path.stat()
            if stat.st_size > MAX_FILE_BYTES:
                return f"over {MAX_FILE_BYTES // 1_000_000} MB"
            data = read_regular(path)
        except OSError as error:
            self._vectors.remove([file], wipe=True)
            return error.strerror or "not readable"
        if b"\0" in data[:_LOOK_BYTES]:
            return "not text"
        digest = hashlib.sha256(data).hexdigest()[:16]
        mark = f"{stat.st_mtime_ns}.{stat.st_size}.{digest}"
        if self._vectors.marks().get(file, "").endswith(f".{digest}"):
            self._vectors.mark(file, mark)
            return None
        text = self._redact(data.decode("utf-8", "replace").replace("\r\n", "\n"))
        self._vectors.remove([file])
        self._vectors.put(self._items(file, text))
        self._vectors.mark(file, mark)
        return None

    def _items(self, file: str, text: str) -> Iterable[VectorItem]:
        now = self._clock()
        for piece in pieces_of(text, self._vectors.embedder.piece_words):
            yield VectorItem(
                id=f"{file}#{piece.window}", group=file, text=piece.text, role="document", created=now, line=piece.line
            )

    def _hit(self, item: VectorItem, distance: float, *, changed: bool) -> DocumentHit:
        pieces = self._vectors.pieces_of(item.id)
        at = next((place for place, piece in enumerate(pieces) if piece is item), None)
        if at is None:
            pieces, at = [item], 0
        first = last = at
        chars = len(item.text)
        for _ in pieces:
            if last + 1 < len(pieces) and chars + len(pieces[last + 1].text) <= SHOWN_CHARS:
                last += 1
                chars += len(pieces[last].text)
            if first > 0 and chars + len(pieces[first - 1].text) <= SHOWN_CHARS:
                first -= 1
                chars += len(pieces[first].text)
        text = "".join(piece.text for piece in pieces[first : last + 1]).strip("\n")
        return DocumentHit(path=item.group, line=pieces[first].line, text=text, distance=distance, changed=changed)

    def _changed(self, file: str, mark: str) -> bool:
        try:
            stat = (self._project / file).stat()
        except OSError:
            return True
        return not mark.startswith(f"{stat.st_mtime_ns}.{stat.st_size}.")

    def _is_quick(self, file: str) -> bool:
        try:
            return (self._project / file).stat().st_size <= _QUICK_BYTES
        except OSError:
            return True  # it is gone: that is quickly seen

    def _update(
        self, change: Callable[[tuple[DocumentSource, ...]], tuple[DocumentSource, ...]]
    ) -> tuple[DocumentSource, ...]:
        make_ignored_folder(self._path.parent, self._path.parent)
        new = update_document(
            self._path,
            DOCUMENTS,
            lambda old: replace(old, sources=tuple(sorted(change(old.sources), key=lambda one: one.path))),
        )
        return new.sources
