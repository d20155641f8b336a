"""Renders all memories as one HTML page that loads nothing from the network and is readable without scripts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from clio.export.document import format_clock, format_machine_time, format_minute
from clio.export.export_session import ExportCleaner
from clio.export.html_page import hash_for_policy, read_asset
from clio.memory.store.record import get_kind_label
from clio.text.translation import get_language, mark, tr, tr_count

_FILE_STATES = {
    "fresh": mark("unchanged"),
    "drifted": mark("changed"),
    "gone": mark("missing"),
    "unbound": mark("not compared"),
}
_STATES = {
    "live": mark("in use"),
    "variant": mark("other sources say"),
    "superseded": mark("replaced"),
    "archived": mark("archived"),
}
_ENDED = {
    "old": mark("not confirmed for a long time"),
    "uncertain": mark("too uncertain"),
    "joined": mark("merged"),
    "forgotten": mark("forgotten"),
    "edited": mark("edited"),
    "superseded": "replaced",
}


def render_memory_page(
    memory: Mapping[str, Any], *, project: str, warning: str, redact: Callable[[str], str], now: float
) -> str:
    """Return the page. The same memories and time give the same bytes.

    Args:
        memory: {"memories": [...], "changes": [...]} as `collect_memory` in `clio.commands.memory.portability` returns.
        warning: shown above the memories, for memory that came with the repository; "" for none.
        redact: removes secrets from a text.
        now: seconds since the epoch.
    """
    clean = ExportCleaner(redact, spell_out=True).value(dict(memory))
    name = ExportCleaner(redact, spell_out=True).text(project)
    memories: list[dict[str, Any]] = clean["memories"]
    changes: list[dict[str, Any]] = clean["changes"]
    anchors = {one["id"]: f"m{number}" for number, one in reversed(list(enumerate(memories)))}
    style, script = read_asset("page.css") + read_asset("memory_page.css"), read_asset("memory_page.js")
    policy = (
        f"default-src 'none'; style-src '{hash_for_policy(style)}'; script-src '{hash_for_policy(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    live = sum(one["state"] == "live" for one in memories)
    parts = [
        f'<!doctype html>\n<html lang="{get_language()}">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n',
        f"<title>{tr('Memory of {name}', name=escape(name))}</title>\n",
        f"<style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n",
        f'<a class="skip" href="#memories">{tr("Skip to the memories")}</a>\n',
        f'{_render_tools(memories)}\n<main class="page">\n',
        f'<header class="head"><p class="kicker">clio · {tr("memory")}</p><h1>{escape(name)}</h1>\n',
        f"""<p class="sum">{tr_count(len(memories), "memory", "memories")}, {tr("{live:,} in use", live=live)}</p>\n""",
        f'<p class="warning" role="note">{escape(warning)}</p>\n' if warning else "",
        f'</header>\n<nav class="views" aria-label="{tr("Views")}"><a href="#memories">{tr("Memories")}</a>',
        f"""<a href="#timeline">{tr("Timeline")} · {tr_count(len(changes), "change")}</a></nav>\n""",
        f'<p class="none" id="none" role="status" hidden>{tr("No matches.")}</p>\n',
        f'<section id="memories" aria-label="{tr("Memories")}">\n',
        *(_render_memory(one, f"m{number}", anchors) for number, one in enumerate(memories)),
        "" if memories else f'<p class="none">{tr("No memories yet.")}</p>\n',
        "</section>\n",
        *_render_timeline(changes, anchors),
        "<footer><p>",
        tr(
            "Written {time} UTC by clio. Times are in UTC. Secrets known to clio are removed; "
            "check the page before you share it.",
            time=format_minute(now),
        ),
        "</p></footer>\n",
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def _render_tools(memories: Sequence[Mapping[str, Any]]) -> str:
    return (
        '<div class="tools" role="search">'
        f'<input type="search" id="find" placeholder="{tr("Search memories")}" aria-label="{tr("Search memories")}" '
        'autocomplete="off" spellcheck="false">'
        f"{_render_filter('kind', tr('All kinds'), memories)}{_render_filter('scope', tr('All scopes'), memories)}"
        f"{_render_filter('state', tr('All states'), memories)}"
        '<output id="hits" aria-live="polite"></output></div>'
    )


def _render_filter(name: str, everything: str, memories: Sequence[Mapping[str, Any]]) -> str:
    values = dict.fromkeys(str(one[name]) for one in memories)
    options = "".join(f'<option value="{escape(value)}">{escape(_format_name(value))}</option>' for value in values)
    return f'<select id="{name}" aria-label="{name.title()}"><option value="">{everything}</option>{options}</select>'


def _render_memory(memory: Mapping[str, Any], anchor: str, anchors: Mapping[str, str]) -> str:
    state = str(memory["state"])
    because = tr(_ENDED.get(memory["because"], str(memory["because"] or "")))
    ended = f": {because}" if because and because != state else ""
    badge = "" if state == "live" else f'<span class="badge ended">{escape(tr(_STATES[state]) + ended)}</span>'
    if trust := memory["trust"]:
        badge += f'<span class="badge{"" if trust == "unverified" else " confirmed"}">{escape(trust)}</span>'
    name = memory["id"] if memory["is_named"] else memory["id"][-8:]
    return (
        f'<article class="memory {escape(state)}" id="{anchor}" data-kind="{escape(memory["kind"])}" '
        f'data-scope="{escape(memory["scope"])}" data-state="{escape(state)}">'
        f'<h2><span class="kind">{escape(_format_name(memory["kind"]))}</span>'
        f'<span class="id">{escape(name)}</span>{badge}'
        f'<a class="link" href="#{anchor}" aria-label="{tr("Link to this memory")}">#</a></h2>'
        f'<p class="plain">{escape(memory["text"])}</p>'
        f"{_render_other(tr('Replaced by'), memory['replaced_by'], anchors)}"
        f"{_render_other(tr('Contradicted by'), memory['against'], anchors)}"
        f'<p class="about">{" · ".join(_list_facts(memory))}</p>{_render_files(memory["files"])}'
        f"{_render_versions(memory['versions'])}</article>\n"
    )


def _format_name(value: str) -> str:
    """Return a kind or a state as it is shown."""
    return tr(_STATES.get(value) or {"limit": "hard limit"}.get(value) or get_kind_label(value))


def _list_facts(memory: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is known about a memory, as HTML; what is unknown is left out."""
    if memory["by"]:
        yield tr("stated by {author}", author=escape(memory["by"]))
    if memory["session"]:
        yield tr("in {place}", place=escape(memory["session"]))
    yield tr("{kind} memory", kind=escape(tr(memory["scope"])))
    if memory["score"] is not None:
        yield tr("score {memory:g} of 10", memory=memory["score"])
    if memory["confidence"] is not None:
        yield tr("confidence {memory:.0%}", memory=memory["confidence"])
    if memory["importance"] is not None:
        yield tr("importance {memory:.0%}", memory=memory["importance"])
    if memory["created"] and not memory["is_named"]:
        yield tr("learned {time}", time=_render_time(memory["created"]))
    is_later = format_minute(memory["confirmed"] or 0) != format_minute(memory["created"] or 0)
    if memory["confirmed"] and (memory["is_named"] or is_later):
        yield f"{tr('saved') if memory['is_named'] else tr('confirmed')} {_render_time(memory['confirmed'])}"
    if memory["times"] > 1:
        yield tr("stated {memory:,} times", memory=memory["times"])
    if memory["uses"]:
        yield tr("used {times}", times=tr_count(memory["uses"], "time"))


