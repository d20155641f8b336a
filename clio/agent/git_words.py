"""What a model is told of a change when it is to put it into words: bounded, and without secrets."""

from collections.abc import Callable, Sequence

from clio.git.commits import format_count, is_conventional
from clio.git.diffs import Difference, FittedDiff, fit_diff
from clio.messages import Message, UserMessage

MAX_DIFF_CHARS = 30_000
_MOST_FILES = 100
_MOST_WORDS = 3
_WORDS_CHARS = 600

Clean = Callable[[str], str]


def task_of(messages: Sequence[Message]) -> list[str]:
    """What the person asked for last in a session, oldest first."""
    said = [one.content for one in messages if isinstance(one, UserMessage) and one.origin == "user"]
    words = [" ".join(text.split()) for text in said if text.strip() and not text.startswith("/")]
    return [text[:_WORDS_CHARS] for text in words[-_MOST_WORDS:]]


def commit_prompt(
    difference: Difference,
    *,
    task: Sequence[str],
    subjects: Sequence[str],
    words: str = "",
    template: str = "",
    before: str = "",
    clean: Clean,
    max_chars: int = MAX_DIFF_CHARS,
) -> str:
    """What is asked for a commit's message.

    subjects: first lines of earlier commits. words: what the person wants it to say. template: of the repository.
    before: a message they did not like.
    """
    style = (
        'They follow Conventional Commits ("feat: …", "fix(scope): …"); so does the new one.'
        if is_conventional(subjects)
        else "Write in the same language and the same form."
    )
    parts = [
        *([f"The person wants it to say: {words}"] if words else []),
        *([f"This message was not what they wanted:\n{before}"] if before else []),
        *([f"Earlier commits begin so:\n{_listed(subjects)}\n{style}"] if subjects else []),
        *([f"The repository's template for messages:\n{template}"] if template else []),
        *([f"Asked for in the conversation, last things last:\n{_listed(task)}"] if task else []),
        _files(difference),
        shown(fit_diff(clean(difference.text), max_chars)),
    ]
    return clean("\n\n".join(parts))


def pr_prompt(
    difference: Difference,
    commits: Sequence[str],
    *,
    task: Sequence[str],
    clean: Clean,
    max_chars: int = MAX_DIFF_CHARS,
) -> str:
    """What is asked for a pull request's title and description. commits: their messages, oldest first."""
    parts = [
        f"The commits, oldest first:\n{_listed(commits)}",
        *([f"Asked for in the conversation, last things last:\n{_listed(task)}"] if task else []),
        _files(difference),
        shown(fit_diff(clean(difference.text), max_chars)),
    ]
    return clean("\n\n".join(parts))


def shown(fitted: FittedDiff) -> str:
    """A diff with a sentence on what is missing of it."""
    missing = "" if fitted.whole else f", of which {fitted.left_out}"
    return f"The diff{missing}:\n{fitted.text}"


def _files(difference: Difference) -> str:
    lines = [f"{count.path} {format_count(count)}" for count in difference.counts[:_MOST_FILES]]
    more = len(difference.counts) - len(lines)
    return "Files:\n" + "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
