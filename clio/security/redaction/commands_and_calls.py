"""Recognize secrets passed to programs on command lines, to function calls, and in Kubernetes manifests. Pure."""

import re
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from clio.security.redaction.secret_patterns import (
    FILE_NAME,
    Span,
    can_be_secret,
    has_digit,
    is_measure,
    is_passphrase,
    is_random_value,
    is_reference,
    is_wordlike,
)
from clio.text.lazy_regex import LazyRegex

# ruff: noqa: E501 - a table of programs reads better with one a line
# An example shows a text with a match; `…` is a secret value, `\n` a line break.


MAX_LINE_CHARS = 600
"""How far after its first word a command or sentence is read, in characters."""
_MOST_PROGRAMS = 8
"""Number of programs named in one line that are examined."""

_WORD = LazyRegex(r"[ \t]*(?:\\\r?\n[ \t]*)?(?P<word>(?:\"(?:\\[^\n]|[^\"\\\n])*\"|'[^'\n]*'|\\[^\n]|[^\s\"'\\;|&])+)")


class Program(Struct, frozen=True):
    """Where a program accepts a secret on its command line.

    Attributes:
        flags: options whose value is a secret.
        login: options whose value is a user name and a secret.
        sign: the separator between user name and secret.
        attached: short options whose value, a secret, follows without a blank.
        needs: words, one of which must precede the options in `flags`; empty for no condition.
        after: pairs of a word and a number: the secret is that many words after the word; "" is the program's name.
    """

    flags: tuple[str, ...] = ()
    login: tuple[str, ...] = ()
    sign: str = ":"
    attached: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    after: tuple[tuple[str, int], ...] = ()


