"""Commands that mode "all" asks about because they remove system packages or data that other projects may use."""

import re

from clio.security import command_risk as tables
from clio.security.command_risk import judge_reading
from clio.security.service_changes import find_service_change
from clio.security.shell.command_line import STDIN_FROM_FILE, CommandLine, SimpleCommand, Word, word_set
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import is_wrapper
from clio.security.targets import list_operands, read_option_values
from clio.text.lazy_regex import LazyRegex

_HARMLESS_PACKAGE_COMMANDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("apt", "apt-get", "aptitude"),
        word_set("""
            install update upgrade safe-upgrade search show list policy depends rdepends download source build-dep
            changelog check satisfy clean autoclean reinstall indextargets versions why help
            """),
    ),
    **dict.fromkeys(
        ("dnf", "dnf5", "yum", "microdnf", "tdnf", "zypper"),
        word_set("""
            install in update up upgrade search se info if list ls lp lu provides repoquery repolist
            repoinfo lr makecache refresh ref check-update check clean download groupinstall grouplist
            builddep reinstall localinstall help deplist config-manager addrepo ar versionlock advisory
            updateinfo
            """),
    ),
    "apk": word_set(
        "add update upgrade search info list fetch fix policy stats version index verify audit cache dot manifest"
    ),
    "brew": word_set("""
        install update upgrade list ls info search deps uses outdated doctor config tap services link home cat fetch
        reinstall desc leaves --prefix --version --cellar --repository shellenv bundle pin unpin formulae casks log
        """),
    "snap": word_set("install refresh find info list version connections services logs changes tasks get"),
    "flatpak": word_set("install update search info list run remotes remote-ls remote-add history config"),
    "port": word_set("install selfupdate upgrade search info list installed outdated contents deps provides variants"),
    "pkg": word_set("install update upgrade search info query rquery version which audit check stats fetch"),
    "emerge": word_set("--sync --search -s -p --pretend --info -v -u -uDN -av -a"),
    "choco": word_set("install upgrade search list info outdated"),
    "winget": word_set("install upgrade search list show source"),
    "scoop": word_set("install update search list info bucket status"),
}
"""System package managers, with the sub-commands that remove nothing."""
_PACKAGE_VALUE_OPTIONS = word_set("-o -t -c -a --option --target-release --config-file --installroot --root -p")
_REMOVING_OPTIONS = LazyRegex(
    r"--(?:auto-?remove|purge|autopurge|remove\S*|erase|unmerge|allow-remove-essential|clean-deps)"
)
_DRY_RUN_OPTIONS = word_set("--simulate --dry-run --just-print --no-act --recon --assumeno --help --version")
_APT_PROGRAMS = word_set("apt apt-get aptitude")
_REMOVING_PACKAGE_OPTIONS = {
    "nix-env": LazyRegex(r"-e|--uninstall|--delete-generations|--rollback"),
    "emerge": LazyRegex(r"-\w*[CcP]\w*|--(?:unmerge|depclean|prune|rage-clean|clean)"),
    **dict.fromkeys(("pip", "pip3", "uv"), LazyRegex(r"--break-system-packages|--system")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), LazyRegex(r"-g|--global|--location=global|global")),
}
"""Options that make a program remove packages or operate on system packages."""
_HARMLESS_PACKAGE_OPTIONS: dict[str, LazyRegex] = {
    "dpkg": LazyRegex(
        r"-[ilLsSpIcexXCV]+|--(?:install|list\S*|status|search|info|contents|extract|vextract|verify|audit|print-\S+"
        r"|configure|unpack|get-selections|compare-versions|add-architecture|no-act|dry-run|simulate|field|show\S*|recursive)|-[aDR]"
        r"|--pending"
    ),
    "rpm": LazyRegex(
        r"-[qVKiUFvhaflpcdRq]+|--(?:query\S*|verify|install|upgrade|freshen|test|checksig|import|eval|showrc|qf|queryformat|all"
        r"|changelog|requires|provides|scripts|last|list|info|file|package|whatprovides|whatrequires|hash|percent|nosignature)(?:=.*)?"
    ),
    "pacman": LazyRegex(
        r"-(?:[SQTFU][a-bd-z]*|[SQF]c|[a-bd-zQSTFU]+|Sc)|--(?:sync|query|upgrade|noconfirm|needed|refresh|sysupgrade|search"
        r"|info|list|files|deptest|print|asdeps|asexplicit|color|owns|quiet|downloadonly|noprogressbar)(?:=.*)?"
    ),
    "apt-mark": LazyRegex(r"show\w+|hold|unhold|manual"),
}
_HARMLESS_PACKAGE_OPTIONS["yay"] = _HARMLESS_PACKAGE_OPTIONS["paru"] = _HARMLESS_PACKAGE_OPTIONS["pacman"]
"""Package managers controlled by an option or first word, with those that remove and force nothing."""
_LANGUAGE_PACKAGE_MANAGERS = word_set("pip pip3 uv npm pnpm yarn bun")
"""Programs whose option matters only together with a sub-command that removes packages."""
_ALWAYS_REMOVING = word_set("""
    dropdb dropuser pg_dropcluster pg_resetwal initdb autoremove deborphan remove-shell nix-collect-garbage pkg_delete
    pkgrm pkg_remove xbps-remove opkg-remove update-alternatives dpkg-divert mongorestore pg_restore mysqladmin crictl
    """)