def _render_time(seconds: float) -> str:
    return f'<time datetime="{format_machine_time(seconds)}">{format_minute(seconds)}</time>'


def _render_other(label: str, other: Mapping[str, str] | None, anchors: Mapping[str, str]) -> str:
    if other is None:
        return ""
    text = escape(other["text"] or other["id"])
    anchor = anchors.get(other["id"])
    return f'<p class="other">{label}: {f"""<a href="#{anchor}">{text}</a>""" if anchor else text}</p>'


def _render_files(files: Sequence[Mapping[str, str]]) -> str:
    rows = "".join(
        f'<li><code>{escape(file["path"])}</code> <span class="drift {escape(file["state"])}">'
        f"{tr(_FILE_STATES[file['state']])}</span></li>"
        for file in files
    )
    return f'<ul class="files" aria-label="{tr("Files")}">{rows}</ul>' if rows else ""


def _render_versions(versions: Sequence[Mapping[str, Any]]) -> str:
    """Return the versions of a memory; "" if there is only one."""
    if len(versions) < 2:
        return ""
    rows = "".join(
        f'<li><p class="plain">{escape(version["text"])}</p><small>{escape(_describe_span(version))}</small></li>'
        for version in versions
    )
    return f"<details><summary>{tr_count(len(versions), 'version')}</summary><ol>{rows}</ol></details>"


def _describe_span(version: Mapping[str, Any]) -> str:
    since = format_minute(version["since"]) if version["since"] else tr("unknown")
    until = tr("now") if version["until"] is None else format_minute(version["until"])
    because = tr(_ENDED.get(version["because"], str(version["because"] or "")))
    return " · ".join(part for part in (f"{since} – {until}", because, version["by"]) if part)


def _render_timeline(changes: Sequence[Mapping[str, Any]], anchors: Mapping[str, str]) -> Iterator[str]:
    """Yield what was learned, changed and archived, newest day first."""
    yield f'<section id="timeline" aria-label="{tr("Timeline")}"><h2>{tr("Timeline")}</h2>\n'
    for day, of_day in groupby(changes, key=lambda change: format_minute(change["at"])[:10] if change["at"] else ""):
        yield f'<div class="day"><h3>{day or tr("Date unknown")}</h3><ol>'
        for change in of_day:
            anchor = anchors.get(change["id"])
            text = escape(change["text"])
            content = f'<a href="#{anchor}">{text}</a>' if anchor else text
            before = change["before"]
            if before and before != change["text"]:
                content += f' <span class="before">{tr("before:")} {escape(before)}</span>'
            clock = f"<time>{format_clock(change['at'])[:5]}</time>" if change["at"] else ""
            yield (
                f'<li data-kind="{escape(change["kind"])}">{clock}'
                f'<span class="what">{escape(change["action"])} · {escape(_format_name(change["kind"]))}</span>'
                f'<span class="change">{content}</span></li>'
            )
        yield "</ol></div>\n"
    yield "</section>\n"
