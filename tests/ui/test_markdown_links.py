"""Links in an answer: the target stays visible, and only web addresses and files can be clicked."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.ui.links import FileLinks, detect_file_links
from clio.ui.markdown import make_markdown
from clio.ui.painter import Painter, Part, count_row_cells
from clio.ui.safe_text import clean
from clio.ui.theme import Theme

LINK = re.compile(r"\x1b\]8;([^;]*);([^\x1b]*)\x1b\\")


def painted(text: str, *, links: bool = True, columns: int = 80, files: FileLinks | None = None) -> list[str]:
    painter = Painter(Theme(links=links), lambda: (columns, 24))
    return painter.render_rows(Part(body=make_markdown(text, links=links, files=files)))


def targets(rows: list[str]) -> set[str]:
    return {found[2] for row in rows for found in LINK.finditer(row) if found[2]}


def plain(rows: list[str]) -> str:
    return "\n".join(re.sub(r"\x1b(?:\[[0-9;]*m|\]8;[^\x1b]*\x1b\\)", "", row) for row in rows)


def test_a_link_can_be_clicked_and_its_target_is_visible() -> None:
    rows = painted("See [the **docs**](https://docs.example/x) and go on.")
    assert plain(rows) == "See the docs (https://docs.example/x) and go on."
    assert targets(rows) == {"https://docs.example/x"}


@pytest.mark.parametrize(
    "text", ["src/__init__.py:84 and __main__.py", "the __init__ method", "call __file__, __name_x__"]
)
def test_names_between_double_underscores_are_text(text: str) -> None:
    assert plain(painted(text)) == text


def test_bold_text_between_underscores_is_bold() -> None:
    assert plain(painted("__Important note__ and **bold**, a__b__c")) == "Important note and bold, a__b__c"


def test_a_bare_url_is_not_repeated() -> None:
    rows = painted("<https://docs.example/>")
    assert plain(rows) == "https://docs.example/"
    assert targets(rows) == {"https://docs.example/"}


@pytest.mark.parametrize(
    "target",
    ["clio/app.py", "#part", "//b.example/x", "mailto:a@b.example?body=x", "vscode://file/x", "ssh://b.example"],
)
def test_other_targets_are_shown_and_cannot_be_clicked(target: str) -> None:
    rows = painted(f"[here]({target})")
    assert plain(rows) == f"here ({target})"
    assert targets(rows) == set()


def test_a_file_on_this_machine_can_be_opened() -> None:
    assert targets(painted("[log](file:///tmp/a%20b.log)")) == {"file:///tmp/a%20b.log"}


def test_without_link_support_only_text_is_written() -> None:
    assert "\x1b]8" not in "".join(painted("[a](https://a.example)", links=False))
    assert plain(painted("[a](https://a.example)", links=False)) == "a (https://a.example)"


def test_every_row_closes_its_link_and_counts_its_columns() -> None:
    rows = painted("[" + "words " * 20 + "](https://a.example/" + "x" * 60 + ")", columns=40)
    assert len(rows) > 3
    for row in rows:
        assert count_row_cells(row) <= 39
        assert len(LINK.findall(row)) % 2 == 0
        assert all(found[1] == "" for found in LINK.findall(row)[1::2])


def test_links_in_a_table_and_a_list() -> None:
    rows = painted("- [a](https://a.example/1)\n\n| x |\n|---|\n| [b](https://b.example/2) |")
    assert targets(rows) == {"https://a.example/1", "https://b.example/2"}


def test_a_mail_address_can_be_clicked() -> None:
    rows = painted("<a@b.example> and [write](mailto:c@d.example)")
    assert plain(rows) == "a@b.example and write (mailto:c@d.example)"
    assert targets(rows) == {"mailto:a@b.example", "mailto:c@d.example"}


def test_an_image_follows_the_same_rules() -> None:
    rows = painted("![chart](https://a.example/x.png) ![x](vscode://file/etc/passwd)")
    assert plain(rows) == "chart (https://a.example/x.png) x (vscode://file/etc/passwd)"
    assert targets(rows) == {"https://a.example/x.png"}


@pytest.mark.parametrize(
    "name", ["x.command", "x.app", "x.app/", "x.desktop", "X.EXE", "x.d%65sktop", "x%2edesktop", "x.bat?a", "x.jar#1"]
)
def test_an_executable_file_cannot_be_clicked(name: str) -> None:
    assert targets(painted(f"[log](file:///tmp/{name})")) == set()


def test_entities_cannot_hide_control_characters() -> None:
    rows = painted("a&#x202e;b&#x1b;]8;;https://e.example&#x1b;\\c&#x200b;d &amp; `&amp;`")
    assert plain(rows).replace("\ufffd", "") == "ab]8;;https://e.example\\cd & &amp;"
    assert targets(rows) == set()


@given(st.text(alphabet="[]()<>!`*_&#;:/\\x1b\x07\x9b\u202e .ab", max_size=60))
def test_no_answer_can_write_its_own_sequences(text: str) -> None:
    for row in painted(clean(text)):
        rest = re.sub(
            r"\x1b\[[0-9;]*[mK]|\x1b\]8;(?:id=\d+)?;(?:(?:https?|file|mailto):[\x21-\x7e]+)?\x1b\\\\", "", row
        )
        assert "\x1b" not in rest and "\x07" not in rest and "\x9b" not in rest and "\u202e" not in rest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    for name in ("src/retry.py", "README.md", "src/ä b.py"):
        (root / name).write_text("x\n", encoding="utf-8")
    (root / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (root / "run.sh").chmod(0o755)
    (tmp_path / "secret.txt").write_text("x\n", encoding="utf-8")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    return root


def test_files_of_the_project_can_be_opened(project: Path) -> None:
    address = (project / "src" / "retry.py").as_uri()
    rows = painted(
        "See `src/retry.py:12`, src/retry.py and README.md. [It](src/retry.py#L3).", files=FileLinks(project)
    )
    assert plain(rows) == "See src/retry.py:12, src/retry.py and README.md. It (src/retry.py#L3)."
    assert targets(rows) == {address, (project / "README.md").as_uri()}


def test_a_link_has_a_line_number_if_the_terminal_supports_it(project: Path) -> None:
    files = detect_file_links({"KITTY_WINDOW_ID": "1"}, project)
    rows = painted("`src/retry.py:12-14` and [it](src/retry.py#L3)", files=files)
    address = (project / "src" / "retry.py").as_uri()
    assert targets(rows) == {f"{address}#12", f"{address}#3"}


def test_a_name_with_non_ascii_letters_is_encoded(project: Path) -> None:
    rows = painted("[it](<src/ä b.py>)", files=FileLinks(project))
    assert targets(rows) == {(project / "src" / "ä b.py").as_uri()}
    assert all(target.isascii() for target in targets(rows))


@pytest.mark.parametrize(
    "name", ["src/none.py", "../secret.txt", "out.txt", "run.sh", "src/", "/etc/passwd", "https://src/retry.py"]
)
def test_no_other_name_can_be_clicked(project: Path, name: str) -> None:
    assert targets(painted(f"`{name}`", files=FileLinks(project))) == set()


def test_a_name_inside_a_link_is_part_of_it(project: Path) -> None:
    rows = painted("[see src/retry.py](https://a.example/)", files=FileLinks(project))
    assert targets(rows) == {"https://a.example/"}


@pytest.mark.parametrize("variable", ["SSH_CONNECTION", "WSL_DISTRO_NAME"])
def test_a_terminal_on_another_system_gets_no_links_to_files(project: Path, variable: str) -> None:
    assert detect_file_links({variable: "x"}, project) is None
    assert detect_file_links({}, project) is not None


def test_a_redrawn_row_stays_the_same() -> None:
    text = "[a](https://a.example/1) and [b](https://a.example/2)"
    assert painted(text) == painted(text)
