"""Whether two readers of one line found the same. Pure."""

from collections.abc import Mapping

from clio.security.shell.outline import Outline
from clio.security.shell.state import DECLARES
from clio.security.shell.words import Word
from clio.security.shell.wrappers import SHELLS, reads_input

Words = tuple[Word, ...]


def same_calls(outline: Outline, seen: Mapping[int, Words]) -> bool:
    """Whether the same calls begin at the same places, with the same words."""
    found = {place: _plain(words) for place, words in seen.items() if words}
    own = {place: _plain(words) for place, words in outline.calls.items()}
    return own.keys() == found.keys() and all(
        len(words) == len(found[place]) and all(map(_alike, words, found[place])) for place, words in own.items()
    )


def same_redirects(outline: Outline, seen: Mapping[int, tuple[str, Word]]) -> bool:
    """Whether the same files are read and written at the same places."""
    return outline.redirects.keys() == seen.keys() and all(
        operator == seen[place][0] and _alike(target, seen[place][1])
        for place, (operator, target) in outline.redirects.items()
    )


def same_inputs(outline: Outline, seen: Mapping[int, str | None]) -> bool:
    """Whether each shell is fed the same text: a shell runs it."""
    for place, words in outline.calls.items():
        if any(_reads(words[start:]) for start in range(len(words))):
            fed = outline.inputs.get(place)
            own = outline.documents.get(fed, "") if isinstance(fed, int) else fed
            other = seen.get(place)
            if (own if own is None else own.rstrip("\n")) != (other if other is None else other.rstrip("\n")):
                return False
    return True


def same_settings(outline: Outline, seen: Mapping[int, tuple[str, Word]]) -> bool:
    """Whether each setting was seen; the other reader also takes parts of arithmetic for some."""
    return all(
        place in seen and name == seen[place][0] and (value.dynamic or value.text == seen[place][1].text)
        for place, (name, value) in outline.settings.items()
    )


def _reads(words: Words) -> bool:
    """Whether this would be a shell that runs what it reads."""
    return words[0].text.rsplit("/", 1)[-1] in SHELLS and reads_input(words)


def _plain(words: Words) -> Words:
    """The words of a call as both readers may have them: `[` without its test, the names after `export` sorted."""
    if words[0] == Word("[", glob=words[0].glob):
        return (Word("["),)
    if words[0].text not in DECLARES:
        return words
    return (words[0], *sorted((_named(word) for word in words[1:]), key=lambda word: word.text))


def _named(word: Word) -> Word:
    """A name and what it is set to; the value is compared only where it is plain."""
    name, sign, _ = word.text.partition("=")
    return Word(f"{name}=", dynamic=True) if sign else word


def _alike(own: Word, other: Word) -> bool:
    """Whether a word of the other reader says no more than this one's."""
    if own.dynamic or other.dynamic:
        return other.dynamic
    return own.text == other.text and other.glob >= own.glob
