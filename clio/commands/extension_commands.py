"""/agents, /skills and /hooks: extensions of clio from files of the user and the project."""

import os
from collections.abc import Iterable
from pathlib import Path

from clio.commands.agent_commands import (
    describe_background_agents,
    discard_agent,
    merge_agent,
    message_agent,
    report_agent,
    show_agent_diff,
    stop_agent,
)
from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    EditText,
    ExpandedCommand,
    RunExpandedCommand,
    Suggestion,
    Table,
    make_refusal,
    quote_code,
    split_first_word,
)
from clio.config.paths import FOLDER_NAME
from clio.config.trust import TrustStore
from clio.errors import ClioError, UserError
from clio.prompt_files import fill_prompt
from clio.skills.skills import (
    MAX_SKILL_BYTES,
    MAX_SUBAGENT_BYTES,
    SKILL_FILE_NAME,
    Skill,
    SkillSet,
    SubagentCatalog,
    SubagentDefinition,
    UnreadableFile,
    describe_name_problem,
    list_skill_files,
    make_skill,
    make_subagent_trust_request,
    parse_subagent_definition,
    split_front_matter,
)
from clio.storage.files import make_folder, write_atomic
from clio.text.translation import mark, tr

_NO_HOOKS = mark(
    "No hooks. Hooks are commands that run at clio's events: define yours in ~/.clio/hooks.yaml, a project's in "
    ".clio/hooks.yaml; for example `stop:`, and below it `- run: COMMAND`."
)


def show_hooks(ctx: CommandContext, argument: str) -> CommandResult:
    """List the hooks in the order in which they run."""
    if argument:
        return make_refusal(
            tr(
                "/hooks takes no argument, not {argument!r}; edit ~/.clio/hooks.yaml or .clio/hooks.yaml",
                argument=argument,
            )
        )
    loaded = ctx.loaded
    state = tr("runs") if ctx.config.hooks else tr("off (--no-hooks)")
    rows = [
        (
            hook.event + (tr(" for {match}", match="|".join(hook.match)) if hook.match else ""),
            hook.run,
            hook.where,
            state,
        )
        for hook in loaded.hooks
    ]
    rows += [
        (value.key.removeprefix("hooks."), value.value, value.where, tr("not trusted yet (clio config trust)"))
        for value in loaded.withheld
        if value.key.startswith("hooks.")
    ]
    if not rows:
        return CommandResult(text=tr(_NO_HOOKS))
    return CommandResult(
        table=Table(columns=(tr("event"), tr("command"), tr("from"), ""), rows=tuple(rows), wide_column=1)
    )


HOOKS: tuple[Command, ...] = (
    Command(name="hooks", summary=mark("your commands that run at clio's events"), handler=show_hooks),
)


_USER_OPTION = "--user"
_MAX_PROBLEMS_SHOWN = 5  # a folder with hundreds of foreign Markdown files would fill the screen otherwise


def list_agents(ctx: CommandContext, argument: str) -> CommandResult:
    """List every sub-agent, where it is defined, and whether it may be used."""
    if argument:
        return make_refusal(tr("/agents list takes no argument; /agents show {argument} shows one", argument=argument))
    catalog = _make_catalog(ctx)
    found, problems = catalog.find()
    usable = catalog.list_usable()
    running = describe_background_agents(ctx)
    problem_lines = "\n".join([*running, *(f"- {problem}" for problem in problems[:_MAX_PROBLEMS_SHOWN])])
    data = [_make_agent_data(agent, agent in usable) for agent in found]
    if not found:
        general = tr("Only the general sub-agent, which has all tools; `/agents new NAME` creates another.")
        return CommandResult(text=f"{problem_lines}\n\n{general}".strip(), data=data)
    rows = tuple(
        (agent.name, "" if agent in usable else tr("not trusted yet (/trust)"), agent.displayed_path, agent.description)
        for agent in found
    )
    table = Table(
        columns=(tr("agent"), "", tr("where"), tr("when it is used")), rows=rows, wide_column=3, is_truncated=True
    )
    return CommandResult(text=problem_lines, table=table, data=data)


