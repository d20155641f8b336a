"""The `clio` command: parse the flags, select an entry point, turn each error into one sentence and an exit code.

Imports are inside the functions, because `clio --version` needs none of them and the prompt appears before the
configuration is read.
"""

import atexit
import gc
import os
import sys

from clio import __version__
from clio.text.translation import choose_language, tr

TYPE_CHECKING = False  # same effect as typing's, without the import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn, TextIO

    from clio.config.command_line import Arguments
    from clio.config.options import Options

FAILED, WRONG_USAGE, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
MAX_PIPED_BYTES = 16_000_000
PIPED_TAG = "piped_text"
PIPE_HINT_DELAY_S = 3.0
JOB_STARTERS = {"__job": 2, "__schedule": 3}
"""Words with which clio, cron or systemd starts the process of a job, and how many arguments there are then."""
GC_THRESHOLDS = (100_000, 50, 100)
"""Python's default (700, 10, 10) collects 600 times during the imports and finds nothing: 50 ms."""


def main(argv: list[str] | None = None) -> int:
    """Run clio with these arguments (default: those of the process) and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    gc.set_threshold(*GC_THRESHOLDS)
    if os.name == "nt":
        from clio.threads import avoid_current_folder

        avoid_current_folder(os.environ)
    try:
        if arguments == ["--version"]:
            print(f"clio {__version__}")
            code = 0
        elif arguments[:1] == ["__complete"]:
            from clio.entrypoints.completions import listing

            code = listing.list_completions(arguments[1:], os.environ)
        elif arguments and len(arguments) == JOB_STARTERS.get(arguments[0]):
            code = _run_job(arguments)
        else:
            try:
                code = _dispatch(arguments)
            finally:
                _print_damage_notes()
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return PIPE_CLOSED
    except Exception as error:  # outermost boundary: otherwise the user would see Python's traceback
        return report_error(error, arguments)
    return code


def command() -> "NoReturn":
    """Run `main` as the `clio` script does, then exit without Python's own cleanup.

    Python would unload a thousand modules one by one, which delays the shell's prompt by 90 ms. By then all files
    are closed and flushed, and the registered exit functions have run.
    """
    code = main()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  # multiprocessing leaves this way too
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except (OSError, ValueError):
            code = code or FAILED  # the reader closed the pipe, or the disk of a redirected output is full
    os._exit(code)


def _dispatch(argv: list[str]) -> int:
    from clio.config import command_line
    from clio.config.command_line import find_subcommand

    for stream in (sys.stdout, sys.stderr):
        # A character the terminal or pipe cannot encode is printed as a question mark instead of raising an error.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
    choose_language(os.environ)  # for what is printed before the configuration is read
    arguments = command_line.parse_arguments(argv)
    _import_msgspec()  # before the first module that imports it
    _refuse_inside_run(arguments)
    starts_mcp_server = tuple(arguments.words) == ("mcp",) and not arguments.help
    if tuple(arguments.words[:1]) == ("mcp",) and "--http" in arguments.words and not arguments.help:
        return _run_mcp_over_http(arguments)
    prints_config = tuple(arguments.words[:1]) == ("config",) and not arguments.help
    prints_config = prints_config and not set(arguments.words[1:2]) & set(command_line.CONFIG_CHANGES)
    if arguments.words and find_subcommand(arguments.words[0]) and not (starts_mcp_server or prints_config):
        return _run_subcommand(arguments)
    if arguments.help and list(arguments.words) == ["acp"]:
        from clio.entrypoints.acp.server import HELP
        from clio.ui.terminal_text import print_help

        print_help(tr(HELP))
        return 0
    if arguments.help:
        from clio.config.command_line import command_help_text, help_text
        from clio.ui.terminal_text import print_help

        print_help(command_help_text(arguments.words) if arguments.words else help_text())
        return 0
    if arguments.version:
        print(_format_version_json() if arguments.json else f"clio {__version__}")
        return 0
    if arguments.words:
        commands = {
            "acp": _run_acp,
            "completions": _print_completions,
            "doctor": _run_doctor,
            "init": _run_init,
            "mcp": _run_mcp,
            "upgrade": _run_upgrade,
        }
        return commands.get(arguments.words[0], _run_config_command)(arguments)
    if arguments.prompt is not None or arguments.input is not None or not _is_terminal(sys.stdin):
        return _run_one_shot(arguments)
    return _run_repl(arguments)


def _refuse_inside_run(arguments: "Arguments") -> None:
    """Refuse what may change what clio trusts, remembers or runs if a command of a running clio started this process.

    A script of a project could otherwise act as the user, who has allowed no more than the command that runs it.
    Conversations are not refused, but save nothing (see `load_config`). Raises UsageError.
    """
    from clio.config.command_line import is_reading_call
    from clio.config.paths import clio_home
    from clio.errors import UsageError
    from clio.threads import is_in_clio_command

    words = arguments.words
    if not words or arguments.help or words[0] == "acp" or is_reading_call(words):
        return
    if is_in_clio_command(clio_home(os.environ), os.environ):
        name = " ".join(words[:2] if not "".join(words[1:2]).startswith("-") else words[:1])
        raise UsageError(
            tr(
                "a command of a running clio started 'clio {name}', and only you may do that: "
                "run it in a terminal of your own, or type it as a slash command",
                name=name,
            )
        )


def _import_msgspec() -> None:
    """Import msgspec without `typing_extensions`, of which it needs only names that `typing` has since Python 3.11.

    That saves 1.6 % of the instructions of a question. A module that is None in `sys.modules` cannot be imported.
    """
    if "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        __import__("msgspec")
    finally:
        del sys.modules["typing_extensions"]


def _run_job(arguments: "Sequence[str]") -> int:
    """Run the job that `clio jobs start` has stored in a folder, or one of a schedule: its parent folder, its number.

    This process was started for nothing else.
    """
    from pathlib import Path

    _import_msgspec()
    choose_language(os.environ)
    from clio.config.command_line import Arguments
    from clio.entrypoints import job_process, uncaught_errors

    _refuse_inside_run(Arguments(words=arguments[:1]))
    with uncaught_errors.report_errors_redacted(arguments[:1]):
        if arguments[0] == "__job":
            return job_process.run_job_process(Path(arguments[1]))
        return job_process.run_scheduled_job(Path(arguments[1]), arguments[2])


def _run_repl(arguments: "Arguments") -> int:
    from clio.entrypoints import first_paint

    options = _make_options(arguments) if arguments.worktree is not None else None
    first_paint.paint_prompt(
        color=not arguments.no_color, aloud=first_paint.may_use_screen_reader(arguments.screen_reader)
    )
    try:
        from clio.config.layers import load_config

        options = options or _make_options(arguments)
        loaded = load_config(options, os.environ)
        from clio.entrypoints import uncaught_errors
        from clio.entrypoints.repl import repl

        with uncaught_errors.report_errors_redacted(sys.argv[1:]):
            return repl.run_repl(options, loaded)
    except BaseException:
        first_paint.restore_terminal()  # the error message then begins on a line of its own
        raise


def _run_one_shot(arguments: "Arguments") -> int:
    from clio.config.layers import load_config
    from clio.config.options import with_prompt
    from clio.config.trust import is_trust_note_due, should_ask_for_trust
    from clio.context.workspace_state import get_working_tree

    options = _make_options(arguments)
    loaded = load_config(options, os.environ)
    if (needs_trust := should_ask_for_trust(loaded)) or loaded.problems:
        from clio.config.show import list_start_notes
        from clio.ui.safe_text import escape_controls
        from clio.ui.terminal_text import print_error

        notes = list_start_notes(loaded, names_withheld=is_trust_note_due(loaded)) if needs_trust else loaded.problems
        for sentence in notes:
            print_error(escape_controls(sentence))
    get_working_tree(loaded.project).read_ahead()  # git runs in the background while everything else is imported
    if options.continue_latest or options.resume is not None:
        # Before the prompt is read: a missing session is no fault of the prompt.
        from clio.sessions.store import open_session_store

        open_session_store(loaded).find_requested(options.resume, continue_latest=options.continue_latest)
    reads_lines = options.input == "stream-json"  # the input is not one prompt but many lines
    options = with_prompt(options, arguments.prompt or "" if reads_lines else read_whole_prompt(arguments.prompt or ""))
    from clio.entrypoints import oneshot, uncaught_errors

    with uncaught_errors.report_errors_redacted(sys.argv[1:]):
        return oneshot.run_oneshot(options, loaded)


def _make_options(arguments: "Arguments") -> "Options":
    """Return the options of a conversation; creates the worktree it is to start in."""
    from clio.config.options import make_options

    options = make_options(arguments)
    if arguments.worktree is None:
        return options
    from clio.entrypoints.project_setup import enter_worktree

    return enter_worktree(options, arguments.worktree)


def _run_subcommand(arguments: "Arguments") -> int:
    from clio.entrypoints import subcommand

    if arguments.help:
        from clio.ui.terminal_text import print_help

        print_help(subcommand.format_help(arguments.words[0]))
        return 0
    from clio.config.layers import load_config
    from clio.config.options import make_options

    options = make_options(arguments)
    loaded = load_config(options, os.environ)
    if arguments.words[0] == "auth":
        from clio.entrypoints import key_login

        return key_login.run_auth(loaded, arguments.words[1:], os.environ)
    if arguments.words[0] == "team-server":
        _warn_about_password(arguments.words)
    if arguments.words[0] == "gc":
        from clio.entrypoints import disk_usage

        return disk_usage.run_gc(loaded, arguments.words[1:], json=arguments.json)
    if arguments.words[0] == "import":
        from clio.entrypoints import importing

        return importing.run_import(loaded, arguments.words[1:], json=arguments.json)
    if (words := _get_plugin_words(arguments.words)) is not None:
        from clio.entrypoints import plugins

        return plugins.run_plugin(loaded, words, json=arguments.json)
    shows_memory = arguments.words[0] in ("memory", "note", "notes", "recall")
    if loaded.has_foreign_memory and shows_memory and (arguments.json or loaded.memory_doubt):
        from clio.config.show import describe_foreign_memory
        from clio.ui.terminal_text import print_error

        print_error(describe_foreign_memory(loaded))
    return subcommand.run_subcommand(options, loaded, arguments.words, json=arguments.json)


def _warn_about_password(words: "Sequence[str]") -> None:
    from clio.commands.team_commands import describe_visible_password
    from clio.ui.terminal_text import print_error

    if warning := describe_visible_password(words):
        print_error(warning)


def _get_plugin_words(words: "Sequence[str]") -> "Sequence[str] | None":
    """Return the words of a command that changes plugins, without the sub-command's name; None for any other."""
    if words[0] in ("plugin", "plugins") and words[1:2] and words[1] in ("add", "update", "remove"):
        return words[1:]
    if words[0] in ("skill", "skills") and words[1:2] == ("add",):
        return ("add-skills", *words[2:])
    return None