"""Programs that remove or replace data in every call, except with an option that only lists the actions."""

_CONTAINER_COMMANDS = word_set("""
    attach build buildx builder commit cp create diff events exec export history image images import info init inspect
    kill load login logout logs manifest network pause port ps pull push rename restart rm rmi run save scan scout
    search start stats stop system tag top unpause update version volume wait context container compose machine pod
    unshare play kube generate healthcheck mount unmount secret config plugin trust node service stack swarm
    """)
_HARMLESS_CONTAINER_COMMANDS = {
    "system": word_set("df info events version connection service"),
    "volume": word_set("ls list inspect create exists export mount"),
    "network": word_set("ls list inspect create connect disconnect exists rm remove"),
    "image": word_set("ls list inspect build pull push tag history load save import rm exists tree"),
    "container": word_set("""
        ls list ps inspect start stop restart run exec logs create cp diff top stats port wait attach rename rm kill
        pause unpause commit export update exists
        """),
    "builder": word_set("build ls inspect create use version du"),
    "buildx": word_set("build bake ls inspect create use version du imagetools history"),
    "context": word_set("ls show use create inspect export import update"),
    "machine": word_set("ls list info inspect start stop ssh init"),
    "pod": word_set("ls list ps inspect create start stop restart logs top stats exists"),
    "kube": word_set("generate play"),
    "secret": word_set("ls inspect create"),
    "config": word_set("ls inspect create"),
    "plugin": word_set("ls inspect install enable"),
    "stack": word_set("ls ps services config deploy"),
    "service": word_set("ls ps inspect logs create update scale"),
    "swarm": word_set("init join join-token"),
    "node": word_set("ls ps inspect"),
    "compose": word_set("""
        attach build config convert cp create down events exec images kill logs ls pause port ps pull push
        restart rm run scale start stats stop top unpause up version wait watch
        """),
}
_CONTAINER_VALUE_OPTIONS = word_set("-H --host --context -c --config -l --log-level --connection --url -f --file -p")
_COMPOSE_VALUE_OPTIONS = word_set(
    "-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel --progress"
)
_CONTAINER_CLIENTS = word_set("docker podman nerdctl docker-compose podman-compose")
_IMAGE_FOLDERS = LazyRegex(
    r"/(?:tmp|var/tmp|app|src|workspaces?|work|w|code|usr/src|project|repo|build|var/cache|root/\.cache)(?:/|$)"
)
"""Paths at which a container has its program or temporary files."""
_VOLUME_OPTIONS = LazyRegex(r"-\w*v\w*|--volumes?|--rmi(?:=.*)?|-\w*a\w*|--all")