def show_agent(ctx: CommandContext, argument: str) -> CommandResult:
    """Show one sub-agent: its properties and its instructions."""
    name = parse_options(argument).text.strip().lower()
    if not name:
        return make_refusal(tr("Which agent? Write /agents show NAME; /agents list shows all"))
    catalog = _make_catalog(ctx)
    found, _ = catalog.find()
    agent = next((agent for agent in found if agent.name == name), None)
    if agent is None:
        names = [agent.name for agent in found]
        hint = suggest_name(name, names) if names else tr("there are none yet; /agents new NAME creates one")
        raise UserError(tr("There is no agent {name!r}; {hint}", name=name, hint=hint))
    is_usable = agent in catalog.list_usable()
    rows = [
        (tr("agent"), agent.name),
        (tr("when it is used"), agent.description),
        (tr("where"), agent.displayed_path + ("" if is_usable else tr(" (not trusted yet: /trust)"))),
        (tr("tools"), ", ".join(agent.tools) if agent.tools else tr("all except those of a conversation")),
        (tr("model"), agent.model or tr("the session's model")),
        (tr("max steps"), str(agent.max_steps)),
        *([(tr("problem"), agent.problem)] if agent.problem else []),
    ]
    table = Table(columns=("", ""), rows=tuple(rows), wide_column=1)
    return CommandResult(
        table=table, verbatim=agent.text, data=_make_agent_data(agent, is_usable) | {"text": agent.text}
    )


def new_agent(ctx: CommandContext, argument: str) -> CommandResult:
    """Create a sub-agent from a template, in the editor."""
    given = parse_options(argument, switches=(_USER_OPTION,))
    if len(given.words) != 1:
        return make_refusal(tr("Write /agents new NAME, or /agents new NAME --user to use it in all projects"))
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode stores nothing; start without --incognito."))
    name, own = given.words[0].lower(), _USER_OPTION in given.options
    home = ctx.loaded.home if own else ctx.loaded.project / FOLDER_NAME
    path = home / "agents" / f"{name}.md"
    text = fill_prompt("context/new_agent", agent=name)
    try:  # the name is checked by parsing the template, before the user has written anything
        parse_subagent_definition(text, stem=name, displayed_path=path.name, own=own)
    except UnreadableFile as error:
        return make_refusal(tr("{name!r} is not a valid agent name: {error}", name=name[:64], error=error))
    if path.exists():
        return make_refusal(tr("There is an agent {name!r} already; open {path} to change it", name=name, path=path))
    return CommandResult(follow_up=EditText(text=text, then=lambda saved: _store_agent(ctx, path, saved, own=own)))


def _store_agent(ctx: CommandContext, path: Path, text: str, *, own: bool) -> CommandResult:
    """Save the user's text if it defines a sub-agent, and trust it, because the user wrote it."""
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_SUBAGENT_BYTES:
        return make_refusal(
            tr(
                "An agent file can have up to {max_subagent_bytes:,} bytes, and this one has {count:,}; shorten it",
                max_subagent_bytes=MAX_SUBAGENT_BYTES,
                count=len(data),
            )
        )
    try:
        parse_subagent_definition(text, stem=path.stem, displayed_path=path.name, own=own)
    except UnreadableFile as error:
        return make_refusal(tr("The agent was not saved: {error}", error=error))
    make_folder(path.parent)
    write_atomic(path, data, 0o644)  # readable like any file of the project, since it may be committed
    written = next((agent for agent in _make_catalog(ctx).find()[0] if agent.displayed_path.endswith(path.name)), None)
    if written is not None and not own:
        TrustStore(ctx.loaded.home).add(ctx.loaded.project, make_subagent_trust_request(written))
    return CommandResult(
        text=tr("Wrote {path}. The model can use it from the next session on.", path=quote_code(str(path)))
    )


def _make_catalog(ctx: CommandContext) -> SubagentCatalog:
    return SubagentCatalog(ctx.loaded.project, ctx.loaded.home, os.environ)


def _make_agent_data(agent: SubagentDefinition, usable: bool) -> dict[str, object]:
    return {
        "name": agent.name,
        "description": agent.description,
        "path": agent.displayed_path,
        "own": agent.own,
        "usable": usable,
        "tools": list(agent.tools) if agent.tools else None,
        "model": agent.model or None,
        "max_steps": agent.max_steps,
    }


def _suggest_agents(ctx: CommandContext) -> Iterable[Suggestion]:
    try:
        return [Suggestion(text=agent.name, note=agent.description[:60]) for agent in _make_catalog(ctx).find()[0]]
    except (ClioError, OSError):
        return ()