_MYSQL = Program(attached=("-p",))
_HTTP = Program(login=("-a", "--auth", "--proxy-auth"))
_LDAP = Program(flags=("-w", "-y"), attached=("-w",))
_SMB = Program(login=("-U", "--user", "--username"), sign="%")
_MOSQUITTO = Program(flags=("-P",))
_CAPITAL = Program(flags=("-P",), attached=("-P",))
_SMALL = Program(flags=("-p",))
_PASSWORD_WORD = Program(flags=("-p",), attached=("-p=",))
_SNMP = Program(flags=("-c", "-A", "-X"), attached=("-c",))
_WINDOWS = Program(attached=("/p:", "/pass:", "/password:"))
_PUTTY = Program(flags=("-pw",))
_ZIP = Program(flags=("-P", "-eP", "-rP", "-reP", "-qP", "-jP", "-erP"), attached=("-P",))
PROGRAMS: dict[str, Program] = {
    "curl": Program(flags=("--oauth2-bearer", "--pass", "--proxy-pass"), login=("-u", "--user", "-U", "--proxy-user"), attached=("-u", "-U")),
    "http": _HTTP, "https": _HTTP, "xh": _HTTP, "xhs": _HTTP, "httpie": _HTTP,
    "sshpass": Program(flags=("-p",), attached=("-p",)),
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlshow", "mysqlsh", "mariadb",
                     "mariadb-dump", "mariadb-admin", "mysqlbinlog"), _MYSQL),
    **dict.fromkeys(("mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "mongostat", "cqlsh"), _PASSWORD_WORD),
    **dict.fromkeys(("mycli", "pgcli", "litecli", "cypher-shell", "rabbitmqadmin", "twine", "yt-dlp", "youtube-dl", "steghide", "davmail",
                     "elasticsearch-users", "racadm", "evil-winrm", "openfortivpn", "ncftp", "ncftpput", "psexec", "netexec", "nxc",
                     "bosh", "fastlane", "hydra", "medusa", "arangosh", "couchbase-cli", "usermod", "useradd", "dotnet", "nuget"), _SMALL),
    **dict.fromkeys(("osql", "tsql", "freebcp", "p4", "wsrep"), _CAPITAL),
    "redis-cli": Program(flags=("-a", "--pass")), "valkey-cli": Program(flags=("-a", "--pass")),
    "redis-server": Program(flags=("--requirepass", "--masterauth")), "valkey-server": Program(flags=("--requirepass",)),
    "ssh-keygen": Program(flags=("-N", "-P")), "pdftotext": Program(flags=("-upw", "-opw")), "pdfimages": Program(flags=("-upw", "-opw")),
    "poetry": Program(flags=("-p",), needs=("publish",)), "ldapmodrdn": _LDAP,
    "signtool": Program(flags=("/p",)), "schtasks": Program(flags=("/rp", "/p")), "runas": Program(flags=("/password",)),
    "doctl": Program(flags=("-t",)), "vercel": Program(flags=("-t",)), "swaks": Program(flags=("-ap",)), "sendemail": Program(flags=("-xp",)),
    "ffmpeg": Program(flags=("-decryption_key", "-encryption_key")), "gem": Program(flags=("--key",), needs=("push",)),
    "transmission-remote": Program(login=("-n", "--auth")), "sqlmap": Program(login=("--auth-cred",)), "etcdctl": Program(login=("--user",)),
    "ab": Program(login=("-A", "-P")), "hey": Program(login=("-a",)), "jenkins-cli.jar": Program(login=("-auth",)), "jenkins-cli": Program(login=("-auth",)),
    "winexe": Program(login=("-U",), sign="%"), "smbcacls": Program(login=("-U",), sign="%"), "pdbedit": Program(login=("-U",), sign="%"),
    **dict.fromkeys(("samba-tool", "grafana-cli", "grafana"), Program(after=(("create", 2), ("setpassword", 2), ("reset-admin-password", 1)))),
    "mosquitto_passwd": Program(after=(("-b", 3),)), "htdigest": Program(after=(("-c", 4),)),
    "qpdf": Program(after=(("--encrypt", 1), ("--encrypt", 2))),
    **dict.fromkeys(("docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "az"), Program(flags=("-p",), needs=("login",), login=("--creds", "--src-creds", "--dest-creds"))),
    "security": Program(flags=("-p", "-w", "-P"), needs=("unlock-keychain", "add-generic-password", "add-internet-password", "import", "create-keychain", "set-keychain-password", "set-key-partition-list")),
    "openssl": Program(flags=("-k", "-K", "-hmac", "-psk")),
    "gpg": Program(flags=("--passphrase",)), "gpg2": Program(flags=("--passphrase",)),
    "zip": _ZIP, "unzip": _ZIP, "zipcloak": _ZIP,
    "7z": Program(attached=("-p",)), "7za": Program(attached=("-p",)), "7zz": Program(attached=("-p",)),
    "rar": Program(attached=("-hp", "-p")), "unrar": Program(attached=("-p",)),
    "smbclient": _SMB, "rpcclient": _SMB, "smbmap": Program(flags=("-p",)), "crackmapexec": Program(flags=("-p",)),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd", "ldapwhoami"), _LDAP),
    "mosquitto_pub": _MOSQUITTO, "mosquitto_sub": _MOSQUITTO,
    "sqlcmd": Program(flags=("-P",), attached=("-P",)), "bcp": Program(flags=("-P",), attached=("-P",)),
    "isql": Program(flags=("-P",)), "ipmitool": Program(flags=("-P",)), "vncviewer": Program(flags=("-passwd",)),
    "plink": _PUTTY, "pscp": _PUTTY, "psftp": _PUTTY, "putty": _PUTTY, "kitty": _PUTTY,
    "rdesktop": Program(flags=("-p",)), "xfreerdp": _WINDOWS, "xfreerdp3": _WINDOWS, "wfreerdp": _WINDOWS, "wmic": _WINDOWS,
    "cmdkey": Program(attached=("/pass:", "/p:")), "mstsc": Program(attached=("/p:",)),
    "lftp": Program(login=("-u",), sign=","),
    "net": Program(after=(("user", 2), ("use", 3)), login=("-U",), sign="%"), "net.exe": Program(after=(("user", 2), ("use", 3))),
    "htpasswd": Program(after=(("-b", 3), ("-bc", 3), ("-cb", 3), ("-nb", 2), ("-bn", 2), ("-bB", 3), ("-Bb", 3), ("-nbB", 2))),
    "rabbitmqctl": Program(after=(("add_user", 2), ("change_password", 2), ("authenticate_user", 2))),
    "wpa_passphrase": Program(after=(("", 2),)), "vault": Program(after=(("login", 1),)),
    "nmcli": Program(after=(("password", 1), ("wifi-sec.psk", 1), ("802-11-wireless-security.psk", 1))),
    "aws": Program(after=(("aws_secret_access_key", 1), ("aws_session_token", 1))),
    **dict.fromkeys(("snmpwalk", "snmpget", "snmpset", "snmpbulkwalk", "snmpbulkget", "snmpgetnext", "snmptable", "snmptrap", "snmpinform", "snmpstatus", "snmpdf"), _SNMP),
    "ngrok": Program(after=(("authtoken", 1), ("add-authtoken", 1))),
    "influx": Program(flags=("-password",)), "fly": Program(flags=("-p",), needs=("login",)),
    "cf": Program(flags=("-p",), needs=("login",)), "oc": Program(flags=("-p",), needs=("login",)),
}  # fmt: skip
"""Programs that accept a secret on their command line, by name."""
_STARTS = LazyRegex(r"(?<![A-Za-z0-9_.-])[A-Za-z0-9][A-Za-z0-9_.-]*(?= )")
_SESSION = r"[\w.-]{0,40}(?:sess(?:ion)?(?:[._-]?id)?|connect\.sid|\bsid|auth|jwt|remember[\w]{0,12}|csrf[\w]{0,12}|xsrf[\w-]{0,12}|token|login)"
# Example: Cookie: sessionid=…
COOKIE = LazyRegex(rf"(?<=[;:\"' \t=]){_SESSION}=(?P<v>[^\s;,\"']{{6,2000}})", re.IGNORECASE)


def find_command_spans(text: str, words: frozenset[str]) -> Iterator[Span]:
    """Yield the secrets on command lines of known programs.

    Args:
        words: all runs of letters in the text, in lower case.
    """
    for sign in (" -", " /p", *POSITIONAL):
        place = text.find(sign)
        read = 0  # program names up to this position have been examined
        starts: deque[int] = deque(maxlen=_MOST_PROGRAMS)
        while place >= 0:
            if sign != " -" or ((letter := text[place + 2 : place + 3]).isalpha() or letter == "-"):
                begin = max(0, place - MAX_LINE_CHARS)
                line = find_line_start(text, place, begin)
                end = place + 1 if sign[0] == " " else place + len(sign)
                for match in _STARTS.finditer(text, max(line, read), end):
                    read = match.end()
                    if (program := PROGRAMS.get(match[0])) and (
                        len(starts) < _MOST_PROGRAMS or match.start() - starts[0] > MAX_LINE_CHARS
                    ):
                        starts.append(match.start())
                        yield from _iter_argument_secrets(text, match.end(), program)
            place = text.find(sign, place + 2)
    yield from _iter_option_pairs(text)
    for needle, pattern in LINES:
        if not words.issuperset(_LINE_WORDS[needle]):
            continue
        place = text.find(needle)
        while place >= 0:
            line = max(find_line_start(text, place, max(0, place - MAX_LINE_CHARS)), 0)
            if (match := pattern.search(text, line, place + MAX_LINE_CHARS)) and _can_be_positional_secret(match["v"]):
                yield Span(match.start("v"), match.end("v"), "password", 305)
            place = text.find(needle, place + len(needle))


def find_program(text: str) -> int | None:
    """Return the position of the first program in a line that accepts a secret; None for none."""
    return next((match.start() for match in _STARTS.finditer(text) if match[0] in PROGRAMS), None)


_WORD_OR_QUOTED = r"(?P<q>[\"']?)(?P<v>[^\s\"'<>|;&]{4,300})(?P=q)"
LINES: tuple[tuple[str, LazyRegex], ...] = (
    ("sqlplus ", LazyRegex(r"\bsqlplus[ \t]+(?:-[sSlL]+[ \t]+)*[\"']?[\w$.]{1,60}/[\"']?(?P<v>[^\s@\"'/]{4,120})[\"']?(?=[@\s\"']|\Z)")),
    ("expdp ", LazyRegex(r"\bexpdp[ \t]+[\"']?[\w$.]{1,60}/[\"']?(?P<v>[^\s@\"'/]{4,120})[\"']?(?=[@\s\"']|\Z)")),
    (" login ", LazyRegex(rf"\b(?:cargo|vault|bw)[ \t]+login[ \t]+(?:[\w.+-]+@[\w.-]+[ \t]+)?{_WORD_OR_QUOTED}")),
    (" unlock ", LazyRegex(rf"\b(?:bw|rbw)[ \t]+unlock[ \t]+{_WORD_OR_QUOTED}")),
    (" config ", LazyRegex(rf"\b(?:npm|pnpm|yarn|poetry|composer|git)[ \t]+config[ \t]+(?:--?[\w-]+[ \t]+|set[ \t]+)*[\"']?[\w./:@-]*(?:[Tt]oken|[Pp]assword|_auth|AuthIdent|oauth|http-basic)[\w./:@-]*[\"']?[ \t]+(?:[\w.@-]+[ \t]+(?=\S))?{_WORD_OR_QUOTED}")),
    ("rclone obscure ", LazyRegex(rf"\brclone[ \t]+obscure[ \t]+{_WORD_OR_QUOTED}")),
    ("rclone config ", LazyRegex(rf"\brclone[ \t]+config[^\n]*?[ \t](?:pass|password|token|secret_access_key)[ =]{_WORD_OR_QUOTED}")),
    ("mc ", LazyRegex(rf"\bmc[ \t]+(?:alias[ \t]+set|config[ \t]+host[ \t]+add)[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+{_WORD_OR_QUOTED}")),
    ("input_pw ", LazyRegex(rf"(?:input_pw|user_pw|owner_pw)[ \t]+{_WORD_OR_QUOTED}")),
    ("-setairportnetwork", LazyRegex(rf"-setairportnetwork[ \t]+\w+[ \t]+\S+[ \t]+{_WORD_OR_QUOTED}")),
    ("netsh wlan", LazyRegex(r"\bnetsh[ \t]+wlan[^\n]*?\b(?:key|keyMaterial)=[\"']?(?P<v>[^\s\"']{4,100})")),
    ("wpa_cli", LazyRegex(r"\bpsk[ \t]+[\"'\\]*(?P<v>[^\s\"'\\]{8,100})")),
    ("-passwd /Users/", LazyRegex(rf"-passwd[ \t]+/Users/\S+[ \t]+{_WORD_OR_QUOTED}")),
    ("kv put ", LazyRegex(r"\bkv[ \t]+put[ \t]+\S+[ \t]+[\w.-]{1,60}=[\"']?(?P<v>[^\s@\"'][^\s\"']{3,300})")),
    ("secrets set ", LazyRegex(r"\bsecrets[ \t]+set[ \t]+\w{1,60}=[\"']?(?P<v>[^\s\"']{4,300})")),
    ("secret set ", LazyRegex(r"\bsecret[ \t]+set[ \t][^\n]*?(?:--body[ =]|-b[ =]?|--value[ =])[\"']?(?P<v>[^\s\"']{4,300})")),
    ("put-parameter ", LazyRegex(r"SecureString[^\n]*?--value[ =][\"']?(?P<v>[^\s\"'{][^\s\"']{3,300})")),
    ("create-secret ", LazyRegex(r"--secret-string[ =][\"']?(?P<v>[^\s\"'{][^\s\"']{3,300})")),
    ("user-secrets set ", LazyRegex(rf"\buser-secrets[ \t]+set[ \t]+[\"']?[\w:.]+[\"']?[ \t]+{_WORD_OR_QUOTED}")),
    ("openssl passwd", LazyRegex(rf"\bopenssl[ \t]+passwd(?:[ \t]+-\w+)*?(?:[ \t]+-salt[ \t]+\S+)?[ \t]+{_WORD_OR_QUOTED}")),
    ("mysqladmin ", LazyRegex(rf"\bmysqladmin\b[^\n]*?[ \t]password[ \t]+{_WORD_OR_QUOTED}")),
    ("pserver:", LazyRegex(r":pserver:[\w.-]+:(?P<v>[^\s@\"']{4,120})@")),
    ("impacket-", LazyRegex(r"\bimpacket-\w+[ \t][^\n]*?[\w.-]+/[\w.-]+:[\"']?(?P<v>[^\s@\"']{4,120})[\"']?@")),
    ("secretsdump", LazyRegex(r"\bsecretsdump(?:\.py)?[ \t][^\n]*?[\w.-]+/[\w.-]+:[\"']?(?P<v>[^\s@\"']{4,120})[\"']?@")),
    ("add-mask::", LazyRegex(r"::add-mask::[\"']?(?P<v>[^\s\"'${][^\s\"']{3,300})")),
    ("issecret=true]", LazyRegex(r"issecret=true\][\"']?(?P<v>[^\s\"'$][^\s\"']{3,300})")),
    ("command \"echo ", LazyRegex(r"pass(?:word|phrase)?-command[ =]\"echo[ \t]+(?P<v>[^\s\"']{4,300})")),
    ("passwordeval=", LazyRegex(r"passwordeval=\"echo[ \t]+(?P<v>[^\s\"']{4,300})")),
    ("PassCmd ", LazyRegex(r"PassCmd[ \t]+[\"']echo[ \t]+(?P<v>[^\s\"']{4,300})")),
    ("DefaultPassword", LazyRegex(rf"DefaultPassword[ \t][^\n]*?/d[ \t]+{_WORD_OR_QUOTED}")),
    ("<<<", LazyRegex(rf"(?i:pass|secret|token|kinit|luks|auth|vnc|pwd|psk)[^\n]{{0,80}}?<<<[ \t]*{_WORD_OR_QUOTED}")),
    ("| passwd ", LazyRegex(r"echo[ \t]+(?:-e[ \t]+)?[\"']?(?P<v>[^\s\"'\\|]{4,100})")),
)  # fmt: skip
_LINE_WORDS = {
    needle: tuple("".join(char if char.isalpha() else " " for char in needle.lower()).split()) for needle, _ in LINES
}
# Example: mycli -u admin
_USER_OPTION = LazyRegex(r"(?<=\s)(?:-u|-U|--?user(?:name)?|--?login|/u(?:ser)?)(?:[ \t]+|[=:])(?!-)[^\s-]\S*")
# Example: mycli -u admin -p …
_PASSWORD_OPTION = LazyRegex(
    r"(?<=\s)(?:-p|-P|-pw|--?pass|/p(?:ass|assword)?)(?:[ \t]+|[=:])(?P<q>[\"']?)(?P<v>[^\s\"'|;&<>-][^\s\"'|;&<>]{4,200})(?P=q)(?=\s|\Z)"
)


PASSWORD_OPTION_AFTER_USER = LazyRegex(r"\s(?:-p|-pw|--?pass|/p(?:ass|assword)?)(?:[ \t]+|[=:])[^\s/.~$-]")
"""A password option in a lower-case line. Its value is a secret only after an option for a user name."""


def _iter_option_pairs(text: str) -> Iterator[Span]:
    """Yield the value of a password option in a line that also has one for a user name, for any program."""
    for needle in (" -u", " -U", "-user", " /u"):
        place = text.find(needle)
        read = 0
        while place >= 0:
            if _USER_OPTION.match(text, place + 1 if needle[0] == " " else text.rfind(" ", 0, place) + 1):
                line = max(read, find_line_start(text, place, max(0, place - MAX_LINE_CHARS)))
                end = text.find("\n", place, place + MAX_LINE_CHARS)
                end = end if end >= 0 else place + MAX_LINE_CHARS
                if not any(text.find(option, line, end) >= 0 for option in ("-p", "-P", "/p")):
                    place = text.find(needle, place + len(needle))
                    continue
                for match in _PASSWORD_OPTION.finditer(text, line, end):
                    read = match.end("v")
                    if _can_be_positional_secret(match["v"]) and _can_be_password(match["v"]):
                        yield Span(match.start("v"), match.end("v"), "password", 306)
            place = text.find(needle, place + len(needle))


def _can_be_positional_secret(value: str) -> bool:
    """Whether a word on a command line may be a secret, and not an option, a variable, a path or an ordinary word."""
    return (
        can_be_secret(value)
        and value[0] not in "-$<[({/"
        and (not is_wordlike(value) or value.count("-") > 1 or is_passphrase(value))
        and (not is_wordlike(value, digits=True) or not any(sign in value for sign in "./:_") or is_passphrase(value))
    )


def _can_be_password(value: str) -> bool:
    """Whether a value may be a password, and not a port, version, path or pair, as `-p` of other programs accepts."""
    return is_random_value(value) or not (
        any(sign in value for sign in "/:=,")
        or not any(char.isalpha() for char in value)
        or value.replace(".", "").isdigit()
    )


POSITIONAL = (
    "net user ",
    "net use ",
    "net.exe u",
    "rabbitmqctl ",
    "wpa_passphrase ",
    "vault login ",
    "nmcli ",
    "configure set ",
    "ngrok ",
)


def find_line_start(text: str, place: int, begin: int) -> int:
    """Return where the line of a position begins, including lines above it that end with a backslash."""
    line = text.rfind("\n", begin, place) + 1
    while line > 1 and line - 1 > begin and text[line - 2] == "\\":
        line = text.rfind("\n", begin, line - 1) + 1
    return max(line, begin)


def _iter_argument_secrets(text: str, place: int, program: Program) -> Iterator[Span]:
    """Yield the secrets among the arguments of a program that begin at a position."""
    limit = min(len(text), place + MAX_LINE_CHARS)
    words: list[tuple[int, str]] = []
    while (match := _WORD.match(text, place, limit)) and len(words) < 60:
        words.append((match.start("word"), match["word"]))
        place = match.end()
    ready = not program.needs
    for number, (start, word) in enumerate(words):
        ready = ready or word in program.needs
        following = words[number + 1] if number + 1 < len(words) else None
        if ready and word in program.flags and word[0] in "-/" and following:
            yield from _make_argument_span(*following)
        elif word[0] in "-/":
            yield from _iter_option_secrets(text, start, word, following, program)
        for before, distance in program.after:
            at = number + distance if before else distance - 1
            if (
                (word == before or (not before and number == 0))
                and at < len(words)
                and not words[at][1].startswith(("/", "-", "*"))
            ):
                yield from _make_argument_span(*words[at])


def _iter_option_secrets(
    text: str, start: int, word: str, following: tuple[int, str] | None, program: Program
) -> Iterator[Span]:
    """Yield the secrets in an option, or in the word that follows it, as its value."""
    if program.login:
        if word in program.login or _is_login_cluster(word, program):
            if following:
                yield from _make_argument_span(*following, sign=program.sign)
            return
        if word in ("-b", "--cookie") and following:
            for match in COOKIE.finditer(text, start, following[0] + len(following[1])):
                if can_be_secret(match["v"]):
                    yield Span(match.start("v"), match.end("v"), "cookie", 311)
            return
    attached = [
        *((f"{option}=", program.sign) for option in program.login if option.startswith("--")),
        *((option, ":" if program.login else "") for option in program.attached),
    ]
    for beginning, sign in attached:
        if word.startswith(beginning) and len(word) > len(beginning):
            yield from _make_argument_span(start + len(beginning), word[len(beginning) :], sign=sign)
            return


def _is_login_cluster(word: str, program: Program) -> bool:
    """Whether a word is a cluster of short options whose last one takes a login: `-su`."""
    return (
        len(word) > 2
        and word[0] == "-"
        and word[1] != "-"
        and word[1:].isalpha()
        and len(word) <= 12
        and f"-{word[-1]}" in program.login
    )


def _make_argument_span(start: int, word: str, sign: str = "") -> Iterator[Span]:
    """Yield the span of an argument without its quotes, after the given separator, if it is a secret."""
    quote = word[:1] if word[:1] in "\"'" and word[-1:] == word[:1] and len(word) > 1 else ""
    value = word[1:-1] if quote else word
    start += len(quote)
    if sign:
        user, found, secret = value.partition(sign)
        if not found:
            return
        start, value = start + len(user) + 1, secret
    if (
        can_be_secret(value)
        and not value.startswith("-")
        and "$" not in value[:1]
        and not (value.isdigit() and len(value) < 6)
    ):
        yield Span(start, start + len(value), "password", 305)


# ruff: noqa: E501 - a table of expressions reads better with one a line


_MAKER = r"(?:(?:key|secret|password)[ \t]?=[ \t]?)?(?:\[\]byte\(|(?:System\.Text\.)?Encoding\.\w{1,10}\.GetBytes\(|Buffer\.from\(|Some\(|new String\(|str\(|bytes\()?"
_LITERAL = rf"{_MAKER}[bNrf@$]?(?P<q>[\"'`])(?P<v>(?:\\[^\n]|(?!(?P=q))[^\\\n]){{4,512}})(?P=q)"
_ANY = r"(?:\{[^{}\n]{0,200}\}|[\"'][^\"'\n]{0,120}[\"']|[^,()\"'`\n]{1,80}(?:\([^()\n]{0,60}\))?)"
_FIRST = rf"\([ \t\n]{{0,40}}{_LITERAL}"
_SECOND = rf"\([ \t\n]{{0,40}}{_ANY},\s{{0,40}}{_LITERAL}"
_THIRD = rf"\([ \t\n]{{0,40}}{_ANY},\s{{0,40}}{_ANY},\s{{0,40}}{_LITERAL}"
_FIRST_OR_SECOND = rf"\([ \t\n]{{0,40}}(?:(?:sha\d+|md5)\.[nN]ew,\s{{0,8}})?{_LITERAL}"
PATTERNS = {
    "first": LazyRegex(_FIRST),
    "hash": LazyRegex(_FIRST_OR_SECOND, re.IGNORECASE),
    "second": LazyRegex(_SECOND),
    "third": LazyRegex(_THIRD),
    "pair": LazyRegex(rf"\([ \t]{{0,4}}(?:{_ANY},[ \t]{{0,4}})?[\"'][\w.@+-]{{1,60}}:(?P<v>[^\s\"'@]{{4,120}})[\"'@]"),
}  # fmt: skip
CALLS: dict[str, tuple[tuple[str, str], ...]] = {
    "hmac": (
        ("hmac.new", "hash"), ("hmac.digest", "hash"), ("createhmac", "second"), ("hash_hmac", "third"),
    ),
    "createhmac": (("createhmac", "second"),),
    "hmacsha": (("hmacsha256", "second"), ("hmacsha512", "second"), ("hmacsha1", "second"), ("hmacsha256", "first"), ("hmacsha512", "first")),
    "hmacshakeyfor": (("hmacshakeyfor", "first"),),
    "jwt": tuple((f"jwt{joint}{verb}", "second") for joint in (".", "::") for verb in ("sign", "verify", "encode", "decode")),
    "fernet": (("fernet", "first"),),
    "urlsafeserializer": (("urlsafeserializer", "first"),),
    "urlsafetimedserializer": (("urlsafetimedserializer", "first"),),
    "cookieparser": (("cookieparser", "first"),),
    "newcookiestore": (("newcookiestore", "first"),),
    "signedstring": (("signedstring", "first"),),
    "signwith": (("signwith", "second"),),
    "secretkeyspec": (("secretkeyspec", "first"),),
    "pbekeyspec": (("pbekeyspec", "first"),),
    "symmetricsecuritykey": (("symmetricsecuritykey", "first"),),
    "createcipheriv": (("createcipheriv", "second"),),
    "createdecipheriv": (("createdecipheriv", "second"),),
    "scryptsync": (("scryptsync", "first"),),
    "cryptojs": (("aes.encrypt", "second"), ("aes.decrypt", "second")),
    "openssl": (("openssl_encrypt", "third"), ("openssl_decrypt", "third")),
    "bcrypt": (("bcrypt.hash", "first"), ("bcrypt.hashpw", "first"), ("bcrypt.hashsync", "first"), ("bcrypt.compare", "first"), ("bcrypt.comparesync", "first")),
    "generatefrompassword": (("generatefrompassword", "first"),),
    "password": (("make_password", "first"), ("generate_password_hash", "first"), ("password_hash", "first"), ("password_verify", "first"),
                 ("check_password", "second"), ("keyring.set_password", "third")),
    "bearer": (("bearer_auth", "first"),),
    "secret": (("secret::new", "first"), ("from_secret", "first")),
    "secretstring": (("secretstring::from", "first"),),
    "pgp": (("pgp_sym_encrypt", "second"), ("pgp_sym_decrypt", "second")),
    "encrypt": (("aes_encrypt", "second"),),
    "decrypt": (("aes_decrypt", "second"),),
    "crypt": (("crypt", "first"),),
    "login": ((".login", "second"),),
    "auth": ((".auth", "second"),),
    "username": (("username_pw_set", "second"),),
    "create": (("create_user", "third"), ("create_superuser", "third"), ("awsbasiccredentials.create", "second")),
    "ftp": (("ftplib.ftp", "third"), ("ftp", "third")),
    "plainauth": (("plainauth", "third"),),
    "userpassword": (("userpassword", "second"),),
    "credentials": (("credentials.basic", "second"),),
    "httpbasic": (("httpbasic", "second"),),
    "usernamepasswordauthenticationtoken": (("usernamepasswordauthenticationtoken", "second"),),
    "authenticationheadervalue": (("authenticationheadervalue", "second"),),
    "wifi": (("wifi.begin", "second"),),
    "sequelize": (("sequelize", "third"),),
    "connect": ((".connect", "third"),),
    "ldap": (("ldap_bind", "third"),),
    "sql": (("sql.open", "pair"),),
    "curlopt": (("curl_easy_setopt", "third"), ("curl_setopt", "third"), ("curlopt_userpwd", "pair")),
    "btoa": (("btoa", "pair"),),
    "stripe": (("stripe", "first"),),
}  # fmt: skip
"""By a word that each text with the calls contains: the names of the calls, and the pattern of `PATTERNS` for each."""
# Example: curl_setopt(h, CURLOPT_USERPWD, "admin:…")
_USER_AND_PASSWORD = LazyRegex(r"CURLOPT_USERPWD,\s{0,8}[\"'][^\"':\n]{1,60}:(?P<v>[^\"'\n]{4,200})[\"']")


def find_call_spans(text: str, lowered: str, words: frozenset[str]) -> Iterator[Span]:
    """Yield the secrets passed to functions listed in `CALLS`.

    Args:
        words: all runs of letters in the text, in lower case.
    """
    for word in words.intersection(CALLS):
        for call, argument in CALLS[word]:
            needle = call + "("
            place = lowered.find(needle)
            while place >= 0:
                glued = (
                    call[0].isalpha() and lowered[place - 1 : place].isalpha() and call in ("ftp", "crypt", "stripe")
                )
                match = None if glued else PATTERNS[argument].match(text, place + len(call), place + 1000)
                if match and _can_be_argument_secret(match["v"]):
                    yield Span(match.start("v"), match.end("v"), "secret", 315)
                place = lowered.find(needle, place + len(needle))
    if "curlopt" in words:
        for match in _USER_AND_PASSWORD.finditer(text):
            if _can_be_argument_secret(match["v"]):
                yield Span(match.start("v"), match.end("v"), "password", 310)


def _can_be_argument_secret(value: str) -> bool:
    """Whether an argument is a secret: one word that is no ordinary word, file name, algorithm or user name."""
    return (
        can_be_secret(value)
        and not any(char.isspace() for char in value)
        and (
            has_digit(value)
            or value.count("-") > 1
            or (value.isalnum() and not is_wordlike(value))
            or is_passphrase(value)
        )
        and (
            not is_wordlike(value, digits=True)
            or (value.isalnum() and len(value) >= 6)
            or value.count("-") > 1
            or is_passphrase(value)
        )
        and not is_measure(value)
        and not FILE_NAME.search(value)
        and not value.startswith(("http", "/", "."))
        and "://" not in value
    )


# ruff: noqa: E501 - a table of expressions reads better with one a line


_MAX_DOCUMENT_CHARS = 8192

# Example: kind: Secret
_SECRET_KIND = LazyRegex(r"(?P<indent>(?<![^\n])[ \t-]*)kind:[ \t]*[\"']?Secret[\"']?[ \t]*\r?(?=\n|\Z)")
# Example: data: {password: …}
_DATA_IN_BRACES = LazyRegex(r"[ \t-]*(?:data|stringData):[ \t]*\{(?P<v>[^{}\n]{1,2000})\}?[ \t]*\r?\Z")
_ENTRY_IN_BRACES = LazyRegex(
    r"[\"']?[\w./-]{1,200}[\"']?:[ \t]*(?P<q>[\"']?)(?P<v>[^\s,\"']{1,1000})(?P=q)[ \t]*(?=,|\Z)"
)
# Example: stringData:
_DATA = LazyRegex(r"(?P<indent>[ \t-]*)(?:data|stringData|encryptedData):[ \t]*\r?\Z")
# Example:   password: …
_ENTRY = LazyRegex(r"(?P<indent>[ \t]*)[\"']?[\w./-]{1,200}[\"']?:[ \t]*(?P<v>\S[^\n]*?)?[ \t]*\r?\Z")
# Example: "kind": "Secret"
_JSON_KIND = LazyRegex(r"\\{0,2}\"kind\\{0,2}\"[ \t]*:[ \t]*\\{0,2}\"Secret\\{0,2}\"")
# Example: "data": {"password": "…"}
_JSON_DATA = LazyRegex(r"\\{0,2}\"(?:data|stringData)\\{0,2}\"[ \t]*:[ \t]*\{(?P<v>[^{}]{0,8000})\}")
_JSON_VALUE = LazyRegex(r":[ \t]*(?P<q>\\{0,2}\")(?P<v>(?:(?!(?P=q))[^\n]){1,8000}?)(?P=q)")
_OPEN_DOCUMENT = LazyRegex(
    r"(?:apiVersion|kind|(?<![^\n \t])(?:stringD|d)ata(?=:[ \t]*\r?(?:\n|\Z))|\"apiVersion\\{0,2}\"|\"kind\\{0,2}\")"
)
# Example: kind: Deployment\n
_OTHER_KIND = LazyRegex(
    r"kind\\{0,2}\"?:[ \t]*\\{0,2}[\"']?(?!Secret\b|List\b)[A-Z]\w+[\"'\\]{0,3},?[ \t]*\r?(?:\n|,|\})"
)


def find_kubernetes_spans(text: str) -> Iterator[Span]:
    """Yield the values in all documents of `kind: Secret`, in YAML and JSON."""
    done = 0
    for match in _SECRET_KIND.finditer(text):
        if match.start() >= done:
            first, done = _find_manifest(text, match)
            yield from _iter_manifest_secrets(text, first, done, len(match["indent"]))
    for match in _JSON_KIND.finditer(text):
        begin, end = max(0, match.start() - _MAX_DOCUMENT_CHARS), match.end() + _MAX_DOCUMENT_CHARS
        for data in _JSON_DATA.finditer(text, begin, min(len(text), end)):
            for value in _JSON_VALUE.finditer(text, data.start("v"), data.end("v")):
                if not is_reference(value["v"]):
                    yield Span(value.start("v"), value.end("v"), "kubernetes-secret", 312)


def _find_manifest(text: str, kind: re.Match[str]) -> tuple[int, int]:
    """Return where the document that contains a `kind: Secret` begins and ends."""
    depth = len(kind["indent"])
    first = kind.start()
    while first > 0 and kind.start() - first < _MAX_DOCUMENT_CHARS:
        above = text.rfind("\n", 0, first - 1) + 1
        if not _is_in_document(text[above : first - 1], depth):
            break
        first = above
    end = kind.end()
    for start, line in _iter_lines(text, first):
        if start > kind.end() and not _is_in_document(line, depth):
            break
        end = max(end, start + len(line))
    return first, end


def _iter_manifest_secrets(text: str, first: int, end: int, depth: int) -> Iterator[Span]:
    """Yield the values below `data` and `stringData` in a document whose keys are indented to this depth."""
    inside, block = False, -1
    for start, line in _iter_lines(text, first):
        if start > end:
            break
        if not line.strip() or (stripped := line.lstrip(" \t-")).startswith("#"):
            continue
        indent = len(line) - len(stripped)
        if indent <= depth:
            inside, block = _DATA.fullmatch(line) is not None, -1
            if data := _DATA_IN_BRACES.fullmatch(line):
                for entry in _ENTRY_IN_BRACES.finditer(line, data.start("v"), data.end("v")):
                    if not is_reference(entry["v"]) and "[REDACTED" not in entry["v"]:
                        yield Span(start + entry.start("v"), start + entry.end("v"), "kubernetes-secret", 312)
            continue
        if not inside:
            continue
        if block >= 0 and indent > block:
            yield Span(start + indent, start + len(line.rstrip()), "kubernetes-secret", 312)
            continue
        entry = _ENTRY.fullmatch(line)
        block = indent
        if entry and (value := entry["v"]) and value[0] not in "|>":
            quote = value[0] if value[0] in "\"'" and value[-1] == value[0] and len(value) > 1 else ""
            bare = value[1:-1] if quote else value
            if bare and not is_reference(bare) and not bare.startswith("[REDACTED"):
                yield Span(
                    start + entry.start("v") + len(quote), start + entry.end("v") - len(quote), "kubernetes-secret", 312
                )


def _is_in_document(line: str, depth: int) -> bool:
    """Whether a line belongs to a document whose keys are indented to this depth."""
    if not line.strip():
        return False
    indent = len(line) - len(line.lstrip(" \t-"))
    return (
        not line.startswith(("---", "...", "```"))
        and indent >= depth
        and (indent > depth or ":" in line or line.lstrip().startswith("#"))
    )


def _iter_lines(text: str, place: int) -> Iterator[tuple[int, str]]:
    """Yield the lines from a position on, each with its start."""
    limit = min(len(text), place + 2 * _MAX_DOCUMENT_CHARS)
    while place < limit:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield place, text[place:end]
        place = end + 1


def find_open_manifest(text: str, end: int) -> int | None:
    """Return where a document begins that may be a Kubernetes secret and is incomplete; None for nowhere."""
    if "apiVersion" not in text and "kind" not in text and "ata:" not in text:
        return None
    begin = max(0, end - _MAX_DOCUMENT_CHARS)
    for match in _OPEN_DOCUMENT.finditer(text, begin, end):
        rest = text[match.start() : end]
        if match[0].startswith('"'):
            ended = rest.find("\n}") >= 0 or ("\n" in rest and "\n" not in rest.lstrip('\\"') and False)
            single = (
                "\n" in rest
                and "{" in text[max(0, match.start() - 4) : match.start()]
                and "\n" not in text[max(0, match.start() - 3) : match.start()]
            )
            if ended or (single and rest.find("}}") >= 0) or _OTHER_KIND.search(rest):
                continue
            return match.start()
        line = text.rfind("\n", 0, match.start()) + 1
        if text[line : match.start()].strip(" \t-") or text[match.end() : match.end() + 1] not in (":", ""):
            continue
        depth = match.start() - line
        lines = rest.split("\n")
        if not all(_is_in_document(each, depth) for each in lines[1:-1]) or _OTHER_KIND.search(rest):
            continue
        if lines[-1].strip() and len(lines) > 1 and len(lines[-1]) - len(lines[-1].lstrip(" \t-")) < depth:
            continue
        return line
    return None
