"""Runs an export: the session as text, to a file or to standard output."""

import os
import time
from pathlib import Path

from clio.commands.command import CommandContext, CommandResult, ExportForm, ExportSession, quote_code
from clio.commands.session_table import format_title, make_file_stem
from clio.errors import UserError
from clio.storage.files import write_atomic
from clio.text.formatting import format_bytes, format_count

STANDARD_OUTPUT = "-"


def export_to_file(ctx: CommandContext, step: ExportSession) -> CommandResult:
    """Write the session to a file, or to standard output; takes seconds for many megabytes.

    If the path is a directory, the file is named after the session. An existing file is replaced only with
    `step.force`.
    Raises UserError for a path that cannot be written, what `export_session` raises, and OSError.
    """
    from clio.export.export_session import SUFFIXES, export_session

    info = next((info for info in ctx.store.list() if info.id == step.session_id), None)
    title = format_title(info) if info else step.session_id
    path, form = _place(step, title, dict(SUFFIXES))
    text = export_session(
        ctx.store, step.session_id, form, redact=lambda text: ctx.redactor.redact(text).text, now=time.time()
    )
    data = text.encode("utf-8")
    if path is None:
        return CommandResult(verbatim=text)
    try:
        write_atomic(path, data)
    except OSError as error:
        raise UserError(f"{_shown(path)!r} cannot be written: {error.strerror}; choose another path") from error
    length = f", {format_count(info.messages, 'message')}" if info else ""
    return CommandResult(
        text=f"Wrote {quote_code(_shown(path))}: {format_bytes(len(data))}{length}.",
        data={"path": str(path), "bytes": len(data), "format": form, "session": step.session_id},
    )


def _place(step: ExportSession, title: str, forms: dict[str, ExportForm]) -> tuple[Path | None, ExportForm]:
    """Return the file, None for standard output; and the format."""
    if step.path == STANDARD_OUTPUT:
        return None, step.form or "md"
    try:
        path = Path.cwd() / Path(step.path).expanduser()
    except RuntimeError:
        raise UserError(f"There is no home folder for {step.path!r}; write the whole path") from None
    if path.is_dir():
        form = step.form or "html"
        path /= f"{make_file_stem(title)}.{form}"
    elif step.path.endswith(("/", os.sep)):
        raise UserError(f"There is no folder {step.path!r}; make it first, or choose another path")
    elif not path.suffix:
        form = step.form or "html"
        path = path.with_name(f"{path.name}.{form}")
    else:
        named = step.form or forms.get(path.suffix.lower())
        if named is None:
            raise UserError(
                f"The ending of {path.name!r} names no form of an export; use .html, .md or .json, or add --format"
            )
        form = named
    if not path.parent.is_dir():
        raise UserError(f"There is no folder {_shown(path.parent)!r}; make it first, or choose another path")
    if path.is_dir():
        raise UserError(f"{_shown(path)!r} is a folder; choose another path")
    if path.exists() and not step.force:
        raise UserError(f"{_shown(path)!r} is there already; add --force to replace it")
    return path, form


def _shown(path: Path) -> str:
    """Return the path relative to the current directory if it is inside, else absolute."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