_HARMLESS_SERVICE_COMMANDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("kubectl", "oc", "k3s"),
        word_set("""
            get describe logs explain version config api-resources api-versions cluster-info top diff wait
            port-forward proxy apply create run expose rollout scale autoscale annotate label set
            exec cp attach auth completion debug events kustomize plugin options uncordon login
            project projects status whoami new-app
            """),
    ),
    "helm": word_set("""
        create dependency dep env get history install lint list ls package pull fetch repo search show inspect status
        template test upgrade verify version completion registry diff help
        """),
    **dict.fromkeys(
        ("terraform", "tofu", "terragrunt"),
        word_set("""
            init plan validate fmt show output graph providers version workspace state get console login logout
            metadata modules test refresh help
            """),
    ),
    "pulumi": word_set("preview up stack config login logout whoami new version about logs plugin import help"),
    "vagrant": word_set(
        "up ssh status halt reload init validate version box global-status provision suspend resume ssh-config"
    ),
    **dict.fromkeys(
        ("kind", "minikube", "k3d"), word_set("create get start stop status load version cluster logs ip service")
    ),
    "redis-cli": word_set("""
        get set mget mset keys scan ping info hget hset hgetall hmget lrange lpush rpush llen sadd smembers
        scard zadd zrange zcard incr decr incrby ttl expire exists type strlen dbsize echo time monitor
        subscribe publish xadd xrange xlen client memory config object slowlog latency command --version --help
        --scan --stat --latency --bigkeys hello setex setnx
        """),
    "etcdctl": word_set("get put watch version endpoint member alarm check snapshot"),
    "mysqladmin": word_set("status ping processlist version variables extended-status create"),
    "rabbitmqctl": word_set(
        "status list_queues list_users list_vhosts list_exchanges list_bindings list_connections version"
    ),
    "virsh": word_set("list dominfo domstate start net-list pool-list vol-list dumpxml version nodeinfo console"),
    **dict.fromkeys(
        ("lxc", "incus"), word_set("list ls info launch start stop exec file image config version profile network")
    ),
    "multipass": word_set("list ls info launch start stop exec shell mount version find transfer"),
}
"""Programs whose data other projects may share, with the sub-commands that discard none of it."""
_SERVICE_VALUE_OPTIONS = word_set(
    "-n --namespace --context --kubeconfig -f -l -o --cluster --user -s --server -h -p -a -u --stack --cwd -C"
    " --kube-context"
)
_HARMLESS_KUBECTL_WORDS = {
    "rollout": word_set("status history restart resume"),
    "set": word_set("image env"),
    "config": word_set(
        "view current-context get-contexts get-clusters get-users use-context set-context set-cluster set-credentials"
    ),
}
"""Second words of kubectl sub-commands that remove nothing."""
_HARMLESS_REDIS_WORDS = {
    "client": word_set("list info id getname setname tracking help"),
    "memory": word_set("usage stats doctor help"),
    "config": word_set("get help"),
    "slowlog": word_set("get len help"),
    "latency": word_set("latest history doctor graph help"),
}
_HARMLESS_TERRAFORM_STATE = word_set("list show pull")
_DELETING_OPTIONS = LazyRegex(
    r"--(?:prune|force|force-delete|delete\S*|destroy|purge|replace|reset-values|remove\S*|yes)|-destroy|-auto-approve"
)