AGENTS: tuple[Command, ...] = (
    Command(
        name="agents",
        summary=mark("sub-agents: those in the background, and their definitions"),
        handler=list_agents,
        subcommands=(
            Command(name="list", summary=mark("list the sub-agents and their files"), handler=list_agents),
            Command(
                name="show",
                argument="NAME",
                summary=mark("show its instructions"),
                handler=show_agent,
                suggest=_suggest_agents,
            ),
            Command(
                name="new",
                argument="NAME [--user]",
                summary=mark("create one for this project, or for every project"),
                handler=new_agent,
            ),
            Command(
                name="message",
                argument="N TEXT",
                summary=mark("tell a sub-agent in the background something"),
                handler=message_agent,
            ),
            Command(
                name="report", argument="N", summary=mark("show the report of one that has ended"), handler=report_agent
            ),
            Command(name="stop", argument="N", summary=mark("end one that works"), handler=stop_agent),
            Command(
                name="diff",
                argument="N",
                summary=mark("show what it changed in its worktree"),
                handler=show_agent_diff,
            ),
            Command(
                name="merge",
                argument="N",
                summary=mark("apply its changes here, without a commit, and remove its worktree"),
                handler=merge_agent,
            ),
            Command(
                name="discard",
                argument="N [--yes]",
                summary=mark("delete its changes and its worktree"),
                handler=discard_agent,
            ),
        ),
    ),
)


def list_skills(ctx: CommandContext, argument: str) -> CommandResult:
    """List every skill, where it is stored, and whether it may be used."""
    if argument:
        return make_refusal(
            tr("/skills list takes no argument; /skills show {argument} shows one skill", argument=argument)
        )
    found = ctx.skills.find()
    usable = ctx.skills.list_usable(found)
    data = [_make_skill_data(skill, skill in usable) for skill in found.skills]
    problem_lines = [f"- {problem}" for problem in found.problems[:_MAX_PROBLEMS_SHOWN]]
    if more := len(found.problems) - len(problem_lines):
        problem_lines.append(tr("- and {more} more", more=more)) if more > 0 else None
    if not found.skills:
        return CommandResult(
            text="\n".join([tr("No skills; `/skills new NAME` creates one."), "", *problem_lines]), data=data
        )
    rows = tuple(
        (skill.name, "" if skill in usable else tr("not trusted yet (/trust)"), skill.displayed_path, skill.description)
        for skill in found.skills
    )
    table = Table(
        columns=(tr("skill"), "", tr("where"), tr("when it is used")), rows=rows, wide_column=3, is_truncated=True
    )
    return CommandResult(text="\n".join(problem_lines), table=table, data=data)


def use_skill(ctx: CommandContext, argument: str) -> CommandResult:
    """Send a skill with the message after its name to the model."""
    name, _ = split_first_word(argument)
    if not name:
        return make_refusal(tr("Which skill? Write /skills use NAME TEXT; /skills list shows all"))
    found = ctx.skills.find()
    skill = _find_skill(found, name)
    # Trust is needed here too: a skill's text is an instruction that the user may never have read.
    if skill not in ctx.skills.list_usable(found):
        return make_refusal(
            tr(
                "The skill {skill} belongs to the project, which is not trusted yet: `/trust`",
                skill=quote_code(skill.name),
            )
        )
    opened = ctx.skills.open(skill)

    async def make() -> ExpandedCommand:
        return ExpandedCommand(text=opened.text, source=skill.displayed_path, lead_prompt="context/skill")

    return CommandResult(follow_up=RunExpandedCommand(line=f"/skills use {argument}", expand=make))


def show_skill(ctx: CommandContext, argument: str) -> CommandResult:
    """Show one skill: its properties, its files, its text."""
    name = parse_options(argument).text.strip()
    if not name:
        return make_refusal(tr("Which skill? Write /skills show NAME; /skills list shows all"))
    found = ctx.skills.find()
    skill = _find_skill(found, name)
    is_usable = skill in ctx.skills.list_usable(found)
    body = ctx.skills.open(skill).body
    files = list_skill_files(skill)
    rows = [
        (tr("skill"), skill.name),
        (tr("when it is used"), skill.description),
        (tr("where"), skill.displayed_path + ("" if is_usable else tr(" (not trusted yet: /trust)"))),
        (tr("files"), ", ".join(files)),
        (tr("tools"), tr("{tools} (approvals as usual)", tools=", ".join(skill.tools)) if skill.tools else ""),
        (tr("needs"), skill.compatibility),
        (tr("license"), skill.license),
        *skill.metadata.items(),
        *((tr("problem"), problem) for problem in skill.problems),
    ]
    table = Table(columns=("", ""), rows=tuple(row for row in rows if row[1]), wide_column=1)
    data = _make_skill_data(skill, is_usable) | {"files": list(files), "body": body}
    return CommandResult(table=table, verbatim=body, data=data)


