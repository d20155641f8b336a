"""/plugin: the plugins, and what each brings under which name. They are added and changed in a shell: `clio plugin`."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import Command, CommandContext, CommandResult, Suggestion, Table, make_refusal
from clio.commands.custom_commands import (
    MAX_BYTES,
    CustomFolders,
    list_command_files,
    list_shell_commands,
    make_custom_file,
)
from clio.config.extension_files import describe_server
from clio.config.installed_plugins import (
    Kind,
    LockedPlugin,
    Plugin,
    PluginLock,
    find_copy_problem,
    list_theme_files,
    name_origin,
    name_servers,
    read_lock,
    read_locked_plugin,
)
from clio.config.layers import find_all_servers
from clio.config.loaded import LoadedConfig
from clio.config.paths import user_home
from clio.config.theme_files import theme_names
from clio.config.trust import shorten_asked_text
from clio.errors import ClioError, UserError
from clio.prompt_files import find_prompt_folder
from clio.skills.skills import (
    DefinitionFolder,
    SkillCatalog,
    SubagentCatalog,
    UnreadableFile,
    find_skills,
    find_subagents,
    read_text,
    split_front_matter,
    to_safe_line,
)
from clio.storage.files import read_regular
from clio.text.formatting import truncate
from clio.text.translation import mark, tr

_MAX_DETAIL_CHARS = 300
_SHOWN_PIN_CHARS = 12


class PluginItem(Struct, frozen=True, kw_only=True):
    """One thing that a plugin brings.

    Attributes:
        kind: in English: "hook", "MCP server", "command", "skill", "agent" or "theme".
        name: under which it would be used; namespaced if its own name is in use.
        detail: what it does: the command line of a hook or server, the description of the others.
        digest: of everything of it that counts.
        own_name: if it is not `name`.
    """

    kind: str
    name: str
    detail: str
    digest: str
    own_name: str = ""


class TakenNames(Struct, frozen=True, kw_only=True):
    """The names in use without a certain plugin, so that its own are namespaced where they collide."""

    skills: frozenset[str]
    commands: frozenset[str]
    agents: frozenset[str]
    servers: frozenset[str]
    themes: tuple[str, ...]


_KINDS = {
    "hook": mark("hook"),
    "MCP server": mark("MCP server"),
    "command": mark("command"),
    "skill": mark("skill"),
    "agent": mark("agent"),
    "theme": mark("theme"),
}


def find_taken_names(
    loaded: LoadedConfig, plugin: str, env: Mapping[str, str], is_built_in: Callable[[str], bool]
) -> TakenNames:
    """Return the names in use without this plugin."""
    project, home = loaded.main_project, loaded.home
    begin = f"plugin {plugin}: "
    commands, _ = CustomFolders(project, home, env, find_prompt_folder("commands"), is_built_in).read()
    where = name_origin(plugin)
    return TakenNames(
        skills=frozenset(
            skill.name
            for skill in SkillCatalog(project, home, env).find().skills
            if not skill.displayed_path.startswith(begin)
        ),
        commands=frozenset(one.name.lower() for one in commands if not one.display_path.startswith(begin)),
        agents=frozenset(
            agent.name
            for agent in SubagentCatalog(project, home, env).find()[0]
            if not agent.displayed_path.startswith(begin)
        ),
        servers=frozenset(server.name for server in find_all_servers(home, project).servers if server.where != where),
        themes=tuple(theme_names(home, without_plugin=plugin)),
    )


def list_items(
    plugin: Plugin, taken: TakenNames, env: Mapping[str, str], is_built_in: Callable[[str], bool]
) -> tuple[list[PluginItem], list[str]]:
    """Return everything a plugin brings, programs first, and sentences about files that cannot be used."""
    items = [
        PluginItem(
            kind="hook",
            name=hook.event + (f" ({'|'.join(hook.match)})" if hook.match else ""),
            detail=_show_whole(hook.run),
            digest=_hash(hook.event, *hook.match, hook.run),
        )
        for hook in plugin.hooks
    ]
    named = name_servers([plugin], taken.servers)
    items += [
        PluginItem(
            kind="MCP server",
            name=server.name,
            detail=_show_whole(describe_server(server, whole=True)),
            digest=_hash(repr(server)),
            own_name=server.name.removeprefix(f"{plugin.name}.") if server.name not in _names_of(plugin) else "",
        )
        for server in named
    ]
    problems: list[str] = []
    items += _list_commands(plugin, taken, is_built_in, problems)
    home = user_home(env)
    skills = find_skills(_folders(plugin, "skills"), project=plugin.folder, user_home_folder=home)
    agents, agent_problems = find_subagents(_folders(plugin, "agents"), project=plugin.folder, user_home_folder=home)
    for kind, found, used in (("skill", skills.skills, taken.skills), ("agent", agents, taken.agents)):
        for one in found:
            is_taken = one.name in used
            items.append(
                PluginItem(
                    kind=kind,
                    name=f"{plugin.name}:{one.name}" if is_taken else one.name,
                    detail=_show_whole(one.description),  # the model reads all of it in every conversation
                    digest=_hash_file(plugin, one.displayed_path),
                    own_name=one.name if is_taken else "",
                )
            )
    for name, path in list_theme_files([plugin], taken.themes).items():
        items.append(
            PluginItem(
                kind="theme",
                name=name,
                detail="",
                digest=hashlib.sha256(read_regular(path)).hexdigest(),
                own_name=path.stem if path.stem != name else "",
            )
        )
    return items, [*plugin.problems, *problems, *skills.problems, *agent_problems]


def _list_commands(
    plugin: Plugin, taken: TakenNames, is_built_in: Callable[[str], bool], problems: list[str]
) -> Iterable[PluginItem]:
    for place in _folders(plugin, "commands"):
        for path, name, _ in list_command_files(place.folder):
            shown = place.display(path, project=plugin.folder, user_home_folder=plugin.folder)
            try:
                text = read_text(path, inside=plugin.folder, max_bytes=MAX_BYTES)
            except UnreadableFile as error:
                problems.append(tr("{shown} is not used: {error}", shown=shown, error=error))
                continue
            file = make_custom_file(split_front_matter(text, shown), name=name, shown=shown, place=place)
            is_taken = name.lower() in taken.commands or is_built_in(name)
            runs = ", ".join(" ".join(command.split()) for command in list_shell_commands(file.template))
            yield PluginItem(
                kind="command",
                name="/" + (f"{plugin.name}:{name}" if is_taken else name),
                detail=" · ".join(
                    filter(
                        None, [_show_whole(tr("runs {runs}", runs=runs)) if runs else "", _shorten(file.description)]
                    )
                ),
                digest=_hash(text),
                own_name=f"/{name}" if is_taken else "",
            )


def _folders(plugin: Plugin, kind: Kind) -> list[DefinitionFolder]:
    return [DefinitionFolder(folder=path, root=plugin.folder, plugin=plugin.name) for path in plugin.get_paths(kind)]


def _names_of(plugin: Plugin) -> Collection[str]:
    return {server.name for server in plugin.servers}


def _shorten(text: str) -> str:
    return truncate(to_safe_line(text), _MAX_DETAIL_CHARS)


def _show_whole(text: str) -> str:
    """Return what would be run or read by the model: an end left out could be what the user would not agree to."""
    return shorten_asked_text(to_safe_line(text))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()


def _hash_file(plugin: Plugin, displayed_path: str) -> str:
    """Return the digest of a definition's file, given the path shown for it."""
    path = plugin.folder / displayed_path.partition(": ")[2]
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_item_table(items: Sequence[PluginItem], marks: Mapping[int, str] | None = None) -> Table:
    """Return a table of what a plugin brings. marks: a first column, by the item's index; None for none."""
    rows = [
        (
            tr(_KINDS[item.kind]),
            item.name,
            (tr("instead of {name}, which exists", name=item.own_name) + " · " if item.own_name else "") + item.detail,
        )
        for item in items
    ]
    columns = (tr("kind"), tr("name"), tr("what it does"))
    if marks is None:
        return Table(columns=columns, rows=tuple(rows), wide_column=2)
    marked = tuple((marks.get(number, ""), *row) for number, row in enumerate(rows))
    return Table(columns=("", *columns), rows=marked, wide_column=3)