_SQL_CLIENT_OPTIONS = {
    **dict.fromkeys(("psql", "pgcli", "cockroach", "duckdb"), ("-c", "--command", "--execute", "-e")),
    **dict.fromkeys(
        ("mysql", "mariadb", "mycli", "usql", "sqlcmd", "bq", "clickhouse-client"),
        ("-e", "--execute", "-q", "-Q", "--query"),
    ),
    "sqlite3": (),
}
_HARMLESS_SQL = LazyRegex(
    r"(?:select|show|explain|describe|desc|values|create(?!\s+or\s+replace)|insert|begin|start|commit|rollback|set(?!\s+(?:password|global|persist))"
    r"|use|analyze|vacuum|comment|with|pragma|table|fetch|declare|listen|notify|refresh)\b"
    r"|update\b.*\bwhere\b(?!\s+(?:true|1)\b)|alter\s+(?:table|index|type)\b.*\b(?:add|rename|owner)\b|grant\b(?!.*\bpublic\b)"
    r"|copy\b(?!.*\bprogram\b)"
    r"|\\(?:[dlzsx]\w*\+?|timing|conninfo|pset|c|connect|echo|encoding|copy|q|\?|h|e[fv]|s[fv]|gset|gx|watch|a|t|H|f)(?=\s|$)"
    r"|\.(?:tables|schema|databases|mode|headers|indexes|dump|show)\b",
    re.IGNORECASE | re.DOTALL,
)
_SQL_CALL = LazyRegex(r"\b([a-z_]\w*)\s*\(", re.IGNORECASE)
_HARMFUL_SQL_FUNCTION = LazyRegex(
    r"(?i)(?:pg_(?:terminate|cancel|drop|switch|promote|reload|rotate|logical|replication_origin|wal_replay|create_restore"
    r"|start_backup|stop_backup|write|file_(?:write|unlink|rename)|import|advisory_unlock)\w*|lo_(?:unlink|import|export|put|create"
    r"|truncate|from_bytea)|setval|set_config|dblink\w*|query_to_xml\w*|load_extension|writefile|edit|sys_(?:exec|eval)|xp_\w+"
    r"|load_file|kill)"
)
"""SQL functions with side effects, although `select` calls them."""
_SQL_REMOVAL = LazyRegex(r"\b(?:drop|delete|truncate|purge|reassign)\b", re.IGNORECASE)
_QUOTED_SQL = LazyRegex(r"'[^']*'|\"[^\"]*\"")
_DOCUMENT_SHELLS = word_set("mongosh mongo cqlsh influx arangosh")
_HARMLESS_DOCUMENT_CALL = LazyRegex(
    r"(?i)(?:find|findOne|count\w*|distinct|aggregate|stats|getSiblingDB|getCollection\w*|getIndexes|explain|limit|skip|sort"
    r"|toArray|pretty|forEach|map|insert\w*|createIndex\w*|createCollection|createUser|hello|isMaster|status|version|print\w*"
    r"|JSON\.stringify|stringify|ping|getName|serverStatus|hostInfo|listDatabases|ObjectId|ISODate|Date|NumberInt|NumberLong|initiate"
    r"|conf|adminCommand|project|size|length|getUsers|hasNext|next|itcount|log)"
)
_DOCUMENT_CALL = LazyRegex(r"([\w$]+|\])\s*\(")
"""Methods called in shells of document databases that remove nothing."""
_DOCUMENT_REMOVAL = LazyRegex(
    r"(?i)(?:drop|delete|remove|truncate|shutdown|rename|replace|\$out\b|\$merge\b|unset|eval\(|Function\()"
)

_REMOVAL_WORD = LazyRegex(
    r"(?i)(?:.*[-_:.])?(?:delete|del|remove|rm|rb|destroy|purge|prune|terminate|drop|wipe|deregister|uninstall|forget"
    r"|flushall|flushdb|erase|nuke|truncate|undefine|unregister|decommission|evict|empty|autoremove|cleanup|reset)(?:[-_:].*)?"
)
_PROJECT_TOOLS = tables.BUILD_TOOLS | word_set("""
    git gh npm pnpm yarn pip pip3 uv poetry pdm pipenv cargo go bundle composer gem dotnet mix stack cabal
    opam rustup pipx pre-commit alembic django-admin flask rails rake prisma nox tox just task make echo
    printf test [ [[ ls cat grep rg sed awk find fd head tail cut tr export declare local read for which
    type command cd pushd popd touch mkdir cp mv rm rmdir ln jq yq tee sort uniq wc diff code open xdg-open
    man info curl wget
    """)
