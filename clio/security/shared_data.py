"""Commands that mode "all" asks about because they remove system packages or data that other projects may use."""

import re
from collections.abc import Callable

from msgspec import Struct

from clio.security import command_risk
from clio.security.command_risk import has_option, judge_reading
from clio.security.data_tables import ByName, WordSet, load_tables
from clio.security.shell.command_line import STDIN_FROM_FILE, CommandLine, SimpleCommand, Word, word_set
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import is_wrapper
from clio.security.targets import list_operands, read_option_values
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr


class _EverydayCalls(Struct, frozen=True):
    """Everyday calls of programs that manage accounts, services and machines.

    Every other call of a listed program makes mode "all" ask.

    Attributes:
        everyday_verb: verbs, in any account program, that read or create something.
        account_programs: programs that manage accounts: their options with a value, and the most words that precede the
            verb.
        everyday_verbs: further verbs of one program.
        everyday_second_verbs: what may follow some of these verbs, by program and verb.
        gh_everyday_commands: sub-commands of gh by group. A group without any is harmless as a whole.
        gh_ending_commands: everyday work on the project's own repository, but not on another one (`-R`).
        everyday_arguments: programs that manage the machine or a server, with a pattern for the arguments of everyday
            calls, joined by blanks.
        administration_programs: programs that manage the machine, its services or other machines. Only calls that state
            a read-only action run.
        reading_arguments: the arguments of such a call.
        safe_methods: HTTP methods that neither remove nor replace data.
        method_options: options by which a program takes the method.
        data_ports: ports of databases, search engines and the container service, which other projects may use as well.
    """

    everyday_verb: LazyRegex
    account_programs: ByName[tuple[WordSet, int]]
    everyday_verbs: ByName[WordSet]
    everyday_second_verbs: ByName[ByName[WordSet]]
    aws_value_options: WordSet
    gh_everyday_commands: ByName[WordSet]
    gh_ending_commands: WordSet
    everyday_arguments: ByName[LazyRegex]
    administration_programs: WordSet
    reading_arguments: LazyRegex
    safe_methods: WordSet
    method_options: ByName[tuple[str, ...]]
    data_ports: WordSet


class _SharedDataTables(Struct, frozen=True):
    """Calls of package managers, containers, databases and clusters that remove nothing of other projects.

    The tables list what is harmless; every other sub-command of a listed program makes mode "all" ask.

    Attributes:
        harmless_package_commands: system package managers, with the sub-commands that remove nothing.
        removing_package_options: options that make a program remove packages or operate on system packages.
        harmless_package_options: package managers controlled by an option or first word, with those that remove and
            force nothing.
        language_package_managers: programs whose removing option matters only with a sub-command that removes packages.
        always_removing: programs that remove or replace data in every call, except with an option that only lists the
            actions.
        image_folders: paths at which a container has its program or temporary files.
        harmless_service_commands: programs whose data other projects may share, with the sub-commands that discard none
            of it.
        harmless_kubectl_words, harmless_redis_words: second words of sub-commands that remove nothing.
        harmful_sql_function: SQL functions with side effects, although `select` calls them.
        harmless_document_call: methods called in shells of document databases that remove nothing.
        project_tools: programs, besides build tools, whose operands are packages of the project, texts or file names.
        program_starters: programs and shell keywords one of whose operands is the name of a program.
        user_wide_removals: calls of project tools that change the user's accounts, or what is installed for all
            projects.
    """

    harmless_package_commands: ByName[WordSet]
    package_value_options: WordSet
    removing_options: LazyRegex
    dry_run_options: WordSet
    apt_programs: WordSet
    removing_package_options: ByName[LazyRegex]
    harmless_package_options: ByName[LazyRegex]
    language_package_managers: WordSet
    always_removing: WordSet
    container_commands: WordSet
    harmless_container_commands: ByName[WordSet]
    container_value_options: WordSet
    compose_value_options: WordSet
    container_clients: WordSet
    image_folders: LazyRegex
    volume_options: LazyRegex
    harmless_service_commands: ByName[WordSet]
    service_value_options: WordSet
    harmless_kubectl_words: ByName[WordSet]
    harmless_redis_words: ByName[WordSet]
    harmless_terraform_state: WordSet
    deleting_options: LazyRegex
    sql_client_options: ByName[tuple[str, ...]]
    harmless_sql: LazyRegex
    harmful_sql_function: LazyRegex
    sql_removal: LazyRegex
    document_shells: WordSet
    harmless_document_call: LazyRegex
    document_removal: LazyRegex
    removal_word: LazyRegex
    project_tools: WordSet
    program_starters: WordSet
    user_wide_removals: ByName[LazyRegex]


