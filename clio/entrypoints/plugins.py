"""`clio plugin add|update|remove` and `clio skills add`: what a plugin brings is shown and trusted as a whole."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from clio.commands.arguments import ParsedArguments, join_arguments, parse_options
from clio.commands.command import CommandResult, Table
from clio.commands.plugin_commands import (
    PluginItem,
    describe_left_out,
    find_taken_names,
    get_locked,
    list_items,
    list_plugin_files,
    make_item_data,
    make_item_table,
)
from clio.commands.registry import find_command
from clio.config.installed_plugins import (
    MANIFEST_PATH,
    MARKETPLACE_PATH,
    LockedMarketplace,
    LockedPlugin,
    Plugin,
    clean_line,
    copy_folder,
    find_copy_problem,
    is_plugin_name,
    read_lock,
    read_locked_plugin,
    read_plugin,
)
from clio.config.loaded import LoadedConfig
from clio.entrypoints.subcommand import ask_on_terminal, print_json, print_result
from clio.errors import ClioError, UsageError
from clio.plugins.marketplaces import Marketplace, MarketplaceEntry, parse_marketplace
from clio.plugins.repositories import PluginSource, Repository, parse_source, split_marketplace_name
from clio.plugins.store import StagedCopy, remove_marketplace, remove_plugin, store_marketplace
from clio.text.json_data import decode_json
from clio.text.translation import tr, tr_count
from clio.ui.safe_text import clean

_MIN_PIN_CHARS = 12
_FULL_HASH_CHARS = 40
_MAX_FILES_NAMED = 10


class _Request(Struct, frozen=True, kw_only=True):
    """What to add.

    Attributes:
        name: "" for the plugin's own name.
        locked: what the lock file will say, without commit and digest.
        trust: the commit or digest given by the user; "" to ask.
    """

    source: PluginSource
    name: str
    locked: LockedPlugin
    trust: str


def run_plugin(loaded: LoadedConfig, words: Sequence[str], *, json: bool) -> int:
    """Run `clio plugin add|update|remove` with these words after `plugin`; return the exit code.

    Raises UsageError (exit 2) also if the user declines, or cannot be asked and has not named the commit.
    """
    if loaded.config.incognito:
        raise UsageError(tr("Incognito mode stores nothing; start without --incognito."))
    runner = _Runner(loaded, json=json)
    rest = join_arguments(words[1:])
    match words[0]:
        case "add":
            given = parse_options(rest, switches=("--project",), valued=("--path", "--name", "--trust"))
            return runner.add(given, only_skills=False)
        case "add-skills":
            given = parse_options(rest, switches=("--project",), valued=("--path", "--name", "--trust"))
            return runner.add(given, only_skills=True)
        case "update":
            return runner.update(parse_options(rest, valued=("--trust",)))
        case _:
            return runner.remove(parse_options(rest))


class _Runner:
    def __init__(self, loaded: LoadedConfig, *, json: bool) -> None:
        self._loaded = loaded
        self._home = loaded.home
        self._json = json

    def add(self, given: ParsedArguments, *, only_skills: bool) -> int:
        if not given.words and "--project" in given.options:
            return self._add_project_plugins(given)
        if len(given.words) != 1:
            raise UsageError(
                tr("Add which plugin? Write clio plugin add OWNER/NAME, an address or a folder; see clio plugin --help")
            )
        text, path = given.words[0], given.options.get("--path", "")
        project = str(self._loaded.main_project) if "--project" in given.options else ""
        trust = _check_trust(given.options.get("--trust", ""))
        locked = LockedPlugin(only_skills=only_skills, project=project)
        if named := split_marketplace_name(text):
            plugin, marketplace = named
            entry, source = self._find_in_marketplace(plugin, marketplace)
            name = given.options.get("--name") or entry.name.lower()
            locked = replace(locked, marketplace=marketplace, entry=entry.parts)
            return self._add(_Request(source=source, name=name, locked=locked, trust=trust))
        source = parse_source(text, path=path, base=self._loaded.start_folder)
        request = _Request(source=source, name=given.options.get("--name", ""), locked=locked, trust=trust)
        return self._add(request)

    def _add_project_plugins(self, given: ParsedArguments) -> int:
        """Add the plugins that the project's configuration names, each after a question of its own."""
        sources = self._loaded.config.plugins
        trust = _check_trust(given.options.get("--trust", ""))
        if any(value.key == "plugins" for value in self._loaded.withheld):
            raise UsageError(tr("The project's configuration is not trusted yet: clio config trust"))
        if not sources or (trust and len(sources) > 1):
            raise UsageError(
                tr("The project's configuration names {plugins}; name one", plugins=tr_count(len(sources), "plugin"))
            )
        locked = LockedPlugin(project=str(self._loaded.main_project))
        for text in sources:
            source = parse_source(text, base=self._loaded.main_project)
            self._add(_Request(source=source, name="", locked=locked, trust=trust))
        return 0

    def update(self, given: ParsedArguments) -> int:
        lock = read_lock(self._home)
        trust = _check_trust(given.options.get("--trust", ""))
        if len(given.words) > 1 or (trust and not given.words):
            raise UsageError(tr("Update which plugin? Write clio plugin update NAME, or clio plugin update for all"))
        names = [given.words[0]] if given.words else list(lock.plugins)
        if not names:
            self._tell(tr("No plugins; `clio plugin add SOURCE` in a shell adds one."), {"updated": []})
        for name in names:
            locked = get_locked(lock, name)
            request = _Request(source=self._find_source(name, locked), name=name, locked=locked, trust=trust)
            self._add(request)
        return 0

    def remove(self, given: ParsedArguments) -> int:
        if len(given.words) != 1:
            raise UsageError(tr("Remove which plugin? Write clio plugin remove NAME; clio plugin list shows all"))
        name = given.words[0]
        lock = read_lock(self._home)
        if name not in lock.plugins and name in lock.marketplaces:
            remove_marketplace(self._home, name)
            self._tell(tr("Removed the marketplace {name}; plugins from it stay.", name=name), {"removed": name})
            return 0
        get_locked(lock, name)
        remove_plugin(self._home, name)
        self._tell(tr("Removed {name}, with all its files.", name=name), {"removed": name})
        return 0

    def _find_in_marketplace(self, plugin: str, name: str) -> tuple[MarketplaceEntry, PluginSource]:
        lock = read_lock(self._home)
        if name not in lock.marketplaces:
            known = ", ".join(lock.marketplaces) or tr("none")
            raise ClioError(
                tr(
                    "There is no marketplace {name!r} (known: {known}); add it with clio plugin add OWNER/NAME",
                    name=name,
                    known=known,
                )
            )
        stored = lock.marketplaces[name]
        with Repository(replace(parse_source(stored.source), ref=stored.ref)) as repository:
            marketplace = _read_marketplace(repository)
        if marketplace is None:
            raise ClioError(tr("{source} is not a marketplace any more", source=stored.source))
        entry = marketplace.get(plugin)
        if entry.source is None:
            raise ClioError(tr("{name} cannot be added: {problem}", name=plugin, problem=entry.problem))
        return entry, entry.source

    def _find_source(self, name: str, locked: LockedPlugin) -> PluginSource:
        lock = read_lock(self._home)
        if locked.marketplace in lock.marketplaces:
            plugin = str(locked.entry.get("name") or name)
            return self._find_in_marketplace(plugin, locked.marketplace)[1]
        return replace(parse_source(locked.source, path=locked.path), ref=locked.ref)

    def _add(self, request: _Request) -> int:
        source = request.source
        # The commit the user names is fetched itself, so that a branch that moves on does not matter.
        is_hash = len(request.trust) >= _FULL_HASH_CHARS and not source.is_folder
        with Repository(replace(source, ref=request.trust) if is_hash else source) as repository:
            manifest = _read_manifest(repository)
            is_new = not request.locked.digest
            if is_new and not request.locked.marketplace and not request.locked.only_skills and manifest is None:
                marketplace = _read_marketplace(repository)
                if marketplace is not None:
                    return self._add_marketplace(marketplace, source)
            fetched = repository.read_files()
        name = self._choose_name(request, manifest)
        old = read_lock(self._home).plugins.get(name)
        if is_new and old is not None and (old.source, old.path) != (source.url, source.path):
            raise ClioError(
                tr(
                    "There is a plugin {name!r} from {source} already; remove it, or give this one another --name",
                    name=name,
                    source=old.source,
                )
            )
        if old is not None and old.projects and request.locked.project:
            # Added in another project of the user's, it stays in use in the former ones.
            others = tuple(one for one in old.projects if one != request.locked.project)
            request = replace(request, locked=replace(request.locked, more_projects=others))
        with StagedCopy(self._home, fetched.files) as staged:
            locked = replace(
                request.locked, source=source.url, ref=source.ref, path=source.path, commit=fetched.commit,
                digest=staged.digest,
            )  # fmt: skip
            plugin = read_plugin(staged.folder, name, only_skills=locked.only_skills, entry=locked.entry)
            locked = replace(locked, version=plugin.version)
            is_usable = old is not None and not find_copy_problem(self._home, name, old)
            if is_usable and old is not None and _is_unchanged(old, locked):
                self._tell(tr("{name} is up to date.", name=name), {"name": name, "commit": old.commit})
                return 0
            if plugin.is_empty:
                raise ClioError(
                    tr(
                        "{source} brings nothing that clio uses: no skills, commands, agents, hooks, servers or themes"
                        "{hint}",
                        source=source.text,
                        hint="" if source.path else tr("; if they are in a folder of it, name that with --path"),
                    )
                )
            # With the same content there is no difference to show, but what is trusted for one more project is.
            is_same = old is not None and (old.digest, old.only_skills) == (locked.digest, locked.only_skills)
            shown = self._show(plugin, locked, old if is_usable and not is_same else None, fetched.left_out)
            self._require_trust(name, locked.pin, request.trust, shown)
            staged.install(name, locked)
        done = tr("Added {name}.", name=name) if old is None else tr("Updated {name}.", name=name)
        self._tell(tr("{done} It takes effect at the next start of clio.", done=done), {**shown, "trusted": True})
        return 0

    def _add_marketplace(self, marketplace: Marketplace, source: PluginSource) -> int:
        known = read_lock(self._home).marketplaces.get(marketplace.name)
        if known is not None and known.source != source.url:
            raise ClioError(
                tr(
                    "There is a marketplace {name!r} from {source} already; clio plugin remove {name}",
                    name=marketplace.name,
                    source=known.source,
                )
            )
        store_marketplace(self._home, marketplace.name, LockedMarketplace(source=source.url, ref=source.ref))
        rows = tuple((entry.name, entry.problem or entry.description) for entry in marketplace.entries)
        text = tr(
            "{source} is a marketplace with {plugins}. Nothing of it is used yet; add one with "
            "`clio plugin add NAME@{name}`.",
            source=source.text,
            plugins=tr_count(len(rows), "plugin"),
            name=marketplace.name,
        )
        table = Table(columns=(tr("plugin"), tr("what it does")), rows=rows, wide_column=1) if rows else None
        data = {"marketplace": marketplace.name, "plugins": [{"name": row[0], "description": row[1]} for row in rows]}
        self._print(CommandResult(text=text, table=table, data=data))
        return 0

    def _choose_name(self, request: _Request, manifest: dict[str, Any] | None) -> str:
        if request.name and request.locked.digest:
            return request.name
        stated = (manifest or {}).get("name")
        name = request.name or (stated if isinstance(stated, str) and stated else request.source.base_name)
        if not is_plugin_name(name):
            raise ClioError(
                tr(
                    "{name!r} is not a valid name for a plugin: up to 64 lowercase letters and digits, with dashes "
                    "between them; choose one with --name",
                    name=clean_line(name, 64),
                )
            )
        # Its commands may begin with its name, as in /NAME:COMMAND.
        if find_command(name) is not None:
            raise ClioError(tr("{name!r} is the name of a command of clio; choose another one with --name", name=name))
        return name

    def _show(
        self, plugin: Plugin, locked: LockedPlugin, old: LockedPlugin | None, left_out: Sequence[str]
    ) -> dict[str, object]:
        """Show what a plugin brings, or how that differs from before; return it in JSON types."""
        taken = find_taken_names(self._loaded, plugin.name, os.environ, _is_built_in)
        items, problems = list_items(plugin, taken, os.environ, _is_built_in)
        marks: dict[int, str] | None = None
        lines = [plugin.description if old is None else ""]
        if old is not None:
            before, _ = list_items(read_locked_plugin(self._home, plugin.name, old), taken, os.environ, _is_built_in)
            items, marks = _compare_items(before, items)
            lines.append(_describe_other_files(copy_folder(self._home, plugin.name, old), plugin))
        where = tr("{source}, commit {commit}", source=locked.source, commit=locked.pin)
        if not locked.commit:
            where = tr("{source}, content {digest}", source=locked.source, digest=locked.pin)
        head = tr("{name} {version} from {where}", name=plugin.name, version=plugin.version, where=where)
        lines += [
            describe_left_out(plugin),
            tr("Not copied: {entries}.", entries="; ".join(left_out[:_MAX_FILES_NAMED])) if left_out else "",
            *problems,
        ]
        text = "\n\n".join(" ".join(line.split()) for line in (head, *lines) if line)
        data: dict[str, object] = {
            "name": plugin.name,
            "version": plugin.version,
            "commit": locked.commit,
            "digest": locked.digest,
            "items": make_item_data(items),
            "left_out": list(plugin.left_out),
            "problems": problems,
            "trusted": False,
        }
        if marks is not None:
            data["changes"] = [marks.get(number, "") for number in range(len(items))]
        if not self._json:
            self._print(CommandResult(text=text, table=make_item_table(items, marks) if items else None))
        return data

    def _require_trust(self, name: str, pin: str, trust: str, shown: dict[str, object]) -> None:
        if trust:
            if not pin.startswith(trust):
                raise UsageError(
                    tr("{name} is now {pin}, not {trust}: nothing was changed", name=name, pin=pin, trust=trust)
                )
            return
        question = tr("Trust all of it? Hooks and servers run with your rights.")
        answer = None if self._json else ask_on_terminal(f"{question} [y/N] ")
        if answer is None:
            if self._json:
                print_json(CommandResult(data=shown))
            raise UsageError(tr("clio can't ask here; to trust what is listed, add --trust {pin}", pin=pin))
        if answer.strip().lower() not in ("y", "yes"):
            raise UsageError(tr("nothing was changed"))

    def _tell(self, text: str, data: object) -> None:
        self._print(CommandResult(text=text, data=data))

    def _print(self, result: CommandResult) -> None:
        if self._json:
            print_json(result)
        else:
            print_result(result, clean(result.text), aloud=self._loaded.config.screen_reader)


