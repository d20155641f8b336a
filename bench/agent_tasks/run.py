"""Run fifteen small tasks with clio and a model, and measure each.

    python bench/agent_tasks/run.py --model NAME [--provider NAME] [--task NAME …] [--repeat N] [--clio PATH]
    python bench/agent_tasks/run.py --model scripted                   the stored replies, without a model
    python bench/agent_tasks/run.py --model NAME --json > before.json
    python bench/agent_tasks/run.py --model NAME --compare before.json
    python bench/agent_tasks/run.py --load after.json --compare before.json

Each task runs in a new git repository in a temporary folder, with an empty CLIO_HOME. Its checker judges the result.
Commands that clio would ask the user about are approved and counted; they run as the current user, in clio's sandbox if
one works (`--sandbox`). The exit code is 0 if all tasks are solved, 1 if one is not, 2 for a usage error.
"""

import argparse
import asyncio
import dataclasses
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from bench.agent_tasks.clio_run import Figures, Launch, make_environment, run_sessions
from bench.agent_tasks.play import load_play
from bench.agent_tasks.result import check_result
from bench.agent_tasks.task import Task, create_project, list_task_names, load_task
from tests.support.chat_server import ChatServer

VERSION = 1
SCRIPTED = "scripted"
SUMMED = (
    *("steps", "tokens_in", "tokens_cached", "tokens_out", "cost_usd", "unpriced_tokens", "seconds"),
    *("calls", "failed_calls", "trims", "forced_rereads", "questions", "approvals"),
)
_COLUMNS = {
    "steps": "steps",
    "tokens_in": "in",
    "tokens_cached": "cached",
    "tokens_out": "out",
    "cost_usd": "cost",
    "seconds": "seconds",
    "forced_rereads": "re-reads",
    "questions": "questions",
    "approvals": "approvals",
    "failed_calls": "failed calls",
}
Row = dict[str, Any]


async def run_task(task: Task, options: argparse.Namespace, play: Path | None = None) -> Row:
    """Run a task once and check the result. play: file with the replies of a scripted model, if that is used."""
    root = Path(tempfile.mkdtemp(prefix=f"agent-task-{task.name}-"))
    project, home = root / "project", root / "home"
    project.mkdir()
    home.mkdir(mode=0o700)
    if options.config:
        shutil.copy(options.config, home / "config.yaml")
    try:
        await asyncio.to_thread(create_project, task, project)
        log = root / "log.jsonl"
        if play is None:
            launch = Launch((*_find_clio(options), *_choose_server(options)), make_environment(home))
            figures = await run_sessions(task, launch, project, log)
        else:
            with ChatServer(load_play(task, play)) as server:
                command = (*_find_clio(options), "--model", SCRIPTED, "--sandbox", options.sandbox)
                environment = make_environment(home, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
                figures = await run_sessions(task, Launch(command, environment), project, log)
        problems = await asyncio.to_thread(check_result, task, project, figures.answer)
        if figures.status != "done":
            problems.insert(0, f"the last turn ended with {figures.status}: {figures.error or _last_line(log)}")
        return _make_row(task, figures, problems, root if options.keep else None)
    finally:
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)


def _find_clio(options: argparse.Namespace) -> tuple[str, ...]:
    if options.clio:
        return (str(Path(options.clio).resolve()) if "/" in options.clio else options.clio,)
    clio = Path(sys.executable).parent / "clio"
    return (str(clio) if clio.exists() else "clio",)


def _choose_server(options: argparse.Namespace) -> list[str]:
    arguments = ["--model", options.model, "--sandbox", options.sandbox]
    for name in ("provider", "base_url", "effort", "max_cost"):
        value = getattr(options, name)
        arguments += [f"--{name.replace('_', '-')}", str(value)] if value is not None else []
    return arguments


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip() and not line.startswith("{")), "no output")


def _make_row(task: Task, figures: Figures, problems: list[str], folder: Path | None) -> Row:
    row: Row = {"task": task.name, "kind": task.kind, "language": task.language, "solved": not problems}
    row |= {"problems": problems} | dataclasses.asdict(figures)
    return row | ({"kept": str(folder)} if folder else {})


