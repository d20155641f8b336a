"""Real screens in another language: every sentence is in the catalogue, and none is sent to the model."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.checks.checkers import CHECKER_PROGRAMS
from clio.config.command_line import SUBCOMMANDS
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.support.chat_server import ChatServer, error, text, tool_calls
from tests.support.harness import make_repository
from tests.support.pseudo_language import LETTERS, accent, write_pseudo_language
from tests.support.pty_session import PtySession

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

# Without these, a screen contains only accented letters: they are data, names, and typed text.
_DATA = (
    r"`[^`\n]*`",  # code
    r"\S*[/~]\S*",  # paths, addresses, commands with a slash
    r"--?\w[\w-]*(?:[ =][A-Z|]+\b)?",  # options
    r"\w+[._]\w+(?:[._]\w+)*",  # file names, settings
    r"'[^'\n]*'|“[^”\n]*”",  # quoted values
    r"\bclio(?: (?:[a-z|]+|[A-Z…]+))*",  # the program and its commands
    r"\[[^\]\n]*\]",  # the placeholder of an argument
    r"\b[A-Z]+\b…?",
    r"\b[A-Z]-\w+|\b(?:tab|esc|enter|ctrl|space)\b",
    r"\b\w+\|[\w|]+",
    r"\b(?:[0-9.,]+ ?(?:s|ms|h|min|[kMG]?B|x|d|k)?)\b",
    r"[$:@#]\w+",
)
_WORD = re.compile(r"[A-Za-z]{3,}")
# Words that are names themselves: modes, servers, programs, encodings, severities.
_NAMES = frozenset(
    """
    acp aider all alt backspace ctrl exit mkfs keys shift space vectors
     aloud anthropic ask auto autonomous background bash bear branch bwrap chat claude clio codex coding
    conversation convex dark edits end enter esc escape fact facts fish fix found gemini git hnsw key landlock light
    linux main mcp medium messages model minimal name node none note off offline ollama openai plan preference project
    python responses ripgrep rrf ruff sandbox seatbelt self session shell solution standard stdio style styles tab test
    text user utf uv vi vim workflow yes yaml zed zsh low high xhigh max default x86 kernel glibc with event events
    habit aversion taboo keyring sync team telemetry worktree
    pyright langserver rust gopls clangd jdtls typescript
    notes pattern failure rule discovery keyed git-lfs http https json html markdown stream csv bytes
    """.split()
).union(*(subcommand.name.split("-") for subcommand in SUBCOMMANDS), (checker.name for checker in CHECKER_PROGRAMS))


def plain_words(shown: str, data: frozenset[str] = frozenset()) -> list[str]:
    """Return the lines with a word that is neither translated nor data."""
    found: list[str] = []
    for line in shown.splitlines():
        rest = line
        for pattern in _DATA:
            rest = re.sub(pattern, " ", rest)
        words = [word for word in _WORD.findall(rest) if word.lower() not in _NAMES | data]
        if words:
            found.append(f"{line.strip()[:120]}   <- {' '.join(words)}")
    return found


@pytest.fixture(scope="module")
def pseudo(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_pseudo_language(tmp_path_factory.mktemp("language") / "pseudo.po"))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--nonsense",
        "-c -p x",
        "memory --help",
        "prefs --help",
        "sessions --help",
        "doctor",
        "config path",
        "memory stats",
        "memory wipe",
        "memory log",
        "prefs info",
        "cost",
        "style",
        "docs list",
        "gc",
        "sessions show nothing",
        "note show nothing",
        "mcp show nothing",
    ],
)
def test_no_sentence_of_a_command_bypasses_the_catalogue(tmp_path: Path, words: str, pseudo: str) -> None:
    place = make_place(tmp_path)
    done = clio(place, *words.split(), CLIO_LANGUAGE=pseudo)
    shown = done.stdout + done.stderr
    assert LETTERS & set(shown)
    assert "\n".join(plain_words(shown)) == ""


@posix_only
def test_no_sentence_of_a_screen_bypasses_the_catalogue_and_none_reaches_the_model(
    tmp_path: Path, server: ChatServer, pseudo: str
) -> None:
    place = Place(tmp_path / "home" / "shop", tmp_path / "home", server)
    make_repository(place.project, {"prices.py": "total = 1\n"})
    server.add(
        tool_calls(
            (
                ("read_file", {"path": "prices.py"}),
                ("read_file", {"path": "missing.py"}),
                ("todo_operations", {"operation": "write", "todos": [{"title": "7"}]}),
            )
        ),
        tool_calls((("write_file", {"path": "prices.py", "content": "total = 2\n"}),)),
        tool_calls((("run_command", {"command": "rm -r /tmp/nothing-here; exit 3"}),)),
        tool_calls((("web_fetch", {"url": "http://127.0.0.1:9/"}), ("run_command", {"command": "mkfs /dev/sda"}))),
        text("9"),
        error(401, {"error": {"message": "0"}}),
    )
    with place.clio(columns=100, lines=45, CLIO_LANGUAGE=pseudo) as session:
        session.wait_for(r"test-model · ask", regex=True)
        session.line("8?")
        session.wait_for(accent("overwrite"))
        session.wait_for(accent("no, and say why"))
        session.send("y")
        session.wait_for("exit 3")
        session.wait_for_screen("› n " + accent("no, and say why"))
        session.send("n")
        session.wait_for(accent("why not"))
        session.send("\r")
        session.wait_for(r"(?m)^[ ●◆]*9$", regex=True)
        at_pseudo_prompt(session)
        for line in (
            "/help",
            "/help keys",
            "/context",
            "/cost",
            "/memory",
            "/diff",
            "/undo",
            "/frob",
            "8!",
        ):
            session.line(line)
            session.wait_for(f"❯ {line}")
            at_pseudo_prompt(session)
        session.wait_for("401: ")
        at_pseudo_prompt(session)
        shown = session.everything
        session.key("ctrl-d")
        assert session.wait_exit() == 0
    data = frozenset("prices missing total mcp nothing shop frob web fetch".split())
    assert "\n".join(plain_words(shown, data)) == ""
    assert len(server.requests) > 4
    for request in server.requests:
        sent = json.dumps(request.body, ensure_ascii=False)
        assert not LETTERS & set(sent), sent


def at_pseudo_prompt(session: PtySession) -> None:
    """Wait until no turn runs and the line is empty, with the status line below it."""
    idle = r"\A(?![\s\S]*" + accent("to interrupt") + r")[\s\S]*❯ "
    session.wait_for_screen(idle + accent("Ask clio") + r"[^\n]*\n+[^\n]*test-model · [^\n]*\Z")


def test_tables_of_memory_are_german_and_kinds_may_be_typed_so(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    env = {"LANG": "de_DE.UTF-8"}
    for words in ("solution LinkError => make clean", "we deploy with make ship"):
        clio(place, "memory", "add", *words.split(), **env)
    clio(place, "memory", "remember", "never use tabs in this project", "--type", "auto", **env)
    clio(place, "note", "set", "plan", "Freitag", **env)
    shown = {
        name: clio(place, "memory", *name.split(), **env).stdout
        for name in ("stats", "list", "changes", "list Lösung", "list Schlüsselnotiz")
    }
    assert not re.search(r"\b(?:fact|solution|keyed note|a day|older|learned)\b", "".join(shown.values()))
    assert re.search(r"^s-\w+ +Lösung +LinkError", shown["list Lösung"], re.M)
    assert "1 Erinnerung" in shown["list Schlüsselnotiz"] and "Freitag" in shown["list Schlüsselnotiz"]


def test_what_is_learned_from_a_message_is_reported_in_german(tmp_path: Path) -> None:
    with ChatServer([text("Gut.")]) as server:
        place = make_place(tmp_path, server)
        shown = clio(place, "-p", "Verwende hier niemals Tabs.", LANG="de_DE.UTF-8").stderr
    assert "feste Grenze" in shown and "Projekt" in shown
    assert "hard limit" not in shown and "project" not in shown
