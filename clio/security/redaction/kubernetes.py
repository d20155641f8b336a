"""Secrets in the manifests of Kubernetes: the values of `data` and `stringData` in a document of `kind: Secret`. Pure."""

# ruff: noqa: E501 - a table of expressions reads better with one a line

import re
from collections.abc import Iterator

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.patterns import Span
from clio.security.redaction.value_shapes import is_reference

_MAX_DOCUMENT_CHARS = 8192

_SECRET_KIND = LatePattern(r"(?P<indent>(?<![^\n])[ \t-]*)kind:[ \t]*[\"']?Secret[\"']?[ \t]*\r?(?=\n|\Z)")
_DATA_IN_BRACES = LatePattern(r"[ \t-]*(?:data|stringData):[ \t]*\{(?P<v>[^{}\n]{1,2000})\}?[ \t]*\r?\Z")
_ENTRY_IN_BRACES = LatePattern(
    r"[\"']?[\w./-]{1,200}[\"']?:[ \t]*(?P<q>[\"']?)(?P<v>[^\s,\"']{1,1000})(?P=q)[ \t]*(?=,|\Z)"
)
_DATA = LatePattern(r"(?P<indent>[ \t-]*)(?:data|stringData|encryptedData):[ \t]*\r?\Z")
_ENTRY = LatePattern(r"(?P<indent>[ \t]*)[\"']?[\w./-]{1,200}[\"']?:[ \t]*(?P<v>\S[^\n]*?)?[ \t]*\r?\Z")
_JSON_KIND = LatePattern(r"\\{0,2}\"kind\\{0,2}\"[ \t]*:[ \t]*\\{0,2}\"Secret\\{0,2}\"")
_JSON_DATA = LatePattern(r"\\{0,2}\"(?:data|stringData)\\{0,2}\"[ \t]*:[ \t]*\{(?P<v>[^{}]{0,8000})\}")
_JSON_VALUE = LatePattern(r":[ \t]*(?P<q>\\{0,2}\")(?P<v>(?:(?!(?P=q))[^\n]){1,8000}?)(?P=q)")
_OPEN_DOCUMENT = LatePattern(
    r"(?:apiVersion|kind|(?<![^\n \t])(?:stringD|d)ata(?=:[ \t]*\r?(?:\n|\Z))|\"apiVersion\\{0,2}\"|\"kind\\{0,2}\")"
)
_OTHER_KIND = LatePattern(
    r"kind\\{0,2}\"?:[ \t]*\\{0,2}[\"']?(?!Secret\b|List\b)[A-Z]\w+[\"'\\]{0,3},?[ \t]*\r?(?:\n|,|\})"
)


def kubernetes_spans(text: str) -> Iterator[Span]:
    """The values in all documents of `kind: Secret`, in YAML and in JSON."""
    done = 0
    for match in _SECRET_KIND.finditer(text):
        if match.start() >= done:
            first, done = _find_manifest(text, match)
            yield from _manifest_spans(text, first, done, len(match["indent"]))
    for match in _JSON_KIND.finditer(text):
        begin, end = max(0, match.start() - _MAX_DOCUMENT_CHARS), match.end() + _MAX_DOCUMENT_CHARS
        for data in _JSON_DATA.finditer(text, begin, min(len(text), end)):
            for value in _JSON_VALUE.finditer(text, data.start("v"), data.end("v")):
                if not is_reference(value["v"]):
                    yield Span(value.start("v"), value.end("v"), "kubernetes-secret", 312)


def _find_manifest(text: str, kind: re.Match[str]) -> tuple[int, int]:
    """Where the document begins and ends that a `kind: Secret` is part of."""
    depth = len(kind["indent"])
    first = kind.start()
    while first > 0 and kind.start() - first < _MAX_DOCUMENT_CHARS:
        above = text.rfind("\n", 0, first - 1) + 1
        if not _belongs(text[above : first - 1], depth):
            break
        first = above
    end = kind.end()
    for start, line in _lines_from(text, first):
        if start > kind.end() and not _belongs(line, depth):
            break
        end = max(end, start + len(line))
    return first, end


def _manifest_spans(text: str, first: int, end: int, depth: int) -> Iterator[Span]:
    """The values below `data` and `stringData` in a document whose keys are indented so far."""
    inside, block = False, -1
    for start, line in _lines_from(text, first):
        if start > end:
            break
        if not line.strip() or (stripped := line.lstrip(" \t-")).startswith("#"):
            continue
        indent = len(line) - len(stripped)
        if indent <= depth:
            inside, block = _DATA.fullmatch(line) is not None, -1
            if data := _DATA_IN_BRACES.fullmatch(line):
                for entry in _ENTRY_IN_BRACES.finditer(line, data.start("v"), data.end("v")):
                    if not is_reference(entry["v"]) and "[REDACTED" not in entry["v"]:
                        yield Span(start + entry.start("v"), start + entry.end("v"), "kubernetes-secret", 312)
            continue
        if not inside:
            continue
        if block >= 0 and indent > block:
            yield Span(start + indent, start + len(line.rstrip()), "kubernetes-secret", 312)
            continue
        entry = _ENTRY.fullmatch(line)
        block = indent
        if entry and (value := entry["v"]) and value[0] not in "|>":
            quote = value[0] if value[0] in "\"'" and value[-1] == value[0] and len(value) > 1 else ""
            bare = value[1:-1] if quote else value
            if bare and not is_reference(bare) and not bare.startswith("[REDACTED"):
                yield Span(
                    start + entry.start("v") + len(quote), start + entry.end("v") - len(quote), "kubernetes-secret", 312
                )


def _belongs(line: str, depth: int) -> bool:
    """Whether a line is part of a document whose keys are indented so far."""
    if not line.strip():
        return False
    indent = len(line) - len(line.lstrip(" \t-"))
    return (
        not line.startswith(("---", "...", "```"))
        and indent >= depth
        and (indent > depth or ":" in line or line.lstrip().startswith("#"))
    )


def _lines_from(text: str, place: int) -> Iterator[tuple[int, str]]:
    limit = min(len(text), place + 2 * _MAX_DOCUMENT_CHARS)
    while place < limit:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield place, text[place:end]
        place = end + 1


def open_manifest(text: str, end: int) -> int | None:
    """Where a document begins that may be a Kubernetes secret, and has not ended."""
    if "apiVersion" not in text and "kind" not in text and "ata:" not in text:
        return None
    begin = max(0, end - _MAX_DOCUMENT_CHARS)
    for match in _OPEN_DOCUMENT.finditer(text, begin, end):
        rest = text[match.start() : end]
        if match[0].startswith('"'):
            ended = rest.find("\n}") >= 0 or ("\n" in rest and "\n" not in rest.lstrip('\\"') and False)
            single = (
                "\n" in rest
                and "{" in text[max(0, match.start() - 4) : match.start()]
                and "\n" not in text[max(0, match.start() - 3) : match.start()]
            )
            if ended or (single and rest.find("}}") >= 0) or _OTHER_KIND.search(rest):
                continue
            return match.start()
        line = text.rfind("\n", 0, match.start()) + 1
        if text[line : match.start()].strip(" \t-") or text[match.end() : match.end() + 1] not in (":", ""):
            continue
        depth = match.start() - line
        lines = rest.split("\n")
        if not all(_belongs(each, depth) for each in lines[1:-1]) or _OTHER_KIND.search(rest):
            continue
        if lines[-1].strip() and len(lines) > 1 and len(lines[-1]) - len(lines[-1].lstrip(" \t-")) < depth:
            continue
        return line
    return None
