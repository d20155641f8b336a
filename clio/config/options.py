"""The options of one start of clio, from the parsed flags."""

import os
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import Struct

from clio.config.command_line import Arguments, decode_argument, list_overrides
from clio.errors import UsageError

InputFormat = Literal["text", "stream-json"]


OutputFormat = Literal["text", "json", "stream-json"]


class Options(Struct, frozen=True, kw_only=True):
    """The command line as values.

    Attributes:
        prompt: the whole text of a one-shot turn, including piped text; None starts the REPL.
        resume: the session to continue, "" to choose from a list, None for a new session.
        fork: continue in a copy of that session.
        overrides: values of Config fields given as flags, still as text for a flag that takes text.
        json_schema: the file whose schema the answer must fit.
    The paths are absolute.
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
    )


def with_prompt(options: Options, prompt: str) -> Options:
    """Return the same options for a one-shot turn with this text."""
    return msgspec.structs.replace(options, prompt=prompt)


def _get_current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder no longer exists; go to another, or give one with --cwd") from None


def _resolve_file(here: Path, name: str | None) -> Path | None:
    return here / Path(name).expanduser() if name is not None else None


def _resolve_folder(here: Path, name: str) -> Path:
    path = here / Path(name).expanduser()
    try:
        if name and path.is_dir():
            return path
    except OSError as error:  # not a valid file name
        raise UsageError(f"--cwd {name!r} cannot be used: {error.strerror}") from None
    exists = os.path.lexists(path)
    raise UsageError(f"--cwd {name!r}: " + ("that is not a folder" if exists else "there is no such folder"))