def _run_config_command(arguments: "Arguments") -> int:
    from clio.config import show
    from clio.config.layers import load_config
    from clio.config.options import make_options
    from clio.config.trust import trust_project
    from clio.ui.safe_text import escape_controls, escape_json_controls
    from clio.ui.terminal_text import print_text

    loaded = load_config(make_options(arguments), os.environ)
    match arguments.words[1]:
        case "show" if arguments.json:
            print(escape_json_controls(show.format_config_json(loaded)))
        case "show":
            print_text(escape_controls(show.format_config(loaded)))
        case "path":
            print_text(escape_controls(show.format_config_files(loaded)))
        case _:
            from msgspec.structs import replace

            from clio.commands.settings_commands import list_waiting_for_trust, list_waiting_programs

            loaded = replace(
                loaded, withheld=(*loaded.withheld, *list_waiting_for_trust(loaded), *list_waiting_programs(loaded))
            )
            print_text(escape_controls(show.format_trust(loaded)))
            if loaded.withheld:
                trust_project(loaded)
    return 0


def _run_doctor(arguments: "Arguments") -> int:
    from clio.config.options import make_options
    from clio.entrypoints.doctor import report

    return report.run_doctor(
        make_options(arguments),
        os.environ,
        fetch=arguments.fetch_encodings,
        live=arguments.live,
        json=arguments.json,
    )