def make_item_data(items: Iterable[PluginItem]) -> list[dict[str, str]]:
    """Return the items in JSON types."""
    return [{"kind": item.kind, "name": item.name, "detail": item.detail} for item in items]


def describe_left_out(plugin: Plugin) -> str:
    """Return a sentence about what a plugin names and clio does not have; "" if nothing."""
    return tr("Left out, because clio has none: {parts}.", parts="; ".join(plugin.left_out)) if plugin.left_out else ""


def get_locked(lock: PluginLock, name: str) -> LockedPlugin:
    """Return a plugin's entry. Raises UserError."""
    if name not in lock.plugins:
        hint = suggest_name(name, lock.plugins) if lock.plugins else tr("there are none; clio plugin add adds one")
        raise UserError(tr("There is no plugin {name!r}; {hint}", name=name[:64], hint=hint))
    return lock.plugins[name]


def list_plugins(ctx: CommandContext, argument: str) -> CommandResult:
    """List the plugins, where each is from, and whether it counts."""
    if argument:
        return make_refusal(tr("/plugin list takes no argument; /plugin show {argument} shows one", argument=argument))
    home, project = ctx.loaded.home, str(ctx.loaded.main_project)
    lock = read_lock(home)
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    for name, locked in lock.plugins.items():
        problem = find_copy_problem(home, name, locked)
        if problem:
            state = tr("off: {problem}", problem=problem)
        elif locked.projects and project not in locked.projects:
            state = tr("only in {project}", project=", ".join(locked.projects))
        elif others := [one for one in locked.projects if one != project]:
            state = tr("on, in this project and {projects} only", projects=", ".join(others))
        else:
            state = tr("on, in this project only") if locked.projects else tr("on")
        path = f" ({locked.path})" if locked.path else ""
        rows.append((name, locked.version, locked.pin[:_SHOWN_PIN_CHARS], state, format_source(locked) + path))
        data.append(
            {
                "name": name,
                "version": locked.version,
                "source": locked.source,
                "ref": locked.ref,
                "path": locked.path,
                "commit": locked.commit,
                "digest": locked.digest,
                "project": locked.project,
                "projects": list(locked.projects),
                "problem": problem,
            }
        )
    lines = [
        tr("Marketplace {name}: {source}", name=name, source=marketplace.source)
        for name, marketplace in lock.marketplaces.items()
    ]
    if missing := _find_named_and_not_added(ctx, lock):
        lines.append(tr("This project names {sources}: clio plugin add --project", sources=", ".join(missing)))
    if not rows:
        text = "\n".join([tr("No plugins; `clio plugin add SOURCE` in a shell adds one."), *lines])
        return CommandResult(text=text, data=data)
    table = Table(
        columns=(tr("plugin"), tr("version"), tr("commit"), tr("state"), tr("from")),
        rows=tuple(rows),
        wide_column=4,
    )
    return CommandResult(table=table, text="\n".join(f"- {line}" for line in lines), data=data)