"""Programs whose operands are packages of the project, texts, or file names."""
_PROGRAM_STARTERS = word_set("then else elif do if while until coproc ! time chrt firejail flock parallel rush ssh su")
"""Programs and shell keywords one of whose operands is the name of a program."""
_USER_WIDE_REMOVALS: tuple[tuple[str, LazyRegex], ...] = (
    (
        "gh",
        LazyRegex(
            r"(?:repo|release|secret|variable|gist|codespace|ssh-key|gpg-key|cache|run|project|issue|extension|label)"
            r" (?:delete|remove)|repo archive|api .*(?:-X|--method)[ =]?DELETE"
        ),
    ),
    (
        "npm",
        LazyRegex(
            r"(?:unpublish|deprecate|owner rm|token revoke|access revoke|dist-tag rm|org rm|team (?:rm|destroy))\b"
        ),
    ),
    ("cargo", LazyRegex(r"(?:yank|uninstall|owner --remove)\b")),
    ("gem", LazyRegex(r"(?:yank|uninstall|cleanup)\b")),
    ("pipx", LazyRegex(r"uninstall")),
    ("uv", LazyRegex(r"(?:tool uninstall|python uninstall)\b")),
    ("rustup", LazyRegex(r"(?:self uninstall|(?:toolchain|component|target) (?:uninstall|remove)|uninstall)\b")),
    ("conda", LazyRegex(r"(?:env remove|remove .*--all|clean)\b")),
    ("mamba", LazyRegex(r"(?:env remove|remove .*--all|clean)\b")),
    ("opam", LazyRegex(r"(?:switch remove|remove|uninstall)\b")),
    ("packer", LazyRegex(r"plugins remove")),
    ("go", LazyRegex(r"clean .*-modcache")),
)
"""Calls of project tools that change the user's accounts, or what is installed for all projects."""


def find_shared_removal(line: CommandLine) -> str:
    """Why a line may remove packages or data that do not belong to the project; "" if it does not."""
    for command in line.commands:
        if command.words and (why := _explain_command(command, line, 0)):
            return why
    return ""


def _explain_command(command: SimpleCommand, line: CommandLine | None, depth: int) -> str:
    program, rest = command.program, command.words[1:]
    argv = command.argv[1:]
    fed = bool(command.upstream or command.stdin)
    if not argv and program not in _ALWAYS_REMOVING and not fed:
        return ""
    dry = bool(_DRY_RUN_OPTIONS & set(argv)) or (program in _APT_PROGRAMS and "-s" in argv)
    if argv in (("--help",), ("--version",), ("-h",)) or (dry and program in _HARMLESS_PACKAGE_COMMANDS):
        return ""
    if why := _explain_packages(command):
        return why
    if program in _CONTAINER_CLIENTS:
        return _explain_containers(command, line, depth)
    if program in _HARMLESS_SERVICE_COMMANDS:
        return _explain_service_client(command, depth)
    if program in _ALWAYS_REMOVING:
        return f"{program} may remove data of other projects"
    if why := find_service_change(command):
        return why
    if program in _SQL_CLIENT_OPTIONS:
        return _explain_sql(program, rest, command, line)
    if program in _DOCUMENT_SHELLS:
        text = " ".join((*argv, command.stdin or ""))
        unknown = any(_HARMLESS_DOCUMENT_CALL.fullmatch(name) is None for name in _DOCUMENT_CALL.findall(text))
        return f"{program} may throw data away" if unknown or _DOCUMENT_REMOVAL.search(text) or command.upstream else ""
    said = " ".join(argv)
    stores = (pattern for name, pattern in _USER_WIDE_REMOVALS if name == program)
    if found := next((match[0] for pattern in stores if (match := pattern.search(said))), ""):
        return f"{program} {found} removes what other projects may use"
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
        return f"{program} replaces packages of the system"
    if program in ("pip", "pip3") and {"sudo", "doas"} & set(command.wrappers):
        argv = ("--system", *argv)
    why = f"{program} removes packages of the system"
    if calls := _HARMLESS_PACKAGE_OPTIONS.get(program):
        said = [text for text in argv if text.startswith("-")] if program != "apt-mark" else list(argv[:1])
        return "" if said and all(map(calls.fullmatch, said)) else why
    if pattern := _REMOVING_PACKAGE_OPTIONS.get(program):
        found = any(pattern.fullmatch(text) for text in argv)
        if program not in _LANGUAGE_PACKAGE_MANAGERS:
            return (
                why
                if found
                else ""
                if program not in _HARMLESS_PACKAGE_COMMANDS
                else _explain_package_command(program, rest, argv, why)
            )
        removes = word_set("uninstall remove rm un r") & set(argv)
        return why if found and removes else ""
    return _explain_package_command(program, rest, argv, why) if program in _HARMLESS_PACKAGE_COMMANDS else ""


