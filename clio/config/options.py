"""The command line of one run of clio as typed values, made from the parsed flags."""

import os
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import Struct

from clio.config.command_line import Arguments, decode_argument, is_reading_call, list_overrides
from clio.errors import UsageError
from clio.text.translation import tr

InputFormat = Literal["text", "stream-json"]


OutputFormat = Literal["text", "json", "stream-json"]


class Options(Struct, frozen=True, kw_only=True):
    """The command line as typed values. All paths are absolute.

    Attributes:
        prompt: the whole text of a one-shot turn, including piped text; None starts the REPL.
        resume: the session to continue, "" to choose from a list, None for a new session.
        fork: continue in a copy of that session.
        overrides: values of Config fields given as flags, still as text for a flag that takes text.
        from_program: a program gave the overrides, so that errors name settings and not flags.
        json_schema: the file whose schema the answer must fit.
        reads_only: a sub-command that changes nothing.
    """

    cwd: Path
    prompt: str | None = None
    continue_latest: bool = False
    resume: str | None = None
    fork: bool = False
    new: bool = False
    input: InputFormat = "text"
    output: OutputFormat = "text"
    json_schema: Path | None = None
    config_file: Path | None = None
    overrides: dict[str, str | bool | tuple[str, ...]] = {}
    from_program: bool = False
    reads_only: bool = False


def make_options(arguments: Arguments) -> Options:
    """Return the options for these arguments, before the prompt is read. Raises UsageError for a missing directory."""
    here = _get_current_folder()
    return Options(
        cwd=_resolve_folder(here, arguments.cwd) if arguments.cwd is not None else here,
        continue_latest=arguments.continue_latest,
        resume=None if arguments.resume is None else decode_argument(arguments.resume),
        fork=arguments.fork,
        new=arguments.new,
        input=cast(InputFormat, arguments.input or "text"),
        output=cast(OutputFormat, arguments.output or "text"),
        json_schema=_resolve_file(here, arguments.json_schema),
        config_file=_resolve_file(here, arguments.config),
        overrides=list_overrides(arguments),
        reads_only=is_reading_call(arguments.words),
    )


def with_prompt(options: Options, prompt: str) -> Options:
    """Return the same options for a one-shot turn with this text."""
    return msgspec.structs.replace(options, prompt=prompt)


def _get_current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(tr("the current folder no longer exists; change to another, or set one with --cwd")) from None


def _resolve_file(here: Path, name: str | None) -> Path | None:
    return here / Path(name).expanduser() if name is not None else None


def _resolve_folder(here: Path, name: str) -> Path:
    path = here / Path(name).expanduser()
    try:
        if name and path.is_dir():
            return path
    except OSError as error:  # not a valid file name
        raise UsageError(tr("--cwd {name!r} cannot be used: {strerror}", name=name, strerror=error.strerror)) from None
    exists = os.path.lexists(path)
    raise UsageError(
        tr("--cwd {name!r}: ", name=name) + (tr("that is not a folder") if exists else tr("there is no such folder"))
    )
