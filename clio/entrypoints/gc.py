"""`clio gc`: what takes how much in the project's `.clio` and in `~/.clio`, and away with what nobody needs."""

import os
import time
from collections.abc import Sequence

from clio.commands.arguments import join
from clio.commands.command import CommandResult, Table
from clio.commands.subcommands import GcRequest, parse_gc
from clio.config.loaded import Loaded
from clio.config.paths import FOLDER_NAME, display, user_home
from clio.entrypoints.gc_heaps import Heap, Limits, heaps_of
from clio.entrypoints.subcommand_output import ask, print_json, print_result, without_marks
from clio.errors import ClioError, UserError
from clio.tools.files.text_file import size_text

_DAY_S = 86_400.0


def run(loaded: Loaded, words: Sequence[str], *, json: bool) -> int:
    """Carry out `clio gc` with the words behind it. Returns 0.

    json: print one JSON document, and never ask. Raises UserError for what cannot be meant, ClioError where it failed.
    """
    wanted = parse_gc(join(words))
    if loaded.config.incognito and wanted.yes:
        raise UserError("an incognito clio changes nothing on disk, so it frees nothing; leave out --incognito")
    heaps = look(loaded, wanted)
    waste = sum(heap.wasted for heap in heaps)
    frees = wanted.yes
    if not json:
        print_result(CommandResult(table=_table(heaps, loaded)), "")
        if waste and not frees and not loaded.config.incognito:
            answer = ask(f"\nFree {size_text(waste)}? [y/N] ")
            frees = (answer or "").strip().lower() in ("y", "yes")
    freed, problems = _free(heaps) if frees else (0, [])
    if json:
        print_json(CommandResult(text="", data=_data(heaps, freed, problems)))
    else:
        print_result(CommandResult(text=""), without_marks(_said(waste, freed, problems, asked=frees)))
    if problems:
        raise ClioError(
            f"{len(problems)} could not be deleted, such as {problems[0]}; look at the rights of the folder"
        )
    return 0


def look(loaded: Loaded, wanted: GcRequest) -> list[Heap]:
    """What lies in both folders, and what of it may go; nothing is changed."""
    config = loaded.config
    limits = Limits(
        checkpoint_bytes=config.checkpoint_mb * 1_000_000,
        checkpoint_age_s=config.checkpoint_days * _DAY_S,
        caches=wanted.caches,
        sessions_s=wanted.sessions_s,
    )
    folders = dict.fromkeys((loaded.owner / FOLDER_NAME, loaded.home))
    now = time.time()
    return [heap for folder in folders if folder.is_dir() for heap in heaps_of(folder, limits, now)]


def _free(heaps: Sequence[Heap]) -> tuple[int, list[str]]:
    """Bytes that are free now, and what could not be deleted."""
    freed = 0
    problems: list[str] = []
    for heap in heaps:
        for one in heap.waste:
            try:
                one.free()
                freed += one.bytes
            except FileNotFoundError:
                continue  # gone with something else
            except (OSError, ClioError) as error:
                problems.append(f"{one.path.name}: {getattr(error, 'strerror', None) or error}")
        if heap.what == "outputs of tools":
            _drop_empty_folders(heap)
    return freed, problems


def _drop_empty_folders(heap: Heap) -> None:
    for folder in sorted({one.path.parent for one in heap.waste}, reverse=True):
        try:
            folder.rmdir()
            folder.parent.rmdir()
        except OSError:
            continue  # something is in it


def _table(heaps: Sequence[Heap], loaded: Loaded) -> Table:
    person = user_home(os.environ)
    rows = [
        (
            display(heap.where, project=loaded.owner, user_home=person),
            heap.what,
            f"{heap.files:,}",
            size_text(heap.bytes),
            f"{size_text(heap.wasted)} in {len(heap.waste):,}" if heap.waste else "",
        )
        for heap in heaps
    ]
    return Table(columns=("folder", "what", "files", "size", "may go"), rows=tuple(rows), wide=1)


def _data(heaps: Sequence[Heap], freed: int, problems: Sequence[str]) -> dict[str, object]:
    rows = [
        {
            "folder": str(heap.where),
            "what": heap.what,
            "files": heap.files,
            "bytes": heap.bytes,
            "may_go": {"count": len(heap.waste), "bytes": heap.wasted},
        }
        for heap in heaps
    ]
    return {"heaps": rows, "may_go_bytes": sum(heap.wasted for heap in heaps), "freed_bytes": freed,
            "problems": list(problems)}  # fmt: skip


def _said(waste: int, freed: int, problems: Sequence[str], *, asked: bool) -> str:
    if asked and (waste or freed or problems):
        return f"Freed {size_text(freed)}." if not problems else f"Freed {size_text(freed)}; not all could be deleted."
    if waste:
        return f"{size_text(waste)} may go; nothing was deleted. `clio gc --yes` frees it."
    return "Nothing may go."