_CALLS = load_tables("everyday_calls", _EverydayCalls)
_TABLES = load_tables("shared_data", _SharedDataTables)
_LOCAL_SERVER = LazyRegex(
    r"(?:https?://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0|[\w-]+\.localhost)?(?P<port>:\d+)?(?:[/?].*)?"
)
_SQL_CALL = LazyRegex(r"\b([a-z_]\w*)\s*\(", re.IGNORECASE)
_QUOTED_SQL = LazyRegex(r"'[^']*'|\"[^\"]*\"")
_DOCUMENT_CALL = LazyRegex(r"([\w$]+|\])\s*\(")


def find_service_change(command: SimpleCommand) -> str:
    """Why a call may change more than the project; "" if it is everyday use, or the program is not listed here."""
    program, rest = command.program, command.words[1:]
    argv = command.argv[1:]
    fed = bool(command.upstream or command.stdin)
    if not argv:
        runs = fed and program in ("at", "batch", "iptables-restore", "ip6tables-restore")
        return tr("{program} runs the text it receives", program=program) if runs else ""
    if set(argv) & {"--help", "--version", "help"}:
        return ""
    judge = _JUDGES.get(program)
    if judge is not None:
        return judge(program, rest, argv)
    if program in _CALLS.account_programs:
        return _explain_account(program, rest)
    if program in _CALLS.administration_programs:
        checks = {
            "--check",
            "--syntax-check",
            "--list-hosts",
            "--list-tasks",
            "--dry-run",
            "localhost,",
            "ping",
            "setup",
        }
        reads = (program == "ansible" or program == "ansible-playbook") and checks & set(argv)
        if reads or _CALLS.reading_arguments.fullmatch(" ".join(argv)):
            return ""
        return tr("{program} {argv} changes more than this project", program=program, argv=argv[0])
    if (pattern := _CALLS.everyday_arguments.get(program)) and not pattern.fullmatch(" ".join(argv)):
        return tr("{program} {argv} changes more than this project", program=program, argv=argv[0])
    return ""


def _explain_account(program: str, rest: tuple[Word, ...]) -> str:
    """Why a call may change the contents of an account; "" if its verb is listed as reading or creating something."""
    valued, most = _CALLS.account_programs[program]
    operands = [word.text for word in list_operands(rest, valued)][:most]
    if program == "gcloud" and operands[:1] == ["run"]:
        operands = operands[1:]
    if program == "cdk" and "never" in (word.text for word in rest):
        return tr("cdk changes a cloud account without asking first")
    own = _CALLS.everyday_verbs.get(program, frozenset[str]())
    verbs = [text for text in operands if text in own or (_CALLS.everyday_verb.fullmatch(text) and "=" not in text)]
    changed = any(word.text in ("-d", "--delete", "-D") for word in rest) and program == "gsutil"
    if not operands or (verbs and not changed):
        return _explain_second_verb(program, operands)
    return tr(
        "{program} {operands} may change what other projects use", program=program, operands=" ".join(operands[:3])
    )


def _explain_second_verb(program: str, operands: list[str]) -> str:
    """Why a second verb after a listed one changes something: `wrangler d1 execute`, `vault kv delete`."""
    group = operands[0] if operands else ""
    second = operands[1] if len(operands) > 1 else ""
    seconds = _CALLS.everyday_second_verbs.get(program)
    if seconds is not None and group in seconds and second not in seconds[group]:
        return tr(
            "{program} {group} {second} may change what other projects use", program=program, group=group, second=second
        )
    return ""


