"""Everything of a project that needs trust is in a file that no mode writes without approval, and is documented."""

import json
import re
from pathlib import Path

from clio.commands.settings_commands import list_waiting_for_trust
from clio.config.layers import load_config
from clio.config.loaded import TrustRequest
from clio.config.options import Options
from clio.config.project_rules import PERMISSION_FILES, PERMISSION_PATHS
from clio.security.protected_files import explain_clio_file, explain_protected_file
from clio.skills.skills import SKILL_FOLDERS as SKILLS

ROOT = Path(__file__).parent.parent.parent
SOURCES = {
    "config/trust.py": (".clio/config.yaml",),
    "config/extension_files.py": (".clio/hooks.yaml", ".mcp.json"),
    "skills/skills.py": (".agents/skills", ".claude/agents"),
    "commands/custom_commands.py": (".claude/commands",),
    "git/repository.py": (".git/config",),
    "config/memory_seal.py": (),
    "config/project_links.py": (),
    "checks/checkers.py": (),
    "lsp/catalog.py": (),
}
"""Where the code says that something needs trust, and the files it concerns; none if no file decides."""
AGENT = "---\ndescription: d\n---\nDo it.\n"
SKILL = "---\nname: {name}\ndescription: d\n---\nSteps.\n"


def filled(project: Path) -> tuple[TrustRequest, ...]:
    """Return what needs trust in a project with one of everything."""
    server = json.dumps({"mcpServers": {"NAME": {"command": "x"}}})
    files = {
        ".clio/config.yaml": "approve: all\nprivate_network: true\nallow:\n  - x\n",
        ".clio/hooks.yaml": "stop:\n  - run: x\n",
        ".mcp.json": server.replace("NAME", "one"),
        ".clio/mcp.yaml": server.replace("NAME", "two"),
        **{f"{place}/s{number}/SKILL.md": SKILL.format(name=f"s{number}") for number, place in enumerate(SKILLS)},
        **{f"{place}/agents/a-{place[1:]}.md": AGENT for place in (".clio", ".claude")},
        **{f"{place}/commands/deep/c-{place[1:]}.md": "!`x`\n" for place in (".clio", ".claude")},
    }
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    env = {"HOME": str(project.parent / "person"), "CLIO_HOME": str(project.parent / "home")}
    loaded = load_config(Options(cwd=project), env)
    return (*loaded.withheld, *list_waiting_for_trust(loaded, env))


def test_files_that_need_trust_need_approval_to_be_written(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    waiting = {re.sub(r":\d+$", "", value.where) for value in filled(project)}
    assert {place for place in PERMISSION_PATHS if not any(one.startswith(place) for one in waiting)} == {
        ".clio/config.yml",
        ".clio/mcp.yml",
    }, "a name that clio does not read"
    for name in waiting:
        assert explain_clio_file(project / name, project, None), name
        assert explain_clio_file(project / "sub" / name, project, None), name


def test_nothing_else_in_the_code_needs_trust() -> None:
    """New places must be added here, to `config.project_rules` and to docs/approvals.md."""
    made = {
        path.relative_to(ROOT / "clio").as_posix()
        for path in (ROOT / "clio").rglob("*.py")
        if re.search(r"(?<!class )\bTrustRequest\(", path.read_text(encoding="utf-8"))
    }
    assert made == set(SOURCES)
    assert all(explain_protected_file(ROOT / name, ROOT, None) for names in SOURCES.values() for name in names)


def test_files_that_clio_reads_from_its_home_without_a_question_are_protected(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (*PERMISSION_FILES, "commands/x.md", "trusted.json"):
        assert explain_clio_file(home / name, tmp_path / "project", home) == "belongs to clio's own settings"


def test_the_documentation_names_every_place() -> None:
    page = (ROOT / "docs" / "approvals.md").read_text(encoding="utf-8")
    table = page[page.index("## Files that control clio") :].split("\n## ")[0]
    named = set(re.findall(r"`([^`]+)`", "\n".join(row for row in table.splitlines() if "| asks" in row)))
    assert {place.rstrip("/") for place in named if not place.startswith("~")} == {
        place for place in PERMISSION_PATHS if not place.endswith(".yml")
    }
