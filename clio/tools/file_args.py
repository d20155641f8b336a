"""The arguments of the tools that read, search and change files: what a request says of them, without the tools."""

from typing import Annotated

from msgspec import Meta, Struct

from clio.config.schema import PositiveInt

MAX_CHARS = 24_000
"""Characters of one answer; the rest is a further call away."""


class ReadFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of read_file."""

    path: Annotated[str, Meta(description="relative to the project or absolute")]
    offset: Annotated[PositiveInt | None, Meta(description="first line, from 1")] = None
    limit: Annotated[PositiveInt | None, Meta(description="number of lines")] = None


class WriteFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of write_file."""

    path: str
    content: str


class EditFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of edit_file."""

    path: str
    old_string: Annotated[str, Meta(description="text to replace, unique in the file")]
    new_string: str
    replace_all: bool = False


class ApplyPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of apply_patch."""

    patch: str


class ListFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of list_files."""

    path: Annotated[str, Meta(description="folder; the project by default")] = "."
    depth: Annotated[PositiveInt | None, Meta(description="levels to open")] = None


class FindFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of find_files."""

    pattern: Annotated[str, Meta(description="glob, or a part of a path")]


class SearchText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of search_text."""

    pattern: Annotated[str, Meta(description="regular expression, matched line by line")]
    path: Annotated[str, Meta(description="folder or file; the project by default")] = "."
    glob: Annotated[str | None, Meta(description="only such files: *.py, src/**/*.ts, !tests/**")] = None
    ignore_case: bool = False
    context: Annotated[int, Meta(description="lines shown around each match", ge=0, le=20)] = 0