def _explain_aws(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    """Why an aws call may change data in an account; "" for everyday calls."""
    operands = [word.text for word in list_operands(rest, _CALLS.aws_value_options)]
    service, action = (*operands, "", "")[:2]
    if service == "s3":
        reads = action in ("ls", "presign", "mb", "website") or (action in ("cp", "sync") and "--delete" not in argv)
        return "" if reads else tr("aws s3 {action} may change what other projects use", action=action)
    if not action or service in ("configure", "sso", "help", "login") or "--dry-run" in argv:
        return ""
    if _CALLS.everyday_verb.fullmatch(action) and "--overwrite" not in argv:
        return ""
    return tr("aws {service} {action} may change what other projects use", service=service, action=action)


def _explain_gh(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    """Why a gh call may change data on GitHub; "" for everyday calls."""
    operands = [word.text for word in list_operands(rest, word_set("-R --repo -H --hostname -q --jq -t --template"))]
    group, action = (*operands, "", "")[:2]
    if group == "api":
        method = _find_http_method(argv, ("-X", "--method")) or "GET"
        if any("mutation" in text for text in argv):
            return tr("gh api graphql changes data on GitHub")
        return (
            "" if method.upper() in _CALLS.safe_methods else tr("gh api {method} changes data on GitHub", method=method)
        )
    if not group or (
        group in _CALLS.gh_everyday_commands
        and (not _CALLS.gh_everyday_commands[group] or action in _CALLS.gh_everyday_commands[group] or not action)
    ):
        elsewhere = any(text.startswith(("-R", "--repo")) for text in argv)
        admin = (action == "merge" and "--admin" in argv) or (action == "sync" and "--force" in argv)
        if (action in _CALLS.gh_ending_commands and elsewhere) or admin:
            return tr(
                "gh {group} {action} changes another repository, or bypasses its rules", group=group, action=action
            )
        return ""
    return f"gh {group} {action} changes data on GitHub".replace("  ", " ")


def _explain_request(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    """Why an HTTP request may remove or replace data on a server."""
    method = _find_http_method(argv, _CALLS.method_options.get(program, ()))
    if program in ("http", "https", "xh"):
        method = next((text for text in argv if text.isalpha() and text.isupper()), "")
    sends = any(text.startswith(("-d", "--data", "--json", "-F", "--form", "--post-", "--body-")) for text in argv)
    addresses = [
        text
        for text in argv
        if not text.startswith("-")
        and _LOCAL_SERVER.fullmatch(text)
        and ("." in text or ":" in text or "local" in text)
    ]
    local = next((match for text in addresses if (match := _LOCAL_SERVER.fullmatch(text))), None)
    if method in ("", "GET", "HEAD", "OPTIONS") and not sends:
        return ""
    if any(text.startswith(("--unix-socket", "--abstract-unix-socket")) for text in argv):
        return tr("{program} may change data of a service on this machine", program=program)
    if local and local["port"] in _CALLS.data_ports and not any("_search" in text or "_count" in text for text in argv):
        return tr("{program} may change data in a data store on this machine", program=program)
    if local or method.upper() in (*_CALLS.safe_methods, ""):
        return ""
    return tr("{program} {method} may remove or replace data on a server", program=program, method=method)


def _explain_firewall(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    text = " ".join(argv)
    blocks = has_option(argv, "", ("policy",)) or "-P" in argv or "DROP" in argv or "REJECT" in argv
    return (
        tr("{program} {text} changes network settings", program=program, text=text[:40])
        if blocks and not ({"-L", "-S", "--list"} & set(argv))
        else ""
    )


def _find_http_method(argv: tuple[str, ...], options: tuple[str, ...]) -> str:
    """Return the HTTP method that options name, in upper case; "" for none."""
    for at, text in enumerate(argv):
        for option in options:
            if text == option or (
                len(option) == 2 and text[:1] == "-" and text[1:2] != "-" and text.endswith(option[1])
            ):
                return argv[at + 1].upper() if at + 1 < len(argv) else "?"
            if text.startswith(f"{option}="):
                return text.partition("=")[2].upper()
            if len(option) == 2 and text.startswith(option):
                return text[2:].upper()
    return ""


_JUDGES: dict[str, Callable[[str, tuple[Word, ...], tuple[str, ...]], str]] = {
    "aws": _explain_aws,
    "gh": _explain_gh,
    **dict.fromkeys(("curl", "wget", "http", "https", "xh"), _explain_request),
    **dict.fromkeys(("iptables", "ip6tables"), _explain_firewall),
}


def find_shared_removal(line: CommandLine) -> str:
    """Why a line may remove packages or data that do not belong to the project; "" if it does not."""
    for command in line.commands:
        if command.words and (why := _explain_command(command, line, 0)):
            return why
    return ""


def _explain_command(command: SimpleCommand, line: CommandLine | None, depth: int) -> str:
    """Why one call may remove shared packages or data; "" if it does not. depth: of calls inside containers."""
    program, rest = command.program, command.words[1:]
    argv = command.argv[1:]
    fed = bool(command.upstream or command.stdin)
    if not argv and program not in _TABLES.always_removing and not fed:
        return ""
    dry = bool(_TABLES.dry_run_options & set(argv)) or (program in _TABLES.apt_programs and "-s" in argv)
    if argv in (("--help",), ("--version",), ("-h",)) or (dry and program in _TABLES.harmless_package_commands):
        return ""
    if why := _explain_packages(command):
        return why
    if program in _TABLES.container_clients:
        return _explain_containers(command, line, depth)
    if program in _TABLES.harmless_service_commands:
        return _explain_service_client(command, depth)
    if program in _TABLES.always_removing:
        return tr("{program} may remove data of other projects", program=program)
    if why := find_service_change(command):
        return why
    if program in _TABLES.sql_client_options:
        return _explain_sql(program, rest, command, line)
    if program in _TABLES.document_shells:
        text = " ".join((*argv, command.stdin or ""))
        unknown = any(_TABLES.harmless_document_call.fullmatch(name) is None for name in _DOCUMENT_CALL.findall(text))
        return (
            tr("{program} may discard data", program=program)
            if unknown or _TABLES.document_removal.search(text) or command.upstream
            else ""
        )
    given = " ".join(argv)
    pattern = _TABLES.user_wide_removals.get(program)
    if pattern is not None and (match := pattern.search(given)) is not None and match[0]:
        return tr("{program} {match} removes what other projects may use", program=program, match=match[0])
    return _explain_unknown_program(program, rest, command, line)


def _explain_packages(command: SimpleCommand) -> str:
    """Why a package manager may remove system packages."""
    program, rest, argv = command.program, command.words[1:], command.argv[1:]
    if program.startswith(("python", "pypy")) and argv[:2] == ("-m", "pip"):
        system = command.words[0].text.startswith(("/usr/", "/bin/", "/opt/"))
        program, rest, argv = ("pip", rest[2:], ("--system", *argv[2:]) if system else argv[2:])
    if (
        program in ("pip", "pip3")
        and "--break-system-packages" in argv
        and word_set("--force-reinstall --upgrade -U") & set(argv)
    ):
        return tr("{program} replaces system packages", program=program)
    if program in ("pip", "pip3") and {"sudo", "doas"} & set(command.wrappers):
        argv = ("--system", *argv)
    why = tr("{program} removes system packages", program=program)
    if calls := _TABLES.harmless_package_options.get(program):
        given = [text for text in argv if text.startswith("-")] if program != "apt-mark" else list(argv[:1])
        return "" if given and all(map(calls.fullmatch, given)) else why
    if pattern := _TABLES.removing_package_options.get(program):
        found = any(pattern.fullmatch(text) for text in argv)
        if program not in _TABLES.language_package_managers:
            return (
                why
                if found
                else ""
                if program not in _TABLES.harmless_package_commands
                else _explain_package_command(program, rest, argv, why)
            )
        removes = word_set("uninstall remove rm un r") & set(argv)
        return why if found and removes else ""
    return _explain_package_command(program, rest, argv, why) if program in _TABLES.harmless_package_commands else ""


def _explain_package_command(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], why: str) -> str:
    """Return `why` if the sub-command or an option of a package manager removes something; "" otherwise."""
    if any(_TABLES.removing_options.fullmatch(text) for text in argv):
        return why
    operands = [word.text for word in list_operands(rest, _TABLES.package_value_options)]
    first = operands[0] if operands else next(iter(argv), "")
    marked = program.startswith("apt") and operands[1:] and any(text.endswith("-") for text in operands[1:])
    if program == "emerge" or (
        not operands and first.startswith("-") and first not in _TABLES.harmless_package_commands[program]
    ):
        return ""
    return why if marked or first not in _TABLES.harmless_package_commands[program] else ""


def _explain_containers(command: SimpleCommand, line: CommandLine | None, depth: int) -> str:
    """Why containers, images or volumes of other projects may be removed."""
    program = command.program
    words = command.words[1:]
    operands = list(list_operands(words, _TABLES.container_value_options))
    group = "compose" if program.endswith("compose") else ""
    if not group:
        if not operands:
            return ""
        first, rest = operands[0].text, words[_find_index(words, operands[0]) + 1 :]
        if first not in _TABLES.container_commands:
            return tr("{program} {first} may remove data of other projects", program=program, first=first)
        group, words = (first, rest) if first in _TABLES.harmless_container_commands else ("", words)
    else:
        rest = words
    action = ""
    if group:
        inner = list(list_operands(rest, _TABLES.compose_value_options if group == "compose" else frozenset()))
        action = inner[0].text if inner else ""
        if action and action not in _TABLES.harmless_container_commands[group]:
            return tr(
                "{program} {group} {action} may remove data of other projects",
                program=program,
                group=group,
                action=action,
            )
        rest = rest[_find_index(rest, inner[0]) + 1 :] if inner else ()
    else:
        action = operands[0].text
    options = [word.text for word in rest if word.text.startswith("-")]
    if action in ("rm", "rmi", "down", "remove", "kill", "stop"):
        plain = not any(word.dynamic or word.glob for word in rest)
        if not plain or (
            action in ("rm", "rmi", "down", "remove") and any(map(_TABLES.volume_options.fullmatch, options))
        ):
            return tr(
                "{program} {action} may remove containers or volumes of other projects", program=program, action=action
            )
        if "xargs" in command.wrappers:
            return tr("{program} {action} may remove containers of other projects", program=program, action=action)
    if action in ("exec", "run") and depth == 0:
        return _explain_inner_command(rest, program, starts=action == "run", fed=_get_input_text(command, line))
    return ""


def _explain_inner_command(words: tuple[Word, ...], program: str, *, starts: bool = False, fed: str = "") -> str:
    """Why a command started in a container or cluster discards data there.

    Args:
        starts: whether the container is a new one.
        fed: the text on its standard input.
    """
    known = word_set("rm shred truncate unlink")
    argv = tuple(word.text for word in words)
    volumes = _list_volumes(argv) if starts else None
    for place, word in enumerate(words):
        name = word.text.rsplit("/", 1)[-1]
        calls = [words[place:]]
        if name in ("sh", "bash", "ash", "dash"):
            calls = [
                each.words
                for text in words[place + 1 :]
                if " " in text.text
                for each in parse_command_line(text.text).commands
            ]
        elif (
            name
            not in _TABLES.always_removing
            | _TABLES.harmless_service_commands.keys()
            | _TABLES.sql_client_options.keys()
            | _TABLES.document_shells
            | _TABLES.container_clients
            | known
        ):
            continue
        for call in filter(None, calls):
            inner = SimpleCommand(words=call, written=call, stdin=fed or None)
            if inner.program in known and (
                program == "kubectl" or any(_can_be_on_volume(each, volumes) for each in list_operands(call[1:]))
            ):
                return tr(
                    "{program} starts {program2}, which may discard data", program=program, program2=inner.program
                )
            if why := _explain_command(inner, None, 1):
                return why
    return ""


def _list_volumes(argv: tuple[str, ...]) -> list[str]:
    """Return the paths of named volumes in a new container."""
    found = [text.split(":") for text in read_option_values(argv, ("-v", "--volume"))]
    places = [parts[1] for parts in found if len(parts) > 1 and not parts[0].startswith((".", "/", "~", "$"))]
    for text in read_option_values(argv, ("--mount",)):
        pairs = {name: value for name, _, value in (part.partition("=") for part in text.split(","))}
        if pairs.get("type", "volume") == "volume":
            places.append(pairs.get("target", pairs.get("dst", pairs.get("destination", ""))))
    return [place.rstrip("/") for place in places if place]


def _get_input_text(command: SimpleCommand, line: CommandLine | None) -> str:
    """Return what a here-document, `echo` or `printf` passes to a call's standard input, as far as the line contains
    it.
    """
    given = [each for each in line.commands if each.program in command.upstream] if line is not None else []
    texts = [" ".join(each.argv[1:]) for each in given if each.program in ("echo", "printf")]
    return ";".join((*texts, command.stdin or "")).replace(STDIN_FROM_FILE, "").strip(";")


def _can_be_on_volume(word: Word, volumes: list[str] | None) -> bool:
    """Whether a path in a container may be on a volume that outlives it.

    Args:
        volumes: paths of the volumes of a new container; None for one that already exists.
    """
    text = word.text
    if volumes is None:
        return text.startswith("/") and not _TABLES.image_folders.match(text)
    return any(text == place or text.startswith(f"{place}/") for place in volumes)


def _explain_service_client(command: SimpleCommand, depth: int) -> str:
    """Why a client of a cluster, database or virtual machine may discard data; "" if it does not."""
    program, words = command.program, command.words[1:]
    operands = list(list_operands(words, _TABLES.service_value_options))
    first = operands[0].text if operands else ""
    name = first.casefold() if program == "redis-cli" else first
    second = operands[1].text.casefold() if len(operands) > 1 else ""
    if program == "redis-cli" and second and second not in _TABLES.harmless_redis_words.get(name, {second}):
        return tr("redis-cli {first} {second} may discard data that other projects use", first=first, second=second)
    if program == "redis-cli" and command.upstream:
        return tr("{program} reads its commands from a pipe", program=program)
    if (operands and operands[0].dynamic) or (first and name not in _TABLES.harmless_service_commands[program]):
        return tr("{program} {first} may discard data that other projects use", program=program, first=first)
    second = operands[1].text if len(operands) > 1 else ""
    deletes = (program == "pulumi" and "-y" in command.argv) or any(
        _TABLES.deleting_options.fullmatch(word.text) for word in words
    )
    if deletes or (
        second and _TABLES.removal_word.fullmatch(second) and first not in ("get", "explain", "exec", "set", "logs")
    ):
        return f"{program} {first} {second} may discard data that other projects use".replace("  ", " ")
    if (
        program in ("terraform", "tofu", "terragrunt")
        and first == "state"
        and second not in _TABLES.harmless_terraform_state
    ):
        return tr(
            "{program} state {second} changes the recorded state of the infrastructure", program=program, second=second
        )
    if program in ("kubectl", "oc", "k3s"):
        if second and second not in _TABLES.harmless_kubectl_words.get(first, {second}):
            return tr(
                "{program} {first} {second} may discard what other projects use",
                program=program,
                first=first,
                second=second,
            )
        removes_label = first in ("label", "annotate") and any(word.text.endswith("-") for word in operands[2:])
        if removes_label or (first == "scale" and any(word.text in ("--replicas=0", "0") for word in words)):
            return tr("{program} {first} removes what other projects may use", program=program, first=first)
    if first == "exec" and depth == 0 and program in ("kubectl", "oc", "lxc", "incus", "multipass"):
        return _explain_inner_command(words, "kubectl")
    return ""


def _explain_sql(program: str, rest: tuple[Word, ...], command: SimpleCommand, line: CommandLine | None) -> str:
    """Why a text for a database may discard data."""
    texts = [word.text for word in rest if " " in word.text.strip() or ";" in word.text]
    flags = _TABLES.sql_client_options[program]
    texts += [rest[at + 1].text for at, word in enumerate(rest[:-1]) if word.text in flags]
    if command.stdin and command.stdin != STDIN_FROM_FILE:
        texts.append(command.stdin)
    if line is not None and command.upstream:
        texts.append(_get_input_text(command, line))
    for text in texts:
        bare = _QUOTED_SQL.sub("''", text)
        for statement in bare.split(";"):
            statement = statement.strip().strip("'\"")
            called = any(map(_TABLES.harmful_sql_function.fullmatch, _SQL_CALL.findall(statement)))
            if statement and (
                called or not _TABLES.harmless_sql.match(statement) or _TABLES.sql_removal.search(statement)
            ):
                return tr(
                    "{program} would run {statement!r}, which may discard data",
                    program=program,
                    statement=statement[:60],
                )
    open_text = any(word.dynamic and rest[at].text in flags for at, word in enumerate(rest[1:]))
    return tr("{program} receives text computed at run time", program=program) if open_text else ""


def _explain_unknown_program(
    program: str, rest: tuple[Word, ...], command: SimpleCommand, line: CommandLine | None
) -> str:
    """Why an unknown program may discard data: one of its first operands names such an action."""
    starts_others = is_wrapper(program) or program in _TABLES.program_starters | command_risk.INTERPRETERS
    if (
        starts_others
        or program in command_risk.BUILD_TOOLS | _TABLES.project_tools | command_risk.FILE_PROGRAMS
        or "/" in command.words[0].text
    ):
        return ""
    operands = [word.text for word in list_operands(rest)[:3]]
    found = next((text for text in operands if "/" not in text and _TABLES.removal_word.fullmatch(text)), "")
    found = found or next((word.text for word in rest if _TABLES.deleting_options.fullmatch(word.text)), "")
    if not found or isinstance(judge_reading(command, line), str) is False:
        return ""
    return tr("{program} {found} may discard what does not belong to the project", program=program, found=found)


def _find_index(words: tuple[Word, ...], target: Word) -> int:
    return next(at for at, word in enumerate(words) if word is target)
