"""Decide for each tool call whether to allow it, ask the user or deny it.

The decision depends on the approval mode, the configured rules and the answers given earlier in the session.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, assert_never

from msgspec import Struct

from clio.config.loaded import LoadedConfig
from clio.config.schema import ApprovalMode
from clio.security.actions import (
    FETCH_RULE,
    Action,
    CallServer,
    ChangeFiles,
    FetchUrl,
    FileChange,
    ReadFiles,
    RunCommand,
    TouchOwnState,
    Workspace,
    is_host_covered,
    is_tool_covered,
    read_rule,
)
from clio.security.protected_files import explain_clio_file, explain_protected_file
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.security.command_policy import CommandView


PLAN_REASON = "plan mode only reads; describe this step in the plan and let the user leave plan mode to carry it out"


class Allow(Struct, frozen=True, tag="allow"):
    """The action may run without asking. The reason is written to the log.

    Attributes:
        confined: allowed only because it was judged to be read-only, so it runs confined where a sandbox is available.
        network: a confined command keeps network access, because it only reads from a service (`docker ps`).
    """

    reason: str
    confined: bool = False
    network: bool = False


class Ask(Struct, frozen=True, tag="ask"):
    """The user must approve the action.

    Attributes:
        reason: a short clause for the approval dialog, mostly without a subject: "deletes permanently".
        rule: the rule that the answer "always" adds; None where no rule is narrow enough.
        in_every_mode: the question is asked in every approval mode, "all" included.
        rule_spares: the question is skipped even so if the user's `allow` rules cover every part of the line.
    """

    risk: Literal["low", "medium", "high"]
    reason: str
    rule: str | None = None
    in_every_mode: bool = False
    rule_spares: bool = False


class Deny(Struct, frozen=True, tag="deny"):
    """The action must not run. The reason goes to the model and includes what to do instead."""

    reason: str


Verdict = Allow | Ask | Deny


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """What is presented to the user for approval: the title of the call, its action and the verdict of the policy.

    Attributes:
        wider_modes: the modes that would run it without asking, the narrowest first; known only if no user can answer.
    """

    title: str
    action: Action
    verdict: Ask
    wider_modes: tuple[ApprovalMode, ...] = ()


class Declined(Struct, frozen=True, kw_only=True):
    """The hunks of one file that the user rejected.

    Attributes:
        hunks: how many hunks were rejected.
        of: how many hunks were proposed.
        diff: the rejected hunks as a unified diff without file names.
    """

    path: Path
    hunks: int
    of: int
    diff: str


class Answer(Struct, frozen=True):
    """The user's answer to an approval request.

    Attributes:
        kind: "once", "session", "always" (adds the offered rule), "no", or "changed": approve `changes` once instead of
            what was proposed. `changes` covers at most the same files; their new text may differ.
        edited: the files whose text the user edited.
        declined: the hunks the user rejected.
        interrupted: the answer is "no" and ends the turn.
        is_from_program: a program answered, so that the reason is not the user's own words.
    """

    kind: Literal["once", "session", "always", "no", "changed"]
    reason: str = ""
    changes: tuple[FileChange, ...] = ()
    edited: tuple[Path, ...] = ()
    declined: tuple[Declined, ...] = ()
    interrupted: bool = False
    is_from_program: bool = False


_APPROVALS: Mapping[ApprovalMode, str] = {
    "ask": "edits, and commands that may change something, are shown to the user first",
    "edits": "edits in the project run unasked; commands that may change something are shown to the user first",
    "all": "everything runs unasked, except what could damage the system or other projects",
    "plan": "plan mode; only reading is allowed",
}
_WIDER_MODES: tuple[ApprovalMode, ...] = ("edits", "all")
_NO_APPROVALS: Mapping[ApprovalMode, str] = {
    "ask": "no one can approve here; edits, and commands that may change something, are refused",
    "edits": "no one can approve here; edits in the project run, commands that may change something are refused",
    "all": "no one can approve here; everything runs, except what could damage the system or other projects",
    "plan": _APPROVALS["plan"],
}


def describe_approvals(mode: ApprovalMode, *, can_ask: bool) -> str:
    """Return one sentence that tells the model who approves its actions.

    Args:
        can_ask: whether a user is there to answer.
    """
    return (_APPROVALS if can_ask else _NO_APPROVALS)[mode]


class Approver(Protocol):
    """Answers approval requests: the terminal, or in one-shot mode an object that always answers no."""

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask and wait for the answer. Cancelling the task withdraws the question."""
        ...