def _explain_package_command(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], why: str) -> str:
    if any(_REMOVING_OPTIONS.fullmatch(text) for text in argv):
        return why
    operands = [word.text for word in list_operands(rest, _PACKAGE_VALUE_OPTIONS)]
    first = operands[0] if operands else next(iter(argv), "")
    marked = program.startswith("apt") and operands[1:] and any(text.endswith("-") for text in operands[1:])
    if program == "emerge" or (
        not operands and first.startswith("-") and first not in _HARMLESS_PACKAGE_COMMANDS[program]
    ):
        return ""
    return why if marked or first not in _HARMLESS_PACKAGE_COMMANDS[program] else ""


def _explain_containers(command: SimpleCommand, line: CommandLine | None, depth: int) -> str:
    """Why containers, images or volumes of other projects may be removed."""
    program = command.program
    words = command.words[1:]
    operands = list(list_operands(words, _CONTAINER_VALUE_OPTIONS))
    group = "compose" if program.endswith("compose") else ""
    if not group:
        if not operands:
            return ""
        first, rest = operands[0].text, words[_find_index(words, operands[0]) + 1 :]
        if first not in _CONTAINER_COMMANDS:
            return f"{program} {first} may remove data of other projects"
        group, words = (first, rest) if first in _HARMLESS_CONTAINER_COMMANDS else ("", words)
    else:
        rest = words
    action = ""
    if group:
        inner = list(list_operands(rest, _COMPOSE_VALUE_OPTIONS if group == "compose" else frozenset()))
        action = inner[0].text if inner else ""
        if action and action not in _HARMLESS_CONTAINER_COMMANDS[group]:
            return f"{program} {group} {action} may remove data of other projects"
        rest = rest[_find_index(rest, inner[0]) + 1 :] if inner else ()
    else:
        action = operands[0].text
    options = [word.text for word in rest if word.text.startswith("-")]
    if action in ("rm", "rmi", "down", "remove", "kill", "stop"):
        plain = not any(word.dynamic or word.glob for word in rest)
        if not plain or (action in ("rm", "rmi", "down", "remove") and any(map(_VOLUME_OPTIONS.fullmatch, options))):
            return f"{program} {action} may remove containers or volumes of other projects"
        if "xargs" in command.wrappers:
            return f"{program} {action} may remove containers of other projects"
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
            not in _ALWAYS_REMOVING
            | _HARMLESS_SERVICE_COMMANDS.keys()
            | _SQL_CLIENT_OPTIONS.keys()
            | _DOCUMENT_SHELLS
            | _CONTAINER_CLIENTS
            | known
        ):
            continue
        for call in filter(None, calls):
            inner = SimpleCommand(words=call, written=call, stdin=fed or None)
            if inner.program in known and (
                program == "kubectl" or any(_can_be_on_volume(each, volumes) for each in list_operands(call[1:]))
            ):
                return f"{program} starts {inner.program}, which may throw data away"
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
    said = [each for each in line.commands if each.program in command.upstream] if line is not None else []
    texts = [" ".join(each.argv[1:]) for each in said if each.program in ("echo", "printf")]
    return ";".join((*texts, command.stdin or "")).replace(STDIN_FROM_FILE, "").strip(";")


def _can_be_on_volume(word: Word, volumes: list[str] | None) -> bool:
    """Whether a path in a container may be on a volume that outlives it.

    Args:
        volumes: paths of the volumes of a new container; None for one that already exists.
    """
    text = word.text
    if volumes is None:
        return text.startswith("/") and not _IMAGE_FOLDERS.match(text)
    return any(text == place or text.startswith(f"{place}/") for place in volumes)