def _run_upgrade(arguments: "Arguments") -> int:
    from clio.entrypoints import upgrade

    return upgrade.run_upgrade(os.environ, check=arguments.check, yes=arguments.yes, json=arguments.json)


def _format_version_json() -> str:
    from clio.installation import find_installation, format_version_json

    return format_version_json(__version__, find_installation())


def _print_completions(arguments: "Arguments") -> int:
    from clio.entrypoints.completions.scripts import make_completion_script

    print(make_completion_script(arguments.words[1]), end="")
    return 0


def _run_init(arguments: "Arguments") -> int:
    from clio.config.layers import load_config
    from clio.config.options import make_options
    from clio.entrypoints import project_setup

    loaded = load_config(make_options(arguments), os.environ)
    return project_setup.run_init(loaded, os.environ, yes=arguments.yes, dry_run=arguments.dry_run)


def _run_mcp(arguments: "Arguments") -> int:
    from clio.config.layers import load_config
    from clio.config.options import make_options
    from clio.entrypoints import mcp_server, uncaught_errors

    with uncaught_errors.report_errors_redacted(sys.argv[1:]):
        return mcp_server.run_mcp_server(
            load_config(make_options(arguments), os.environ), read_only=arguments.read_only
        )


def _run_mcp_over_http(arguments: "Arguments") -> int:
    from clio.config.layers import load_config
    from clio.config.options import make_options
    from clio.entrypoints import mcp_http, uncaught_errors

    with uncaught_errors.report_errors_redacted(sys.argv[1:]):
        options = mcp_http.parse_http_options(arguments.words[1:])
        if options.database:
            from clio.commands.team_commands import open_database
            from clio.entrypoints import team_server

            _warn_about_password(arguments.words)
            database = open_database(options.database)
            try:
                return team_server.run_team_server(load_config(make_options(arguments), os.environ), options, database)
            finally:
                database.close()
        return mcp_http.run_http_server(load_config(make_options(arguments), os.environ), options)


