"""The arguments of the tools beside those for files: what a request says of them, without the tools."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class RunCommandArgs(Struct, frozen=True, kw_only=True):
    """Arguments of run_command."""

    command: Annotated[str, Meta(description="Shell command line")]
    timeout_s: Annotated[int, Meta(ge=1, le=3600, description="Stop it after so many seconds")] | None = None
    background: Annotated[bool, Meta(description="Start it as a job and return at once")] = False


class HeldCommandArgs(RunCommandArgs, frozen=True, kw_only=True):
    """The same where commands run in a sandbox."""

    outside: Annotated[bool, Meta(description="Run it outside the sandbox; the user is always asked")] = False


def command_args(*, held: bool) -> type[RunCommandArgs]:
    """Those run_command takes. held: by a sandbox."""
    return HeldCommandArgs if held else RunCommandArgs


class JobOutputArgs(Struct, frozen=True, kw_only=True):
    """Arguments of job_output."""

    job: Annotated[str, Meta(description='Name such as "job1"')]
    offset: Annotated[int, Meta(ge=0, description="Character to begin at; default: what is new")] | None = None
    wait_s: Annotated[int, Meta(ge=0, le=60, description="Wait so long for its end first")] = 0


class JobStopArgs(Struct, frozen=True, kw_only=True):
    """Arguments of job_stop."""

    job: str


class GitArgs(Struct, frozen=True, kw_only=True):
    """Arguments of git."""

    operation: Literal["status", "diff", "log", "show", "blame", "branch", "commit", "stash", "push"]
    action: Annotated[
        Literal["list", "create", "switch", "push", "pop"] | None,
        Meta(description="branch: list, create, switch; stash: list, push, pop"),
    ] = None
    path: Annotated[str, Meta(description="diff, log, show, blame: only this path")] = ""
    revision: Annotated[str, Meta(description="Commit, branch or range")] = ""
    staged: Annotated[bool, Meta(description="diff: what is staged")] = False
    n: Annotated[int, Meta(ge=1, le=500, description="log: how many")] = 20
    lines: Annotated[str, Meta(pattern=r"^(\d+,\d+)?$", description='blame: "10,40"')] = ""
    name: Annotated[str, Meta(description="branch: its name")] = ""
    message: Annotated[str, Meta(description="commit, stash")] = ""
    paths: Annotated[tuple[str, ...], Meta(description='commit: what to stage and commit; ["."] is all')] = ()
    remote: Annotated[str, Meta(description="push: to where")] = ""


class WebFetchArgs(Struct, frozen=True, kw_only=True):
    """Arguments of web_fetch."""

    url: Annotated[str, Meta(description="http or https")]


class ReadOutputArgs(Struct, frozen=True, kw_only=True):
    """Arguments of read_output."""

    handle: str
    offset: Annotated[int, Meta(ge=1, description="First line, from 1")] = 1
    limit: Annotated[int, Meta(ge=1, le=2000, description="Lines")] = 300


class UseSkillArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of use_skill."""

    name: Annotated[str, Meta(description="name of the skill, as listed")]