def _find_named_and_not_added(ctx: CommandContext, lock: PluginLock) -> list[str]:
    """Return the plugins that the project's configuration names and that are not used in the project."""
    if not ctx.config.plugins:
        return []
    from clio.plugins.repositories import parse_source

    project = ctx.loaded.main_project
    used = {
        (locked.source, locked.ref)
        for locked in lock.plugins.values()
        if not locked.projects or str(project) in locked.projects
    }
    found: list[str] = []
    for text in ctx.config.plugins:
        try:
            source = parse_source(text, base=project)
        except UserError:
            found.append(text)  # clio plugin add says what is wrong with it
            continue
        if (source.url, source.ref) not in used:
            found.append(text)
    return found


def format_source(locked: LockedPlugin) -> str:
    """Return where a plugin is from, as the user would write it."""
    return locked.source + (f"@{locked.ref}" if locked.ref else "")


def _make_show(is_built_in: Callable[[str], bool]) -> Callable[[CommandContext, str], CommandResult]:
    def show_plugin(ctx: CommandContext, argument: str) -> CommandResult:
        """Show what a plugin brings."""
        name = parse_options(argument).text.strip()
        if not name:
            return make_refusal(tr("Which plugin? Write /plugin show NAME; /plugin list shows all"))
        home = ctx.loaded.home
        locked = get_locked(read_lock(home), name)
        if problem := find_copy_problem(home, name, locked):
            return make_refusal(
                tr("The plugin {name!r} is off: {problem}; clio plugin update {name}", name=name, problem=problem)
            )
        plugin = read_locked_plugin(home, name, locked)
        taken = find_taken_names(ctx.loaded, name, os.environ, is_built_in)
        items, problems = list_items(plugin, taken, os.environ, is_built_in)
        lines = [
            plugin.description,
            tr("From {source}, {commit}.", source=format_source(locked), commit=locked.pin),
            describe_left_out(plugin),
            *problems,
        ]
        return CommandResult(
            text="\n\n".join(to_safe_line(line) for line in lines if line),
            table=make_item_table(items),
            data={"name": name, "commit": locked.commit, "items": make_item_data(items), "problems": problems},
        )

    return show_plugin


def _refuse_change(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal(tr("Plugins are added and changed in a shell: exit with /quit, then run clio plugin"))


def _suggest_plugins(ctx: CommandContext) -> Iterable[Suggestion]:
    try:
        return [Suggestion(text=name) for name in read_lock(ctx.loaded.home).plugins]
    except (ClioError, OSError):
        return ()


def make_plugin_commands(is_built_in: Callable[[str], bool]) -> tuple[Command, ...]:
    """Return the command. is_built_in: whether a name is that of a built-in command."""
    return (
        Command(
            name="plugin",
            aliases=("plugins",),
            summary=mark("plugins: skills, commands, agents, hooks and servers from a repository"),
            handler=list_plugins,
            subcommands=(
                Command(name="list", summary=mark("list the plugins and their commits"), handler=list_plugins),
                Command(
                    name="show",
                    argument="NAME",
                    summary=mark("show what it brings"),
                    handler=_make_show(is_built_in),
                    suggest=_suggest_plugins,
                ),
                Command(
                    name="add",
                    argument="[SOURCE] [--path FOLDER] [--name NAME] [--project] [--trust COMMIT]",
                    summary=mark("add one from OWNER/NAME, an address or a folder, in a shell"),
                    handler=_refuse_change,
                ),
                Command(
                    name="update",
                    argument="[NAME] [--trust COMMIT]",
                    summary=mark("show what has changed, and use it if you agree; in a shell"),
                    handler=_refuse_change,
                ),
                Command(
                    name="remove",
                    argument="NAME",
                    summary=mark("remove it with its files, in a shell"),
                    handler=_refuse_change,
                ),
            ),
        ),
    )


def list_plugin_files(folder: Path) -> dict[str, str]:
    """Return a digest of each file of a plugin's folder by its path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
