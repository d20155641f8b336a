"""Counts as a person reads them in a narrow place. Pure."""


def format_tokens(count: int) -> str:
    """A count in at most five characters: "950", "1.2k", "12k", "1.3M"."""
    if count < 1000:
        return str(count)
    if count < 9_950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}M"
