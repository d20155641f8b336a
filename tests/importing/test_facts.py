"""The facts in memory files, and which files are memory files."""

from pathlib import Path

from clio.importing.places import SourceFinder, find_facts, make_slug, split_items
from tests.support.rows import each_row

PAGE = """\
# CLAUDE.md

<!-- keep short -->
This project is a zoo.
It has animals.

## Commands

- Run tests with `make test`
- Lint:
  ```
  make lint
  ```
* Never push on Friday
  - unless it burns

## Style

Format like so:

```python
x = 1

# not a heading
```

@docs/more.md
"""


def test_facts_are_bullets_and_paragraphs_under_their_heading() -> None:
    assert list(split_items(PAGE)) == [
        "This project is a zoo.\nIt has animals.",
        "Commands: Run tests with `make test`",
        "Commands: Lint:\n  ```\n  make lint\n  ```",
        "Commands: Never push on Friday\n  - unless it burns",
        "Style: Format like so:\n```python\nx = 1\n# not a heading\n```",
    ]


def test_a_file_with_one_memory_is_one_fact() -> None:
    text = "---\nname: broker\ndescription: the port of the broker\n---\nIt is 1883.\n\n**Why:** firewall.\n"
    assert list(split_items(text)) == ["the port of the broker\nIt is 1883.\n\n**Why:** firewall."]


@each_row("text", ["", "\n\n", "# Only a title\n", "---\nname: x\n---\n", "\ufeff"])
def test_an_empty_file_has_no_facts(text: str) -> None:
    assert list(split_items(text.removeprefix("\ufeff"))) == []


def test_only_memory_files_of_agents_are_offered(tmp_path: Path) -> None:
    project, home = tmp_path / "p", tmp_path / "home"
    notes = home / ".claude" / "projects" / make_slug(project) / "memory"
    for folder in (project, notes, home / ".gemini", home / ".codex" / "memories"):
        folder.mkdir(parents=True)
    (project / "CLAUDE.md").write_text("- tests: make test\n", encoding="utf-8")
    (project / "AGENTS.md").write_text("- written by people\n", encoding="utf-8")
    (notes / "MEMORY.md").write_text("- [Broker](broker.md) — port\n- Tests: make test.\n", encoding="utf-8")
    (notes / "broker.md").write_text("The broker listens on 1883.\n", encoding="utf-8")
    (home / ".gemini" / "GEMINI.md").write_text(
        "# Rules\n- be kind\n\n## Gemini Added Memories\n- The zeppelin flies on Tuesdays\n", encoding="utf-8"
    )
    (home / ".codex" / "memories" / "MEMORY.md").write_text("- uses port 99\n", encoding="utf-8")
    finder = SourceFinder(project, {"HOME": str(home)})

    def facts(agent: str) -> list[str]:
        found, unreadable = find_facts(agent, finder, project, None, lambda text: text)  # pyright: ignore[reportArgumentType]
        assert unreadable == []
        return [fact.text for fact in found]

    assert facts("claude") == ["tests: make test", "The broker listens on 1883."], "repeated, but offered once"
    assert facts("gemini") == ["The zeppelin flies on Tuesdays"]
    assert facts("codex") == ["uses port 99"]
    assert facts("aider") == []
