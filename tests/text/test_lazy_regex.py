"""Lazily compiled patterns find what `re` finds, and the words they declare as necessary really are."""

import gc
import importlib
import pkgutil
import re
from collections.abc import Iterator

import clio
from clio.text.lazy_regex import LazyRegex
from tests.support.rows import each_row

# This sign stands for everything a pattern can match that is not one known letter.
ANYTHING = "\0"
MOST = 50_000


def lazy_regexes() -> Iterator[tuple[str, LazyRegex]]:
    """Return every pattern with `needs` or `starts` that is an attribute of a module, or in a tuple there."""
    for module in pkgutil.walk_packages(clio.__path__, "clio."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for number, one in enumerate(value if isinstance(value, tuple) else (value,)):
                if isinstance(one, LazyRegex) and (one.needs or one.starts):
                    yield f"{module.name}.{name}.{number}", one


def describe_matches(parts: object) -> set[str]:
    """Return approximately all that a parsed pattern can match: optional parts and repeats are `ANYTHING`."""
    found = {""}
    for kind, value in parts:  # type: ignore[attr-defined]
        begins = "" in found  # here it matters what a set may be and what may be missing
        match str(kind):
            case "LITERAL":
                more = {chr(value).lower()}
            case "BRANCH":
                more = set().union(*(describe_matches(branch) for branch in value[1]))
            case "SUBPATTERN":
                more = describe_matches(value[3])
            case "ATOMIC_GROUP":
                more = describe_matches(value)
            case "ASSERT":
                more = {f"{ANYTHING}{one}{ANYTHING}" for one in describe_matches(value[1])}
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if value[0] >= 1:
                each = describe_matches(value[2])
                more = {f"{one * value[0] if len(each) == 1 else one}{ANYTHING}" for one in each}
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if begins or is_optional_letter(value):
                more = {"", *(one if value[1] == 1 else f"{one}{ANYTHING}" for one in describe_matches(value[2]))}
            case "IN":
                more = members(value)
                more = more if begins or len(more) < 5 else {ANYTHING}
            case "AT" | "ASSERT_NOT":
                more = {""}
            case _:
                more = {ANYTHING}
        found = {re.sub(f"{ANYTHING}+", ANYTHING, before + one) for before in found for one in more}
        assert len(found) < MOST
    return found


def is_optional_letter(repeat: tuple[int, int, list[tuple[object, object]]]) -> bool:
    _, most, parts = repeat
    return most == 1 and len(parts) == 1 and str(parts[0][0]) == "LITERAL" and chr(int(str(parts[0][1]))).isalpha()


def members(parts: object) -> set[str]:
    """Return the ASCII characters of a set, `ANYTHING` for a set of many."""
    found: set[str] = set()
    for kind, value in parts:  # type: ignore[attr-defined]
        match str(kind):
            case "LITERAL":
                found.add(chr(value).lower())
            case "RANGE" if value[1] - value[0] < 12:
                found |= {chr(code).lower() for code in range(value[0], value[1] + 1)}
            case "CATEGORY" if str(value) == "CATEGORY_DIGIT":
                found |= set("0123456789")
            case _:
                return {ANYTHING}
    return found


def test_declared_words_and_beginnings_are_in_all_that_a_pattern_can_match() -> None:
    patterns = dict(lazy_regexes())
    assert len(patterns) > 45
    for name, one in patterns.items():
        parsed = re._parser.parse(one.pattern, one.flags)  # type: ignore[attr-defined]
        without = sorted(
            text
            for text in describe_matches(parsed)
            if not any(need in text for need in one.needs) and not text.startswith(one.starts or "\n")
        )
        assert without[:5] == [], name
        assert all(start == start.lower() and len(start) <= 24 for start in one.starts), name


def test_a_word_that_is_not_necessary_is_detected() -> None:
    parsed = re._parser.parse("(?:never|not) ever|newer")  # type: ignore[attr-defined]
    assert sorted(text for text in describe_matches(parsed) if "ever" not in text) == ["newer"]


@each_row("text", ["", "gpt-4o", "GPT-oss", "o3", "my-vision", "ſo", "k2", "oo"])
@each_row("pos", [0, 1])
def test_it_matches_like_a_pattern_if_the_beginnings_are_declared(text: str, pos: int) -> None:
    pattern = r"gpt-\w+|o[13]|.*(vision)|s\w"
    for method in ("match", "fullmatch", "search"):
        late = LazyRegex(pattern, re.I, starts="gpt- o1 o3 s", needs="vision")
        found, wanted = getattr(late, method)(text, pos), getattr(re.compile(pattern, re.I), method)(text, pos)
        assert (found and found.span()) == (wanted and wanted.span()), method


def test_it_is_not_compiled_for_a_text_with_another_beginning() -> None:
    late = LazyRegex("(?:never|always) now", starts="never always")
    assert late.match("not now") is None and late.match("not never now") is None
    assert "match" not in vars(late)
    assert late.match("not never now", 4) is not None


@each_row("text", ["", "always this", "ALWAYS that", "it is always so", "not at all", "ſtop"])
def test_search_gives_the_results_of_a_pattern(text: str) -> None:
    for pattern, needs in (("always", "always"), (r"al\w+s", "al"), (r"stop|always (?P<what>\w+)", "stop always")):
        real = re.compile(pattern, re.I)
        for method in ("match", "search", "fullmatch"):
            late = LazyRegex(pattern, re.I, needs=needs)
            found, wanted = getattr(late, method)(text), getattr(real, method)(text)
            assert (found and found.span()) == (wanted and wanted.span()), (pattern, method)
        late = LazyRegex(pattern, re.I, needs=needs)
        assert late.sub("x", text) == real.sub("x", text)
        late = LazyRegex(pattern, re.I, needs=needs)
        assert [one.span() for one in late.finditer(text)] == [one.span() for one in real.finditer(text)]


def test_its_other_methods_give_the_results_of_a_pattern() -> None:
    text, real = "never say never, or say nothing", re.compile(r"(never|nothing),? ?")
    for call in (
        lambda one: one.split(text),
        lambda one: one.split(text, 1),
        lambda one: one.subn("x", text),
        lambda one: one.subn(lambda match: match[0].upper(), text, 1),
        lambda one: one.findall(text, 3),
        lambda one: [match.span() for match in one.finditer(text, 1, 15)],
        lambda one: one.search(text, 1).span(),
        lambda one: one.match(text, 10).span(),
        lambda one: one.fullmatch(text, 0, 6).span(),
    ):
        late = LazyRegex(real.pattern)
        assert call(late) == call(real) == call(late)


def test_it_is_compiled_only_when_a_declared_word_occurs() -> None:
    late = LazyRegex("(?:never|always) now", needs="never always")
    kept = late.search
    assert late.search("it was a long day") is None
    assert "search" not in vars(late)
    assert late.search("never now") is not None
    assert late.search == re.compile("(?:never|always) now").search  # from here on it is as fast as the compiled one
    assert kept("not now, never now") is not None


def test_every_pattern_of_clio_can_be_compiled() -> None:
    """They are not compiled at start, so an error in one would only appear at its first use."""
    for module in pkgutil.walk_packages(clio.__path__, "clio."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.unfreeze()  # frozen objects, as after collecting tests or after starting clio, are not listed
    patterns = [each for each in gc.get_objects() if isinstance(each, LazyRegex)]
    for each in patterns:
        re.compile(each.pattern, each.flags)
    assert len(patterns) > 500
