"""The documentation agrees with the code."""

import importlib.util
import re
import shlex
import subprocess
import textwrap
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import to_builtins

from clio.commands.mcp_commands import add_server_entry
from clio.config.command_line import parse_arguments
from clio.config.extension_files import ServerEntry, make_server, parse_server_entries
from clio.config.schema import Config, read_settings_file
from docs.make_decision_index import make_file_name, read_record, read_records, render_index
from docs.site_hooks import on_page_content
from tests.support.rows import each_row

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """Return the script that generates the tables."""
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_are_up_to_date(reference: ModuleType) -> None:
    for page in reference.PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert reference.render(text) == text, f"{page} is stale: run python docs/make_reference.py"
    listed = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in reference.PAGES)
    assert set(re.findall(r"<!-- generated: (\w+) -->", listed)) == set(reference.BLOCKS)


def test_generated_files_are_up_to_date(reference: ModuleType) -> None:
    for name, make in reference.FILES.items():
        assert (ROOT / name).read_text(encoding="utf-8") == make(), "stale: run python docs/make_reference.py"


def test_the_documented_workflow_calls_clio_correctly() -> None:
    import yaml

    page = (ROOT / "docs" / "headless.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(page.partition("<!-- workflow -->\n```yaml\n")[2].partition("```")[0])
    steps = workflow["jobs"]["review"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    script = next(step["run"] for step in steps if "clio -p" in step.get("run", ""))
    assert subprocess.run(["bash", "-n", "-c", script], check=False).returncode == 0
    words = shlex.split(script.replace("\\\n", " ").partition("clio ")[2].partition(">")[0])
    assert parse_arguments(words).approve == "plan"


def test_an_outdated_page_is_detected_and_generation_is_reproducible(reference: ModuleType) -> None:
    page = "a\n<!-- generated: flags -->\nold\n<!-- end -->\nb\n"
    once = reference.render(page)
    assert once != page
    assert "`--max-steps N`" in once
    assert reference.render(once) == once
    with pytest.raises(KeyError, match="nonsense"):
        reference.render("<!-- generated: nonsense -->\n<!-- end -->")


def test_every_setting_has_a_description(reference: ModuleType) -> None:
    assert set(reference.field_docstrings("Config")) == set(Config.__struct_fields__)


_PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / ".clio.example").rglob("*.md"),
        *ROOT.glob(".github/**/*.md"),
    ]
)
_CODE = re.compile(r"^( *)(```|~~~).*?^ *\2[ \t]*$|`[^`\n]*`|<!--.*?-->", re.M | re.S)
_LINK = re.compile(r"\]\(\s*([^)\s]+)\s*\)")


@cache
def read_links(page: Path) -> list[str]:
    """Return the targets of a page's links and pictures that are not web addresses."""
    found: list[str] = _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))
    return [target for target in found if not target.startswith(("http://", "https://", "mailto:"))]