def _explain_service_client(command: SimpleCommand, depth: int) -> str:
    program, words = command.program, command.words[1:]
    operands = list(list_operands(words, _SERVICE_VALUE_OPTIONS))
    first = operands[0].text if operands else ""
    name = first.casefold() if program == "redis-cli" else first
    second = operands[1].text.casefold() if len(operands) > 1 else ""
    if program == "redis-cli" and second and second not in _HARMLESS_REDIS_WORDS.get(name, {second}):
        return f"redis-cli {first} {second} may throw away data that other projects use"
    if program == "redis-cli" and command.upstream:
        return f"{program} gets its commands from a pipe"
    if (operands and operands[0].dynamic) or (first and name not in _HARMLESS_SERVICE_COMMANDS[program]):
        return f"{program} {first} may throw away data that other projects use"
    second = operands[1].text if len(operands) > 1 else ""
    deletes = (program == "pulumi" and "-y" in command.argv) or any(
        _DELETING_OPTIONS.fullmatch(word.text) for word in words
    )
    if deletes or (
        second and _REMOVAL_WORD.fullmatch(second) and first not in ("get", "explain", "exec", "set", "logs")
    ):
        return f"{program} {first} {second} may throw away data that other projects use".replace("  ", " ")
    if program in ("terraform", "tofu", "terragrunt") and first == "state" and second not in _HARMLESS_TERRAFORM_STATE:
        return f"{program} state {second} changes what it knows of the infrastructure"
    if program in ("kubectl", "oc", "k3s"):
        if second and second not in _HARMLESS_KUBECTL_WORDS.get(first, {second}):
            return f"{program} {first} {second} may throw away what other projects use"
        removes_label = first in ("label", "annotate") and any(word.text.endswith("-") for word in operands[2:])
        if removes_label or (first == "scale" and any(word.text in ("--replicas=0", "0") for word in words)):
            return f"{program} {first} takes away what other projects may use"
    if first == "exec" and depth == 0 and program in ("kubectl", "oc", "lxc", "incus", "multipass"):
        return _explain_inner_command(words, "kubectl")
    return ""


def _explain_sql(program: str, rest: tuple[Word, ...], command: SimpleCommand, line: CommandLine | None) -> str:
    """Why a text for a database may discard data."""
    texts = [word.text for word in rest if " " in word.text.strip() or ";" in word.text]
    flags = _SQL_CLIENT_OPTIONS[program]
    texts += [rest[at + 1].text for at, word in enumerate(rest[:-1]) if word.text in flags]
    if command.stdin and command.stdin != STDIN_FROM_FILE:
        texts.append(command.stdin)
    if line is not None and command.upstream:
        texts.append(_get_input_text(command, line))
    for text in texts:
        bare = _QUOTED_SQL.sub("''", text)
        for statement in bare.split(";"):
            statement = statement.strip().strip("'\"")
            called = any(map(_HARMFUL_SQL_FUNCTION.fullmatch, _SQL_CALL.findall(statement)))
            if statement and (called or not _HARMLESS_SQL.match(statement) or _SQL_REMOVAL.search(statement)):
                return f"{program} would run {statement[:60]!r}, which may throw data away"
    open_text = any(word.dynamic and rest[at].text in flags for at, word in enumerate(rest[1:]))
    return f"{program} gets a text that is only known when it runs" if open_text else ""


def _explain_unknown_program(
    program: str, rest: tuple[Word, ...], command: SimpleCommand, line: CommandLine | None
) -> str:
    """Why an unknown program may discard data: one of its first operands names such an action."""
    starts_others = is_wrapper(program) or program in _PROGRAM_STARTERS | tables.INTERPRETERS
    if starts_others or program in _PROJECT_TOOLS | tables.FILE_PROGRAMS or "/" in command.words[0].text:
        return ""
    operands = [word.text for word in list_operands(rest)[:3]]
    found = next((text for text in operands if "/" not in text and _REMOVAL_WORD.fullmatch(text)), "")
    found = found or next((word.text for word in rest if _DELETING_OPTIONS.fullmatch(word.text)), "")
    if not found or isinstance(judge_reading(command, line), str) is False:
        return ""
    return f"{program} {found} may throw away what does not belong to the project"


def _find_index(words: tuple[Word, ...], wanted: Word) -> int:
    return next(at for at, word in enumerate(words) if word is wanted)
