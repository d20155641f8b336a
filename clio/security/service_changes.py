"""Commands that mode "all" asks about because they change accounts, services or settings beyond the project."""

from collections.abc import Callable

from clio.security.command_risk import has_option
from clio.security.service_change_tables import (
    ACCOUNT_PROGRAMS,
    ADMINISTRATION_PROGRAMS,
    AWS_VALUE_OPTIONS,
    DATA_PORTS,
    EVERYDAY_ARGUMENTS,
    EVERYDAY_SECOND_VERBS,
    EVERYDAY_VERB,
    EVERYDAY_VERBS,
    FIREWALLS,
    GH_ENDING_COMMANDS,
    GH_EVERYDAY_COMMANDS,
    LOCAL_SERVER,
    METHOD_OPTIONS,
    READING_ARGUMENTS,
    SAFE_METHODS,
)
from clio.security.shell.command_line import SimpleCommand, Word, word_set
from clio.security.targets import list_operands


def find_service_change(command: SimpleCommand) -> str:
    """Why a call may change more than the project; "" if it is everyday use, or the program is not listed here."""
    program, rest = command.program, command.words[1:]
    argv = command.argv[1:]
    fed = bool(command.upstream or command.stdin)
    if not argv:
        runs = fed and program in ("at", "batch", "iptables-restore", "ip6tables-restore")
        return f"{program} runs the text it receives" if runs else ""
    if set(argv) & {"--help", "--version", "help"}:
        return ""
    judge = _JUDGES.get(program)
    if judge is not None:
        return judge(program, rest, argv)
    if program in ACCOUNT_PROGRAMS:
        return _explain_account(program, rest)
    if program in ADMINISTRATION_PROGRAMS:
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
        if reads or READING_ARGUMENTS.fullmatch(" ".join(argv)):
            return ""
        return f"{program} {argv[0]} changes more than this project"
    if (pattern := EVERYDAY_ARGUMENTS.get(program)) and not pattern.fullmatch(" ".join(argv)):
        return f"{program} {argv[0]} changes more than this project"
    return ""


def _explain_account(program: str, rest: tuple[Word, ...]) -> str:
    """Why a call may change the contents of an account; "" if its verb is listed as reading or creating something."""
    valued, most = ACCOUNT_PROGRAMS[program]
    operands = [word.text for word in list_operands(rest, valued)][:most]
    if program == "gcloud" and operands[:1] == ["run"]:
        operands = operands[1:]
    if program == "cdk" and "never" in (word.text for word in rest):
        return "cdk changes an account without a question of its own"
    own = EVERYDAY_VERBS.get(program, frozenset())
    verbs = [text for text in operands if text in own or (EVERYDAY_VERB.fullmatch(text) and "=" not in text)]
    changed = any(word.text in ("-d", "--delete", "-D") for word in rest) and program == "gsutil"
    if not operands or (verbs and not changed):
        return _explain_second_verb(program, operands)
    return f"{program} {' '.join(operands[:3])} may change what other projects use"


def _explain_second_verb(program: str, operands: list[str]) -> str:
    """Why a second verb after a listed one changes something: `wrangler d1 execute`, `vault kv delete`."""
    group = operands[0] if operands else ""
    second = operands[1] if len(operands) > 1 else ""
    if (program, group) in EVERYDAY_SECOND_VERBS and second not in EVERYDAY_SECOND_VERBS[program, group]:
        return f"{program} {group} {second} may change what other projects use"
    return ""


def _explain_aws(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    """Why an aws call may change data in an account; "" for everyday calls."""
    operands = [word.text for word in list_operands(rest, AWS_VALUE_OPTIONS)]
    service, action = (*operands, "", "")[:2]
    if service == "s3":
        reads = action in ("ls", "presign", "mb", "website") or (action in ("cp", "sync") and "--delete" not in argv)
        return "" if reads else f"aws s3 {action} may change what other projects use"
    if not action or service in ("configure", "sso", "help", "login") or "--dry-run" in argv:
        return ""
    if EVERYDAY_VERB.fullmatch(action) and "--overwrite" not in argv:
        return ""
    return f"aws {service} {action} may change what other projects use"


def _explain_gh(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    """Why a gh call may change data on GitHub; "" for everyday calls."""
    operands = [word.text for word in list_operands(rest, word_set("-R --repo -H --hostname -q --jq -t --template"))]
    group, action = (*operands, "", "")[:2]
    if group == "api":
        method = _find_http_method(argv, ("-X", "--method")) or "GET"
        if any("mutation" in text for text in argv):
            return "gh api graphql changes data on GitHub"
        return "" if method.upper() in SAFE_METHODS else f"gh api {method} changes data on GitHub"
    if not group or (
        group in GH_EVERYDAY_COMMANDS
        and (not GH_EVERYDAY_COMMANDS[group] or action in GH_EVERYDAY_COMMANDS[group] or not action)
    ):
        elsewhere = any(text.startswith(("-R", "--repo")) for text in argv)
        admin = (action == "merge" and "--admin" in argv) or (action == "sync" and "--force" in argv)
        if (action in GH_ENDING_COMMANDS and elsewhere) or admin:
            return f"gh {group} {action} changes another repository, or bypasses its rules"
        return ""
    return f"gh {group} {action} changes data on GitHub".replace("  ", " ")


def _explain_request(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    """Why an HTTP request may remove or replace data on a server."""
    method = _find_http_method(argv, METHOD_OPTIONS.get(program, ()))
    if program in ("http", "https", "xh"):
        method = next((text for text in argv if text.isalpha() and text.isupper()), "")
    sends = any(text.startswith(("-d", "--data", "--json", "-F", "--form", "--post-", "--body-")) for text in argv)
    addresses = [
        text
        for text in argv
        if not text.startswith("-") and LOCAL_SERVER.fullmatch(text) and ("." in text or ":" in text or "local" in text)
    ]
    local = next((match for text in addresses if (match := LOCAL_SERVER.fullmatch(text))), None)
    if method in ("", "GET", "HEAD", "OPTIONS") and not sends:
        return ""
    if any(text.startswith(("--unix-socket", "--abstract-unix-socket")) for text in argv):
        return f"{program} may change data of a service on this machine"
    if local and local["port"] in DATA_PORTS and not any("_search" in text or "_count" in text for text in argv):
        return f"{program} may change data in a data store on this machine"
    if local or method.upper() in (*SAFE_METHODS, ""):
        return ""
    return f"{program} {method} may remove or replace data on a server"


def _explain_firewall(program: str, rest: tuple[Word, ...], argv: tuple[str, ...]) -> str:
    text = " ".join(argv)
    blocks = has_option(argv, "", ("policy",)) or "-P" in argv or "DROP" in argv or "REJECT" in argv
    return f"{program} {text[:40]} changes the network" if blocks and not ({"-L", "-S", "--list"} & set(argv)) else ""


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
    **dict.fromkeys(FIREWALLS, _explain_firewall),
}