@cache
def read_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings that a code host and the site agree on."""
    text = re.sub(r"^( *)(```|~~~).*?^ *\2[ \t]*$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found: set[str] = set()
    for title in re.findall(r"^#+ +(.+?) *$", text, re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", title)
        hosted = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        sited = re.sub(
            r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain.encode("ascii", "ignore").decode()).strip().lower()
        )
        if hosted == sited and hosted not in found:
            found.add(hosted)
    return found


def test_link_targets_exist() -> None:
    broken: list[str] = []
    for page in _PAGES:
        for target in read_links(page):
            path, _, anchor = target.partition("#")
            other = (page.parent / path).resolve() if path else page
            if not other.exists() or (anchor and anchor not in read_anchors(other)):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_the_pages_of_the_site_link_to_nothing_outside_it() -> None:
    docs = ROOT / "docs"
    built_programs = re.findall(r"^  !(\S+)\*\.py$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)

    def is_built(path: Path) -> bool:
        if docs not in path.parents or path.suffix != ".py":
            return docs in (path, *path.parents)
        return f"{path.parent.relative_to(docs).as_posix()}/" in built_programs

    outside = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in _PAGES
        if docs in page.parents
        for target in read_links(page)
        if not is_built((page.parent / target.partition("#")[0]).resolve())
    ]
    assert outside == []


def test_every_page_is_in_the_navigation_and_in_the_index() -> None:
    docs = ROOT / "docs"
    records = docs / "decisions"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md") if page.parent != records}
    navigation = re.findall(r"^\s+- .*?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    pages.add("decisions/README.md")
    assert len(navigation) == len(set(navigation))
    assert pages - set(navigation) == set(), "add the page to mkdocs.yml"
    assert set(navigation) - pages == set(), "mkdocs.yml names a page that does not exist"
    on_map = {target.partition("#")[0] for target in read_links(docs / "index.md")}
    assert pages - on_map == {"index.md"}, "add the page to docs/index.md"


def test_files_of_the_repository_that_pages_name_exist() -> None:
    folders = {path.name for path in (ROOT / "clio").iterdir() if path.is_dir()}
    folders |= {"clio", "tests", "bench", "torture", "prompts"}
    named_otherwise = {"clio/NAME", "memory/session_progress.md", "prompts/tools/NAME.md"}
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in _PAGES
        for name in re.findall(r"`([\w-]+/[\w./-]*)(?::\d+)?`", page.read_text(encoding="utf-8"))
        if name.split("/")[0] in folders and name not in named_otherwise
        if not any((ROOT / base / (name + end)).exists() for base in ("", "clio") for end in ("", ".py"))
    ]
    assert missing == []


def test_examples_in_yaml_json_and_toml_can_be_parsed() -> None:
    import json
    import tomllib

    import yaml

    read = {"yaml": lambda text: list(yaml.safe_load_all(text)), "json": json.loads, "toml": tomllib.loads}
    broken: list[str] = []
    for page in _PAGES:
        for match in re.finditer(
            r"^( *)```(yaml|json|toml)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S
        ):
            try:
                read[match[2]](textwrap.dedent(match[3]))
            except ValueError as error:
                broken.append(f"{page.relative_to(ROOT)}: {error}")
            except yaml.YAMLError as error:
                broken.append(f"{page.relative_to(ROOT)}: {error}")
    assert broken == []


def test_the_site_shows_code_in_tables_like_code_hosts() -> None:
    html = r"<td><code>/help [COMMAND\|keys]</code></td><p>a \| b, <code>--live</code></p>"
    shown = "<td><code>/help [COMMAND|<wbr>keys]</code></td>" + r'<p>a \| b, <code class="short">--live</code></p>'
    assert on_page_content(html) == shown


def test_lists_are_lists_on_the_site_too() -> None:
    """Python-Markdown, which the site uses, takes a list directly below a paragraph as part of the paragraph."""
    item = re.compile(r"\s*(?:[-*]|\d+\.) ")
    found: list[str] = []
    for page in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"^( *)(```|~~~).*?^ *\2[ \t]*$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for before, line in pairwise(text.splitlines()):
            starts = (
                item.match(line) and before.strip() and not before.startswith((" ", "#")) and not item.match(before)
            )
            if starts or re.match(r" {1,3}(?:[-*]|\d+\.) ", line):
                found.append(f"{page.relative_to(ROOT)}: {line}")
    assert found == []


def test_the_example_is_a_valid_configuration_with_and_without_its_comments(tmp_path: Path) -> None:
    text = (ROOT / ".clio.example" / "config.yaml").read_text(encoding="utf-8")
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    assert read_settings_file(path, "config.yaml") == ()
    path.write_text(re.sub(r"(?m)^#(?! \S)", "", text), encoding="utf-8")
    named = {setting.key[0] for setting in read_settings_file(path, "config.yaml") or ()}
    assert named == set(Config.__struct_fields__) - {"api_key", "debug", "incognito"}


def test_the_example_of_servers_is_valid_with_and_without_its_comments(tmp_path: Path) -> None:
    data = (ROOT / ".clio.example" / "mcp.yaml").read_bytes()
    assert parse_server_entries(data, "mcp.yaml") == ({}, [])
    found, problems = parse_server_entries(re.sub(rb"(?m)^#(?! \S)", b"", data), "mcp.yaml")
    assert problems == []
    keys = {key for entry, _ in found.values() for key, value in to_builtins(entry).items() if value is not None}
    assert keys | {"disabled"} == set(ServerEntry.__struct_fields__)
    assert b"disabled: true" in data
    path = tmp_path / "mcp.yaml"
    path.write_bytes(data)
    add_server_entry(path, make_server("new", {"command": "x"}, "here", own=False))
    assert path.read_bytes().startswith(data)
    assert list(parse_server_entries(path.read_bytes(), "mcp.yaml")[0]) == ["new"]


def test_the_index_lists_every_decision_record(reference: ModuleType) -> None:
    folder = ROOT / "docs" / "decisions"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert reference.render(text) == text, "stale: run python docs/make_reference.py"
    linked = re.findall(r"(?m)^\| \[\d{4}\]\((.+?)\) \|", text)
    assert sorted(linked) == sorted(path.name for path in folder.iterdir() if path.name != "README.md")


def test_decision_records_have_the_same_headings() -> None:
    records = read_records()
    assert len(records) > 60
    assert len({record.number for record in records}) == len(records)


RECORD = """# 0001: Logs are JSON lines

## Status and date

Accepted, 2026-11-21.

## Context

a

## Decision

b

## Alternatives considered

c

## Consequences

d
"""


@each_row(
    ("old", "new", "reason"),
    [
        ("# 0001: Logs", "# Logs", "the first line"),
        ("Logs", "All logs", "must be named 0001-all-logs-are-json-lines.md"),
        ("## Context\n\na\n\n", "", "the headings"),
        ("## Alternatives considered", "## Alternatives", "the headings"),
        ("## Consequences\n\nd\n", "## Consequences\n", "no text under Consequences"),
        ("Accepted, 2026-11-21.", "Proposed.", "the status"),
        ("Accepted, 2026-11-21.", "Accepted, yesterday.", "the status"),
        ("Accepted, 2026-11-21.", "Superseded.", "the status"),
    ],
)
def test_a_decision_record_with_other_headings_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = tmp_path / "0001-logs-are-json-lines.md"
    path.write_text(RECORD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=reason):
        read_record(path)


def test_a_superseded_record_and_one_without_a_date_are_read(tmp_path: Path) -> None:
    path = tmp_path / make_file_name("0001", "Logs are JSON lines")
    for status in ("Accepted", "Accepted, 2026-11-21", "Superseded by [0002](0002-logs-are-a-database.md)"):
        path.write_text(RECORD.replace("Accepted, 2026-11-21", status), encoding="utf-8")
        assert read_record(path).status == status


def test_a_record_without_a_subject_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "9999-logs-are-json-lines.md"
    path.write_text(RECORD.replace("0001", "9999"), encoding="utf-8")
    with pytest.raises(ValueError, match="9999"):
        render_index([*read_records(), read_record(path)])


def test_every_extra_for_users_is_on_the_installation_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    extras = set(project["optional-dependencies"]) - {"dev", "docs"}
    assert {name for name in extras if f"| `{name}` |" in page} == extras