async def run_tasks(names: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Run the named tasks `--repeat` times and return the report, which names the tasks that cannot run here."""
    tasks = [load_task(name) for name in names]
    missing = {task.name: task.missing_program for task in tasks}
    runnable = [task for task in tasks if not missing[task.name]]
    limit = asyncio.Semaphore(options.jobs)

    async def run_bounded(task: Task) -> Row:
        async with limit:
            row = await run_task(task, options, task.folder / "play.yaml" if options.model == SCRIPTED else None)
        if not options.json:
            print(render_row(row), flush=True)
        return row

    rows = await asyncio.gather(*(run_bounded(task) for task in runnable for _ in range(options.repeat)))
    return {
        "version": VERSION,
        "model": options.model,
        "clio": next((row["clio"] for row in rows if row["clio"]), ""),
        "rows": list(rows),
        "skipped": [
            {"task": name, "reason": f"{program} is not installed, or does not start"}
            for name, program in missing.items()
            if program
        ],
        "totals": sum_rows(rows),
    }


def sum_rows(rows: list[Row]) -> Row:
    """Return the number of solved rows, and the sum of each figure."""
    totals: Row = {"runs": len(rows), "solved": sum(row["solved"] for row in rows)}
    return totals | {name: round(sum(row[name] for row in rows), 4) for name in SUMMED}


def render_header() -> str:
    """Return the first line of the table."""
    return f"{'task':<28} {'solved':<7}" + "".join(f"{title:>{_width(title)}}" for title in _COLUMNS.values())


def render_row(row: Row) -> str:
    """Return one row of the table, and its problems on the lines below."""
    cells = "".join(f"{_render_figure(row, name):>{_width(title)}}" for name, title in _COLUMNS.items())
    solved = row["solved"] if isinstance(row["solved"], str) else ("yes" if row["solved"] else "no")
    problems = [f"    {problem}" for problem in row.get("problems", ())]
    problems += [f"    kept in {row['kept']}"] if "kept" in row else []
    return "\n".join([f"{row['task']:<28} {solved:<7}{cells}", *problems])


def _width(title: str) -> int:
    return max(len(title) + 2, 9)


def _render_figure(row: Row, name: str) -> str:
    value = row[name]
    if name == "cost_usd":
        return "unknown" if row["unpriced_tokens"] and not value else f"${value:.4f}"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def render_report(report: dict[str, Any]) -> str:
    """Return the end of the table: the totals, and the skipped tasks."""
    totals = report["totals"]
    lines = [render_row(totals | {"task": "total", "solved": f"{totals['solved']}/{totals['runs']}"})]
    lines += [f"skipped: {row['task']} ({row['reason']})" for row in report["skipped"]]
    lines.append(f"model {report['model']}, clio {report['clio'] or 'unknown'}")
    return "\n".join(lines)


def compare_reports(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the differences of two reports by task and in total, with the mean of the runs of each task.

    Tasks that only one of them has are listed at the end.
    """
    old, new = _average_by_task(before["rows"]), _average_by_task(after["rows"])
    both = [name for name in new if name in old]
    lines = [
        f"before: model {before['model']}, clio {before['clio']}; after: model {after['model']}, clio {after['clio']}",
        f"{'task':<28}{'solved':>16}{'steps':>16}{'in':>20}{'seconds':>18}{'re-reads':>16}{'approvals':>16}",
    ]
    columns = (
        ("solved", 16),
        ("steps", 16),
        ("tokens_in", 20),
        ("seconds", 18),
        ("forced_rereads", 16),
        ("approvals", 16),
    )
    for name in both:
        cells = "".join(f"{_render_change(old[name][key], new[name][key]):>{width}}" for key, width in columns)
        lines.append(f"{name:<28}{cells}")
    sums = [{key: sum(rows[name][key] for name in both) for key, _ in columns} for rows in (old, new)]
    total = "".join(f"{_render_change(sums[0][key], sums[1][key]):>{width}}" for key, width in columns)
    lines.append(f"{'total':<28}{total}")
    lines += [f"only before: {name}" for name in old if name not in new]
    lines += [f"only after: {name}" for name in new if name not in old]
    return "\n".join(lines)


def _average_by_task(rows: list[Row]) -> dict[str, dict[str, float]]:
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row)
    return {
        name: {key: sum(row[key] for row in group) / len(group) for key in ("solved", *SUMMED)}
        for name, group in by_task.items()
    }


def _render_change(before: float, after: float) -> str:
    return f"{before:,.4g}" if before == after else f"{before:,.4g} → {after:,.4g}"


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help=f"the model's name, or {SCRIPTED!r}")
    parser.add_argument("--provider", help="a provider that clio knows by name")
    parser.add_argument("--base-url", help="the address of any other server")
    parser.add_argument("--effort", help="the reasoning effort of the model")
    parser.add_argument(
        "--max-cost", type=float, metavar="USD", help="spending limit of one session of a task in dollars"
    )
    parser.add_argument("--task", action="append", metavar="NAME", help="only this task; can be repeated")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each task N times")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="tasks at the same time")
    parser.add_argument("--clio", metavar="PATH", help="the clio to measure; default: the one beside this Python")
    parser.add_argument(
        "--config", metavar="FILE", help="a config.yaml for clio, such as one with a server and its key"
    )
    parser.add_argument("--sandbox", default="auto", help="sandbox of commands: auto, bwrap, landlock, seatbelt or off")
    parser.add_argument("--keep", action="store_true", help="keep the folders, with all events in log.jsonl")
    parser.add_argument("--list", action="store_true", help="list the tasks and exit")
    parser.add_argument("--json", action="store_true", help="print a report for programs")
    parser.add_argument("--load", metavar="FILE", help="load a stored report instead of running tasks")
    parser.add_argument("--compare", metavar="FILE", help="show the differences from a stored report")
    options = parser.parse_args(arguments)
    if not (options.model or options.load or options.list):
        parser.error("name a model with --model, or --model scripted for the stored replies")
    unknown = set(options.task or ()) - set(list_task_names())
    if unknown:
        parser.error(f"there is no task {', '.join(sorted(unknown))}; --list shows them")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the tasks, print the report, and compare it. Return the exit code."""
    options = parse_options(arguments)
    names = options.task or list_task_names()
    if options.list:
        for task in map(load_task, names):
            print(f"{task.name:<28} {task.language:<11} {task.kind:<13} {task.title}")
        return 0
    before = json.loads(Path(options.compare).read_text(encoding="utf-8")) if options.compare else None
    if options.load:
        report = json.loads(Path(options.load).read_text(encoding="utf-8"))
    else:
        if not options.json:
            print(render_header(), flush=True)
        report = asyncio.run(run_tasks(names, options))
    if options.json:
        print(json.dumps(report, indent=1))
    elif not options.load:
        print(render_report(report))
    if before is not None and not options.json:
        print(compare_reports(before, report))
    return 0 if report["totals"]["solved"] == report["totals"]["runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