def _is_built_in(name: str) -> bool:
    return find_command(name) is not None


def _check_trust(trust: str) -> str:
    trust = trust.lower()
    if trust and (len(trust) < _MIN_PIN_CHARS or any(char not in "0123456789abcdef" for char in trust)):
        raise UsageError(tr("--trust takes at least {count} characters of the commit", count=_MIN_PIN_CHARS))
    return trust


def _read_manifest(repository: Repository) -> dict[str, Any] | None:
    data = repository.read_file(MANIFEST_PATH)
    if data is None:
        return None
    try:
        return decode_json(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except (ValueError, RecursionError) as error:
        raise ClioError(
            tr("{path} is not valid JSON: {error}", path=MANIFEST_PATH, error=clean_line(str(error)))
        ) from None


def _read_marketplace(repository: Repository) -> Marketplace | None:
    data = repository.read_file(MARKETPLACE_PATH)
    return None if data is None else parse_marketplace(data, repository.source)


def _is_unchanged(old: LockedPlugin, new: LockedPlugin) -> bool:
    return (old.digest, old.only_skills, set(old.projects), old.entry) == (
        new.digest,
        new.only_skills,
        set(new.projects),
        new.entry,
    )


def _compare_items(
    before: Sequence[PluginItem], after: Sequence[PluginItem]
) -> tuple[list[PluginItem], dict[int, str]]:
    """Return the items that are new, changed or gone, and a mark for each."""
    old = {(item.kind, item.name): item for item in before}
    # Several hooks may be at one event; each command line is one of them.
    hooks = {item.digest for item in before if item.kind == "hook"}
    found: list[tuple[PluginItem, str]] = []
    for item in after:
        if item.kind == "hook":
            if item.digest not in hooks:
                found.append((item, tr("new")))
        elif (item.kind, item.name) not in old:
            found.append((item, tr("new")))
        elif old[item.kind, item.name].digest != item.digest:
            found.append((item, tr("changed")))
    names = {(item.kind, item.name) for item in after}
    digests = {item.digest for item in after if item.kind == "hook"}
    found += [
        (item, tr("gone"))
        for item in before
        if (item.digest not in digests if item.kind == "hook" else (item.kind, item.name) not in names)
    ]
    return [item for item, _ in found], {number: mark for number, (_, mark) in enumerate(found)}


def _describe_other_files(folder: Path, plugin: Plugin) -> str:
    """Return a sentence on all files that differ, "" if none does.

    A script that a hook calls counts as much as the hook.
    """
    old, new = list_plugin_files(folder), list_plugin_files(plugin.folder)
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    if not changed:
        return ""
    named = ", ".join(changed[:_MAX_FILES_NAMED])
    more = len(changed) - _MAX_FILES_NAMED
    return tr(
        "Changed files: {named}{more}.", named=named, more=tr(" and {count} more", count=more) if more > 0 else ""
    )