class Policy:
    """Judges every action before it runs.

    Args:
        mode: the approval mode; the attribute may be changed at any time.
        allow, deny: rules from the configuration.
        private_network: whether addresses of this machine and of private networks may be fetched.
        incognito: refuse every action that writes memory.
        clio_home: clio's own folder. Its files are never written without asking, even if it is inside the workspace.
    """

    def __init__(
        self,
        workspace: Workspace,
        mode: ApprovalMode,
        allow: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        private_network: bool = False,
        incognito: bool = False,
        clio_home: Path | None = None,
    ) -> None:
        self.workspace = workspace
        self.mode: ApprovalMode = mode
        self.private_network = private_network
        self.incognito = incognito
        self._allow = [read_rule(text) for text in allow]
        self._deny = tuple(read_rule(text) for text in deny)
        # Paths of actions have their links resolved, so this one must have them too.
        self._home = clio_home.resolve() if clio_home is not None else None
        self._paths: set[Path] = set()
        self._readable: frozenset[Path] = frozenset()
        self._commands: set[RunCommand] = set()
        self._hosts: set[str] = set()
        self._tools: set[str] = set()
        self._can_write_inside = False

    def judge(self, action: Action) -> Verdict:
        """Return the verdict on an action. Reads the file system to resolve links; runs and changes nothing."""
        match action:
            case ReadFiles():
                return self._judge_reading(action)
            case ChangeFiles():
                return self._judge_changes(action)
            case RunCommand():
                try:
                    return self._judge_command(action)
                except RecursionError:  # the checks have limits of their own, below this one; no line may pass unread
                    if self.mode == "plan":
                        return Deny(PLAN_REASON)
                    return Ask("high", tr("is nested too deeply to check"), in_every_mode=True)
            case FetchUrl():
                return self._judge_fetch(action)
            case TouchOwnState():
                return self._judge_internal(action)
            case CallServer():
                return self._judge_server_call(action)
            case _:
                assert_never(action)

    def list_wider_modes(self, action: Action) -> tuple[ApprovalMode, ...]:
        """Return the modes other than the present one that would run the action without asking, the narrowest first."""
        present = self.mode
        modes: list[ApprovalMode] = []
        try:
            for mode in _WIDER_MODES:
                self.mode = mode
                verdict = self.judge(action)
                if isinstance(verdict, Allow) and not verdict.confined:
                    modes.append(mode)
        finally:
            self.mode = present
        return tuple(modes)

    def is_read_only(self, action: RunCommand) -> bool:
        """Whether a command provably does nothing but read inside the workspace."""
        return self._parse_command(action).is_read_only

    def covers(self, action: RunCommand, rules: Iterable[str]) -> bool:
        """Whether a command only reads, or these rules name every part of it. Does not tell whether it may run."""
        view = self._parse_command(action)
        return view.is_read_only or view.is_covered_by([read_rule(rule) for rule in rules])

    def add_rule(self, rule: str) -> None:
        """Allow what a rule names from now on. The caller saves the rule for later sessions."""
        self._allow.append(read_rule(rule))

    def allow_reading(self, folders: Iterable[Path]) -> None:
        """Allow reading below these folders without asking, instead of those given before. Links must be resolved."""
        self._readable = frozenset(folders)

    def allow_for_session(self, action: Action) -> None:
        """Allow an action for the rest of the session.

        - A command: what its offered rule names, or exactly this line.
        - A write of ordinary files in the workspace: all such writes.
        - Any other write, and every read: exactly these paths (for a folder, everything in it).
        - A page: its host.
        - A server call: this tool.
        """
        match action:
            case ReadFiles():
                self._paths.update(action.paths)
            case ChangeFiles():
                special = [path for path in list_changed_paths(action) if self._explain_special_write(path)]
                self._paths.update(special)
                self._can_write_inside = self._can_write_inside or not special
            case RunCommand():
                verdict = self.judge(action)
                if isinstance(verdict, Ask) and verdict.rule is not None:
                    self.add_rule(verdict.rule)
                self._commands.add(action)
            case FetchUrl():
                self._hosts.add(_get_host(action.url))
            case TouchOwnState():
                pass
            case CallServer():
                self._tools.add(action.name)
            case _:
                assert_never(action)

    def _judge_reading(self, action: ReadFiles) -> Verdict:
        """Reading outside the workspace needs approval."""
        outside = [path for path in action.paths if not self.workspace.contains(path) and not self._is_permitted(path)]
        if not outside:
            return Allow(tr("reads inside the workspace"))
        if self.mode == "all":
            return Allow(tr("mode 'all'"))
        return Ask("low", tr("{outside!r} is outside the workspace", outside=str(outside[0])))

    def _judge_changes(self, action: ChangeFiles) -> Verdict:
        """Changes need approval unless the mode or an earlier answer covers them; special files nearly always do."""
        if self.mode == "plan":
            return Deny(PLAN_REASON)
        paths = list_changed_paths(action)
        why_not = self._explain_always_asked if self.mode == "all" else self._explain_special_write
        special = [(path, why) for path in paths if (why := why_not(path)) and path not in self._paths]
        if special:
            # A reason that applies in every mode is reported first.
            path, why = next((one for one in special if self._explain_always_asked(one[0])), special[0])
            never = bool(self._explain_always_asked(path))
            return Ask("high", f"{self.workspace.display(path)!r} {why}", in_every_mode=never)
        if self.mode == "all":
            return Allow(tr("mode 'all'"))
        if self.mode == "edits" or self._can_write_inside or all(path in self._paths for path in paths):
            return Allow(tr("writes inside the workspace"))
        deletes = any(change.kind == "delete" for change in action.changes)
        return Ask("medium" if deletes else "low", tr("deletes files") if deletes else "")

    def _explain_special_write(self, path: Path) -> str:
        """Why a write needs approval in every mode but "all", as the end of a sentence; "" where it does not."""
        if not self.workspace.contains(path):
            return tr("is outside the workspace")
        return explain_protected_file(path, self.workspace.root, self._home)

    def _explain_always_asked(self, path: Path) -> str:
        """Why a write needs approval even in mode "all"; "" where it does not.

        Otherwise a command could change the settings that decide what it may do.
        """
        return explain_clio_file(path, self.workspace.root, self._home)

    def _is_permitted(self, path: Path) -> bool:
        return any(place in self._paths or place in self._readable for place in (path, *path.parents))

    def _parse_command(self, action: RunCommand) -> "CommandView":
        from clio.security.command_policy import CommandView

        return CommandView(action, self.workspace, self._home)

    def _judge_command(self, action: RunCommand) -> Verdict:
        """Judge a command line: never-list, deny rules, approval mode, allow rules, in this order."""
        view = self._parse_command(action)
        # Checked first: no mode, rule or earlier answer may allow these commands.
        if view.never_reason:
            return Deny(
                tr(
                    "clio never runs this: {never_reason}; if it is really needed, ask the user to run it by hand",
                    never_reason=view.never_reason,
                )
            )
        # Deny rules apply in every mode and take precedence over allow rules and earlier answers.
        if rule := view.find_deny_rule(self._deny):
            open_word = view.line.hidden_programs or any(command.dynamic for command in view.line.commands)
            hint = tr("; with this rule, programs and sub-commands must be written literally") if open_word else ""
            return Deny(
                tr(
                    "the rule deny: {rule!r} forbids this command{hint}; find another way or ask the user",
                    rule=rule,
                    hint=hint,
                )
            )
        if action.outside:
            return self._judge_outside_sandbox(action)
        if self.mode == "all":
            return self._judge_in_mode_all(action, view)
        if view.is_read_only:
            # What the user has approved already runs with the network and all variables, as it would by hand.
            approved = self.mode != "plan" and (action in self._commands or view.is_covered_by(self._allow))
            network = bool(view.needs_network)
            return Allow(tr("only reads inside the workspace"), confined=not approved, network=network)
        if self.mode == "plan":
            return Deny(PLAN_REASON)
        if action in self._commands:
            return Allow(tr("allowed for this session"))
        # Asked, not refused: refusing every variable would forbid ordinary loops.
        if doubt := view.find_deny_rule(self._deny, "maybe"):
            return Ask("high", tr("an argument computed at run time might match the rule deny: {doubt!r}", doubt=doubt))
        return self._judge_by_rules(view)

    def judge_unconfined(self, action: Action, need: str) -> Verdict:
        """Return the verdict on running a read-only command without confinement, after it failed while confined.

        Args:
            need: what confinement denied, such as "needs the network".
        """
        if self.mode == "plan":
            return Deny(tr("{need}, and plan mode runs nothing outside the sandbox", need=need))
        if isinstance(verdict := self.judge(action), Allow) and verdict.confined:
            return Ask("medium", tr("{need}; it failed inside the sandbox", need=need))
        return verdict

    def _judge_in_mode_all(self, action: RunCommand, view: "CommandView") -> Verdict:
        """Return the verdict in mode "all": allow, unless a deny rule cannot be checked or the line could do lasting
        harm.

        The checks that still ask: settings that widen clio's permissions, system changes, and files outside the
        project.
        """
        from clio.security.shell.parser import NO_GRAMMAR

        # Without the bash grammar no check below can see what the line does.
        if NO_GRAMMAR in view.unknown:
            return Ask("high", NO_GRAMMAR, in_every_mode=True)
        # Without deny rules nothing in an unreadable line is forbidden, and the user chose to run everything.
        if self._deny and view.unknown:
            return Ask("high", tr("{unknown}, so the deny rules cannot be checked", unknown=view.unknown[0]))
        if action not in self._commands and (doubt := view.find_deny_rule(self._deny, "maybe")):
            return Ask("high", tr("an argument computed at run time might match the rule deny: {doubt!r}", doubt=doubt))
        from clio.security.outside_changes import explain_written_settings, find_unseen_part

        if action not in self._commands and (unseen := find_unseen_part(view.line, view.text)):
            return Ask("high", unseen, in_every_mode=True)
        widens = explain_written_settings(view.line, view.start, self._explain_always_asked, self._home)
        if widens and action not in self._commands:
            return Ask("high", tr("may write {widens}", widens=widens), in_every_mode=True)
        if action not in self._commands:
            from clio.security.system_changes import find_unknown_target

            if unknown := find_unknown_target(view.line, view.text, view.start, str(Path.home())):
                return Ask("high", unknown, in_every_mode=True)
            from clio.security.system_changes import find_system_change

            if why := find_system_change(view.line, view.text, view.start, str(Path.home())):
                return Ask("high", why, in_every_mode=True)
            # An allow rule of the user's own is an approval in advance; it cannot cover the checks above.
            if (why := self._explain_outside_change(view)) and not self._is_allowed_by_rules(view):
                return Ask("high", why, in_every_mode=True, rule_spares=True)
        return Allow(tr("mode 'all'"))

    def _explain_outside_change(self, view: "CommandView") -> str:
        """Which data outside the project a line removes or overwrites; "" for none."""
        from clio.security.outside_changes import find_outside_change
        from clio.security.shared_data import find_shared_removal

        root = str(self.workspace.root)
        outside = find_outside_change(view.line, view.text, view.start, str(Path.home()), root)
        return outside or find_shared_removal(view.line)

    def _is_allowed_by_rules(self, view: "CommandView") -> bool:
        """Whether the user's `allow` rules name every part of a line, so that the user has approved it already."""
        return view.explain_allowed(tuple(self._allow), writes_inside=True) is not None

    def _judge_outside_sandbox(self, action: RunCommand) -> Verdict:
        """Return the verdict on a command that asks to leave the sandbox: no mode and no rule allows that without
        asking.
        """
        if self.mode == "plan":
            return Deny(PLAN_REASON)
        if action in self._commands:
            return Allow(tr("allowed outside the sandbox for this session"))
        return Ask("high", tr("runs outside the sandbox"))

    def _judge_by_rules(self, view: "CommandView") -> Verdict:
        rules = tuple(self._allow)
        writes = self.mode == "edits" or self._can_write_inside
        if reason := view.explain_allowed(rules, writes_inside=writes):
            return Allow(reason)
        return Ask(view.risk.level, tr(view.risk.reason), view.suggest_rule(rules))

    def _judge_fetch(self, action: FetchUrl) -> Verdict:
        """Fetching needs approval by host; private addresses are refused."""
        from clio.security.url_policy import UrlRefused, read_url

        try:
            target = read_url(action.url, allow_private=self.private_network or action.is_configured)
        except UrlRefused as error:
            return Deny(str(error))
        # Before the mode: a deny rule holds in `all` too.
        rule = next((rule.text for rule in self._deny if is_host_covered(rule, target.host)), None)
        if rule is not None:
            return Deny(
                tr(
                    "the rule deny: {rule!r} forbids {host!r}; find another source or ask the user",
                    rule=rule,
                    host=target.host,
                )
            )
        if self.mode == "all":
            return Allow(tr("mode 'all'"))
        if target.host in self._hosts or any(is_host_covered(rule, target.host) for rule in self._allow):
            return Allow(tr("{host!r} is allowed", host=target.host))
        purpose = tr("sends the query to") if action.query else tr("fetches a page from")
        return Ask("low", f"{purpose} {target.host!r}", f"{FETCH_RULE} {target.host}")

    def _judge_server_call(self, action: CallServer) -> Verdict:
        """A tool of an MCP server needs approval, by tool."""
        rule = next((rule.text for rule in self._deny if is_tool_covered(rule, action.name)), None)
        if rule is not None:
            return Deny(tr("the rule deny: {rule!r} forbids this tool; find another way or ask the user", rule=rule))
        if self.mode == "all":
            return Allow(tr("mode 'all'"))
        if self.mode == "plan" and not action.reads:
            return Deny(PLAN_REASON)
        if action.name in self._tools or any(is_tool_covered(rule, action.name) for rule in self._allow):
            return Allow(tr("{action!r} is allowed", action=action.name))
        return Ask("medium", tr("sends this to the MCP server {server!r}", server=action.server), action.name)

    def _judge_internal(self, action: TouchOwnState) -> Verdict:
        """clio's own state may change without asking, except memory in incognito sessions and in plan mode."""
        if action.writes_memory and self.incognito:
            return Deny(tr("an incognito session saves nothing to memory; continue without it"))
        if action.writes_memory and self.mode == "plan":
            return Deny(tr("plan mode saves nothing to memory; put it into the plan instead"))
        if action.ends_work and self.mode == "plan":
            return Deny(PLAN_REASON)
        return Allow(tr("affects only clio's own state"))


def _get_host(url: str) -> str:
    from clio.security.url_policy import read_url

    return read_url(url, allow_private=True).host


def list_changed_paths(action: ChangeFiles) -> tuple[Path, ...]:
    """Return every path a change writes or removes."""
    moved = [change.moved_to for change in action.changes if change.moved_to is not None]
    return (*(change.path for change in action.changes), *moved)


_NEXT_MODE: dict[ApprovalMode, ApprovalMode] = {"ask": "edits", "edits": "plan", "plan": "ask", "all": "ask"}


def get_next_mode(mode: ApprovalMode) -> ApprovalMode:
    """Return the mode after this one: ask, edits, plan, ask. "all" is never reached: the user must type it."""
    return _NEXT_MODE[mode]


def open_policy(loaded: LoadedConfig, workspace: Workspace) -> Policy:
    """Create the policy for the model's tool calls from the configuration."""
    config = loaded.config
    return Policy(
        workspace,
        config.approve,
        allow=config.allow,
        deny=config.deny,
        private_network=config.private_network,
        incognito=config.incognito,
        clio_home=loaded.home,
    )