def _run_acp(arguments: "Arguments") -> int:
    from clio.config.options import make_options
    from clio.entrypoints import uncaught_errors
    from clio.entrypoints.acp import server as acp_server

    with uncaught_errors.report_errors_redacted(sys.argv[1:]):
        return acp_server.run_acp_server(make_options(arguments))


def read_whole_prompt(text: str) -> str:
    """Return the prompt of a one-shot run: the flag's text, then an empty line, then the piped text between tags.

    The tags tell the model and the memory that a log or a page which is piped in is data: nothing in it is a statement
    of the user. Without a text in the flag, the piped text is the user's prompt.

    Raises UsageError if both are blank, or if more than MAX_PIPED_BYTES were piped.
    """
    from clio.config.command_line import decode_argument
    from clio.errors import UsageError

    flag_text = "" if text == "-" else decode_argument(text)
    piped = _read_piped_text()
    if flag_text.strip() and piped.strip():
        from clio.text.untrusted_text import neutralize_closing_tags

        piped = f"<{PIPED_TAG}>\n{neutralize_closing_tags(piped, PIPED_TAG)}\n</{PIPED_TAG}>"
    prompt = "\n\n".join(part for part in (flag_text, piped) if part.strip())
    if not prompt:
        raise UsageError(tr("the prompt is empty; write it after -p, pipe text in, or run clio in a terminal"))
    return prompt


def _read_piped_text() -> str:
    from clio.errors import UsageError

    if sys.stdin is None or _is_terminal(sys.stdin):
        return ""
    try:
        _print_pipe_hint()
        data = sys.stdin.buffer.read(MAX_PIPED_BYTES + 1)
    except OSError as error:
        raise UsageError(
            tr("standard input cannot be read: {strerror}; close it with < /dev/null", strerror=error.strerror)
        ) from None
    if len(data) > MAX_PIPED_BYTES:
        raise UsageError(
            tr(
                "more than {max_piped_bytes:,} bytes were piped in; give a file's path in the prompt instead",
                max_piped_bytes=MAX_PIPED_BYTES,
            )
        )
    return data.decode("utf-8-sig", "replace").rstrip("\n")


def _print_pipe_hint() -> None:
    """Print a hint if standard input is an open pipe that sends nothing, because clio waits for its end."""
    if os.name == "nt":  # select only accepts sockets there
        return
    import select

    if not select.select([sys.stdin], [], [], PIPE_HINT_DELAY_S)[0]:
        from clio.ui.terminal_text import print_error

        print_error(tr("waiting for standard input; add < /dev/null if there is none"))


def _print_damage_notes() -> None:
    """Print notes about damaged files that were copied aside and not reported yet; turns report their own."""
    if damage := sys.modules.get("clio.storage.jsonl"):  # not imported: no such file was read
        for sentence in damage.pop_damage_notes():
            from clio.ui.safe_text import escape_controls
            from clio.ui.terminal_text import print_error

            print_error(escape_controls(sentence))


def report_error(error: BaseException, argv: list[str]) -> int:
    """Print in one sentence on standard error why the program ended; return the exit code."""
    from clio.entrypoints.uncaught_errors import make_redactor
    from clio.errors import ClioError, SessionNotFound
    from clio.storage.locks import NO_SPACE_ERRNOS, format_os_error
    from clio.ui.terminal_text import print_error

    redact = make_redactor(argv)  # an error may quote a file, a server or a setting
    while len(members := _list_error_members(error)) == 1:
        error = members[0]
    debug = "--debug" in argv or os.environ.get("CLIO_DEBUG", "").strip().lower() in ("1", "true", "yes", "on")
    if debug:
        import traceback

        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    if isinstance(error, SessionNotFound):  # the store's message already names the command that lists sessions
        from clio.text.formatting import replace_slash_commands

        print_error(redact(replace_slash_commands(str(error))))
        return error.exit_code
    if isinstance(error, ClioError):
        print_error(redact(str(error)))
        return error.exit_code
    if isinstance(error, OSError) and error.errno in NO_SPACE_ERRNOS:  # such as `clio -p … > /a/full/disk`
        print_error(redact(format_os_error(error)))
        return FAILED
    message = " ".join(redact(str(error)).split())[:300]
    advice = (
        tr("please report it together with the lines above") if debug else tr("run again with --debug for a traceback")
    )
    print_error(
        tr("this is a bug in clio: {name}: {value}; {advice}", name=type(error).__name__, value=message, advice=advice)
    )
    return FAILED


def _list_error_members(error: BaseException) -> "tuple[BaseException, ...]":
    """Return the errors of a task group; an empty tuple for any other error."""
    return getattr(error, "exceptions", ())


def _is_terminal(stream: "TextIO | None") -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _discard_output() -> None:
    """Discard buffered output whose reader has closed the pipe: flushing it at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