def new_skill(ctx: CommandContext, argument: str) -> CommandResult:
    """Create a skill from a template, in the editor."""
    given = parse_options(argument, switches=(_USER_OPTION,))
    if len(given.words) != 1:
        return make_refusal(tr("Write /skills new NAME, or /skills new NAME --user to use it in all projects"))
    name = given.words[0]
    if problem := describe_name_problem(name):
        return make_refusal(tr("{name!r} is not a valid skill name: {problem}", name=name, problem=problem))
    own = _USER_OPTION in given.options
    folder = (ctx.loaded.home if own else ctx.loaded.main_project / FOLDER_NAME) / "skills" / name
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode stores nothing; start without --incognito."))
    if (folder / SKILL_FILE_NAME).exists():
        return make_refusal(
            tr(
                "There is a skill {name!r} already; open {folder} to change it",
                name=name,
                folder=folder / SKILL_FILE_NAME,
            )
        )

    def store(text: str) -> CommandResult:
        return _store_skill(ctx, name, folder, text)

    return CommandResult(follow_up=EditText(text=fill_prompt("context/new_skill", skill=name), then=store))


def _store_skill(ctx: CommandContext, name: str, folder: Path, text: str) -> CommandResult:
    """Save the user's text if it is a skill, and trust it, because the user wrote it."""
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_SKILL_BYTES:
        return make_refusal(
            tr(
                "A skill can have up to {max_skill_bytes:,} bytes, and this one has {count:,}; put the rest into files",
                max_skill_bytes=MAX_SKILL_BYTES,
                count=len(data),
            )
        )
    try:
        make_skill(
            split_front_matter(text, SKILL_FILE_NAME),
            folder_name=name,
            folder=folder,
            displayed_path=SKILL_FILE_NAME,
            own=True,
        )
    except UnreadableFile as error:
        return make_refusal(tr("The skill was not saved: {error}", error=error))
    make_folder(folder)
    write_atomic(folder / SKILL_FILE_NAME, data, 0o644)
    # Read back from the file, because trust covers the name and the description as they are read.
    skill = next((agent for agent in ctx.skills.find().skills if agent.folder == folder.resolve()), None)
    if skill is None:
        return make_refusal(
            tr(
                "{folder} is saved, but another skill of that name takes precedence: /skills list",
                folder=folder / SKILL_FILE_NAME,
            )
        )
    ctx.skills.trust(skill)
    return CommandResult(
        text=(
            tr(
                "Wrote {displayed_path}. The model knows it from the next session on; `/skills use {skill}` now.",
                displayed_path=quote_code(skill.displayed_path),
                skill=skill.name,
            )
        ),
        data=_make_skill_data(skill, usable=True),
    )


def _refuse_add(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal(tr("Skills of a repository are added in a shell: clio skills add"))


def _find_skill(found: SkillSet, name: str) -> Skill:
    skill = found.get(name)
    if skill is None:
        names = [skill.name for skill in found.skills]
        hint = suggest_name(name.lower(), names) if names else tr("there are none yet; /skills new NAME creates one")
        raise UserError(tr("There is no skill {name!r}; {hint}", name=name, hint=hint))
    return skill


def _make_skill_data(skill: Skill, usable: bool) -> dict[str, object]:
    return {
        "name": skill.name,
        "description": skill.description,
        "path": skill.displayed_path,
        "own": skill.own,
        "usable": usable,
        "problems": list(skill.problems),
    }


def _suggest_skills(ctx: CommandContext) -> Iterable[Suggestion]:
    try:
        return [Suggestion(text=skill.name, note=skill.description[:60]) for skill in ctx.skills.find().skills]
    except (ClioError, OSError):
        return ()


SKILLS = (
    Command(
        name="skills",
        summary=mark("instructions for certain tasks; the model loads them when they apply"),
        handler=list_skills,
        subcommands=(
            Command(name="list", summary=mark("list the skills and their files"), handler=list_skills),
            Command(
                name="use",
                argument="NAME [TEXT]",
                summary=mark("send it with this text"),
                handler=use_skill,
                sends_argument=True,
                suggest=_suggest_skills,
            ),
            Command(
                name="show", argument="NAME", summary=mark("show its text"), handler=show_skill, suggest=_suggest_skills
            ),
            Command(
                name="new",
                argument="NAME [--user]",
                summary=mark("create one for this project, or for every project"),
                handler=new_skill,
            ),
            Command(
                name="add",
                argument="SOURCE [--path FOLDER] [--name NAME] [--project] [--trust COMMIT]",
                summary=mark("add the skills of a repository or folder, in a shell"),
                handler=_refuse_add,
            ),
        ),
    ),
)
