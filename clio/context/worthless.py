"""Find tool results that a conversation no longer needs, in the order in which they are dropped. Pure functions.

First repeated and superseded file reads, then failed edits that succeeded later, output that only reports success,
earlier searches, and recalled memories. Each is replaced by one line that says how to get the whole result.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clio.context.command_results import is_search_command, parse_file_reading
from clio.context.message_views import (
    FIXED_LATER,
    MIN_REPLACED_CHARS,
    OLD_RECALL,
    OLD_SEARCH,
    ROUTINE,
    STALE,
    LineRange,
    Unit,
    count_lines,
    intersect_ranges,
    is_whole_file,
    join_ranges,
    make_call_key,
    parse_shown_ranges,
)
from clio.messages import UNCHANGED, AssistantMessage, ToolCall, ToolMessage
from clio.sessions.side_effects import (
    COMMAND_TOOLS,
    EDIT_TOOLS,
    READ_TOOLS,
    decode_call_arguments,
    find_call_path,
    find_patched_paths,
    normalize_tool_name,
)
from clio.text.lazy_regex import LazyRegex

_SEARCHERS = frozenset(
    "search_text search_files search grep rg find_files find_file search_file search_dir glob list_files list_dir ls "
    "list_directory file_search codebase_search grep_search web_search code_lookup".split()
)
_RECALLERS = frozenset(
    {"recall", "search_sessions", "read_messages", "recall_sessions", "recall_messages", "recall_memory"}
)
_RECALLING = frozenset(
    {"retrieve", "search", "list", "recall_sessions", "recall_messages", "ltm_stats", "recall", "history"}
    | {"search_sessions", "read_messages", "stats"}
)
_REPEATED = (
    READ_TOOLS
    | COMMAND_TOOLS
    | _SEARCHERS
    | {
        "git",
        "version_control",
        "web_fetch",
        "web_search",
        "fetch",
        "read_output",
        "todo_operations",
        "file_operations",
    }
)
_IRRELEVANT = ("timeout_s", "timeout", "description", "background")
_COVERED = 0.9  # share of the lines of an earlier file read that later ones must show to make it stale
_ENDLESS = 10**9
_ROUTINE_SHARE = 0.6  # share of an output's lines that must be routine
_TROUBLE = LazyRegex(r"\b(?:error|warning|warn|fatal|failed|failure|exception|traceback|denied|deprecated)\b", 2)
_NO_TROUBLE = LazyRegex(r"\b(?:0|no) (?:error|warning|failure|failed|vulnerabilit)", 2)
# Progress lines of installers, compilers, downloads and test runners; one alternative per family.
_ROUTINE = LazyRegex(
    r"^\s*(?:"
    r"(?:.*[\s(\[])?\d{1,3}(?:\.\d+)?%(?: *$|\]| *[|\[(]| +(?:done|complete|of|eta)\b)"
    r"|.*[#=█▏▎▍▌▋▊▉━⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]{8}"
    r"|(?:Collecting|Download(?:ing|ed)|Install(?:ing|ed)|Using cached|Requirement already satisfied|Building|Built"
    r"|Successfully|Prepar(?:ing|ed)|Created wheel|Stored in|Obtaining|Attempting uninstall|Found existing|Uninstall"
    r"|Looking in|Resolv(?:ing|ed)|Audited|Updat(?:ing|ed)|Locking|Add(?:ing|ed)|Fetch(?:ing|ed)|Linking|Extracting)\b"
    r"|[+~-] [\w.-]+==\S"
    r"|(?:Compiling|Checking|Finished|Fresh|Documenting|Running|Blocking|Generating|Copying|Processing) "
    r"|(?:added|removed|changed|audited|up to date|found 0 vulnerabilities)\b|npm (?:notice|http)|➤ |Progress: "
    r"|go: (?:downloading|finding|extracting|upgraded|added)"
    r"|#\d+ |Step \d+/\d+|Sending build context|[0-9a-f]{12}: |---> |Digest: |Status: "
    r"|(?:Get|Hit|Ign):\d+|Reading (?:package|state)|Building dependency|Unpacking|Selecting previously|Setting up "
    r"|\(Reading database|Processing triggers"
    r"|(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Writing|Unpacking|Cloning|Delta compression|Total \d)"
    r"|\[ *\d+[/%]|-- (?:Check|Detect|Look|Found|The|Perform|Config|Generat|Build|Install)"
    r"|make(?:\[\d+\])?: (?:Entering|Leaving)|(?:CC|CXX|LD|AR|LINK|GEN|AS|RANLIB|INSTALL)\s+\S"
    r"|(?:\S*/)?(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|ar|ranlib|rustc|javac|ld) -"
    r"|\[INFO\]|> Task |Download(?:ed|ing) from|BUILD SUCCESS|==> |Using \S+ [\d.]+|- (?:Install|Download|Lock|Upgrad)"
    r"|.*\b(?:PASSED|passed|PASS|ok)\s*(?:\[|\(|$)|.*\.\.\. ok$|(?:ok|✓|✔|√|PASS)\s|--- PASS|=== (?:RUN|PAUSE|CONT)"
    r"|[.sx]{10,}"
    r")"
)


class WorthlessResult(Struct, frozen=True, kw_only=True):
    """One result that can be shown as a single line. unit: index of its unit. cuts: in the format of `Trim.shrunk`."""

    unit: int
    cuts: dict[str, int]


class _Exchange(Struct, frozen=True, kw_only=True):
    """One call and its result. name: of the tool, or of the operation for a tool that combines several."""

    unit: int
    message: str
    call: ToolCall
    result: ToolMessage
    name: str
    arguments: dict[str, Any]

    @property
    def path(self) -> str:
        return find_call_path(self.arguments)

    @property
    def command(self) -> str:
        command = self.arguments.get("command")
        return command if self.name in COMMAND_TOOLS and isinstance(command, str) else ""


def find_worthless_results(units: Sequence[Unit], before: int) -> Iterator[WorthlessResult]:
    """Yield results in the units before index `before` that can be dropped: the most worthless first, then the oldest.

    Units from `before` on are examined too, because a later read makes an earlier one stale. Each result is yielded
    once.
    """
    exchanges = list(_iterate_exchanges(units))
    early = [each for each in exchanges if each.unit < before]
    yielded: set[str] = set()
    kinds: tuple[tuple[int, Callable[[], set[str]]], ...] = (
        (STALE, lambda: set(_find_stale(exchanges))),
        (FIXED_LATER, lambda: _find_edits_made_later(exchanges)),
        (ROUTINE, lambda: {each.result.id for each in early if _is_routine(each)}),
        (OLD_SEARCH, lambda: {each.result.id for each in early if _is_search(each)}),
        (OLD_RECALL, lambda: {each.result.id for each in early if _is_recall(each)}),
    )
    for why, find in kinds:
        found = find() - yielded
        yielded |= found
        for each in early:
            if each.result.id in found:
                cuts = _make_cuts(each, why)
                if cuts:
                    yield WorthlessResult(unit=each.unit, cuts=cuts)


def stale_results(units: Sequence[Unit]) -> list[str]:
    """Return the ids of outputs that a later output in the same units supersedes, oldest first.

    An output is superseded if the same call was made again, or if later reads of the file show at least 90 % of its
    lines.
    """
    return _find_stale(list(_iterate_exchanges(units)))


def _make_cuts(each: _Exchange, why: int) -> dict[str, int]:
    cuts = {each.result.id: why} if len(each.result.content) >= MIN_REPLACED_CHARS or each.result.images else {}
    if why == FIXED_LATER and len(each.call.arguments) >= MIN_REPLACED_CHARS:
        cuts[make_call_key(each.message, each.call.id)] = why
    return cuts


# Superseded outputs


def _find_stale(exchanges: Sequence[_Exchange]) -> list[str]:
    later_calls: set[tuple[str, str]] = set()
    later_ranges: dict[str, list[LineRange]] = {}
    results_by_path: dict[str, list[ToolMessage]] = {}
    stale: list[str] = []
    for each in reversed(exchanges):
        # The result only says that the file is unchanged since an earlier read, so it supersedes nothing.
        is_unchanged_notice = each.result.summary == UNCHANGED
        if is_unchanged_notice or (each.name not in _REPEATED and each.call.name not in _REPEATED):
            continue
        reading = _parse_reading(each)
        key = (each.call.name, _normalize_arguments(each))
        result = each.result
        if len(result.content) < MIN_REPLACED_CHARS and not result.images:
            later_calls |= {key} if result.ok or reading is None else set()
            if reading is not None and result.ok:
                _add_ranges(later_ranges, reading)
        elif key in later_calls or (reading is not None and result.ok and _is_covered(reading, later_ranges)):
            stale.append(result.id)
        elif reading is None:
            later_calls.add(key)
        elif result.ok:
            later_calls.add(key)
            later_texts = results_by_path.setdefault(reading[0], [])
            if any(_repeats_lines(other, result) for other in later_texts):
                stale.append(result.id)
            else:
                later_texts.append(result)
                _add_ranges(later_ranges, reading)
    return stale[::-1]


def _parse_reading(each: _Exchange) -> tuple[str, tuple[LineRange, ...]] | None:
    """Return the path a call read and the line ranges in its result; None if it reads no file."""
    if each.name in READ_TOOLS:
        ranges = parse_shown_ranges(each.result.content)
        offset, limit = each.arguments.get("offset"), each.arguments.get("limit")
        if not offset and not limit and is_whole_file(each.result.content, ranges):
            ranges = ((1, _ENDLESS),)
        return each.path, ranges
    lines = parse_file_reading(each.command) if each.command else None
    if lines is None:
        return None
    last = lines.first + max(each.result.content.count("\n") - 1, 0)
    whole = lines.last is None and lines.first == 1 and not each.result.blob
    return lines.path, ((lines.first, _ENDLESS if whole else last),)


def _add_ranges(later: dict[str, list[LineRange]], reading: tuple[str, tuple[LineRange, ...]]) -> None:
    path, ranges = reading
    if ranges:
        later[path] = list(join_ranges([*later.get(path, []), *ranges]))


def _is_covered(reading: tuple[str, tuple[LineRange, ...]], later: dict[str, list[LineRange]]) -> bool:
    path, ranges = reading
    if not ranges or path not in later:
        return False
    return count_lines(intersect_ranges(ranges, later[path])) >= _COVERED * count_lines(ranges)


def _repeats_lines(later: ToolMessage, earlier: ToolMessage) -> bool:
    lines = set(earlier.content.splitlines())
    return len(lines & set(later.content.splitlines())) >= _COVERED * len(lines)


def _normalize_arguments(each: _Exchange) -> str:
    """Return the arguments as JSON, without those that do not affect the result, such as a time limit."""
    if not any(f'"{name}"' in each.call.arguments for name in _IRRELEVANT):
        return each.call.arguments
    wanted = {key: value for key, value in each.arguments.items() if key not in _IRRELEVANT}
    return msgspec.json.encode(wanted, order="sorted").decode("utf-8")


# Edits


def _find_edits_made_later(exchanges: Sequence[_Exchange]) -> set[str]:
    """Return the result ids of failed edits whose files were edited, or tried to be edited, later."""
    later_paths: set[str] = set()
    found: set[str] = set()
    for each in reversed(exchanges):
        if each.name in EDIT_TOOLS:
            paths = _list_edited_paths(each)
            if not each.result.ok and (paths & later_paths or (not paths and later_paths)):
                found.add(each.result.id)
            later_paths |= paths or {""}
        elif each.result.side_effects is not None:
            later_paths.update(deed.path for deed in each.result.side_effects.changed)
    return found


def _list_edited_paths(each: _Exchange) -> set[str]:
    """Return the paths an edit was meant to change."""
    paths = {each.path} if each.path else set[str]()
    paths.update(find_patched_paths(each.arguments))
    if each.result.side_effects is not None:
        paths.update(deed.path for deed in each.result.side_effects.changed)
    return paths


# Outputs that are not needed again


def _is_routine(each: _Exchange) -> bool:
    """Whether a command succeeded and its output is progress, or the report of tests that all passed."""
    result = each.result
    code = result.side_effects.exit_code if result.side_effects is not None else 0
    if each.name not in COMMAND_TOOLS or not result.ok or code or len(result.content) < MIN_REPLACED_CHARS:
        return False
    from clio.context.command_results import parse_test_report

    report = parse_test_report(result.content)
    if report is not None:
        return report.passed
    lines = [line for line in result.content.splitlines() if line.strip() and not line.startswith("[exit ")]
    if any(_TROUBLE.search(line) and not _NO_TROUBLE.search(line) for line in lines):
        return False
    return sum(_ROUTINE.match(line) is not None for line in lines) >= _ROUTINE_SHARE * len(lines)


def _is_search(each: _Exchange) -> bool:
    return each.result.ok and (each.name in _SEARCHERS or bool(each.command and is_search_command(each.command)))


def _is_recall(each: _Exchange) -> bool:
    if not each.result.ok:
        return False
    return each.name in _RECALLERS or (
        each.call.name == "memory_operations" and each.arguments.get("operation") in _RECALLING
    )


def _iterate_exchanges(units: Sequence[Unit]) -> Iterator[_Exchange]:
    for number, unit in enumerate(units):
        head, results = unit.messages[0], unit.messages[1:]
        if not results or not isinstance(head, AssistantMessage):
            continue
        by_id = {result.tool_call_id: result for result in results if isinstance(result, ToolMessage)}
        for call in head.tool_calls:
            if call.id in by_id:
                arguments = decode_call_arguments(call)
                yield _Exchange(
                    unit=number,
                    message=head.id,
                    call=call,
                    result=by_id[call.id],
                    name=normalize_tool_name(call.name, arguments),
                    arguments=arguments,
                )
