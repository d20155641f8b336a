"""Data: calls of package managers, containers, databases and clusters that remove nothing of other projects.

The tables list what is harmless; every other sub-command of a listed program makes mode "all" ask.
"""

import re

from clio.security import command_risk as tables
from clio.security.shell.command_line import word_set
from clio.text.lazy_regex import LazyRegex

HARMLESS_PACKAGE_COMMANDS: dict[str, frozenset[str]] = {
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
PACKAGE_VALUE_OPTIONS = word_set("-o -t -c -a --option --target-release --config-file --installroot --root -p")
REMOVING_OPTIONS = LazyRegex(
    r"--(?:auto-?remove|purge|autopurge|remove\S*|erase|unmerge|allow-remove-essential|clean-deps)"
)
DRY_RUN_OPTIONS = word_set("--simulate --dry-run --just-print --no-act --recon --assumeno --help --version")
APT_PROGRAMS = word_set("apt apt-get aptitude")
REMOVING_PACKAGE_OPTIONS = {
    "nix-env": LazyRegex(r"-e|--uninstall|--delete-generations|--rollback"),
    "emerge": LazyRegex(r"-\w*[CcP]\w*|--(?:unmerge|depclean|prune|rage-clean|clean)"),
    **dict.fromkeys(("pip", "pip3", "uv"), LazyRegex(r"--break-system-packages|--system")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), LazyRegex(r"-g|--global|--location=global|global")),
}
"""Options that make a program remove packages or operate on system packages."""
HARMLESS_PACKAGE_OPTIONS: dict[str, LazyRegex] = {
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
HARMLESS_PACKAGE_OPTIONS["yay"] = HARMLESS_PACKAGE_OPTIONS["paru"] = HARMLESS_PACKAGE_OPTIONS["pacman"]
"""Package managers controlled by an option or first word, with those that remove and force nothing."""
LANGUAGE_PACKAGE_MANAGERS = word_set("pip pip3 uv npm pnpm yarn bun")
"""Programs whose option matters only together with a sub-command that removes packages."""
ALWAYS_REMOVING = word_set("""
    dropdb dropuser pg_dropcluster pg_resetwal initdb autoremove deborphan remove-shell nix-collect-garbage pkg_delete
    pkgrm pkg_remove xbps-remove opkg-remove update-alternatives dpkg-divert mongorestore pg_restore mysqladmin crictl
    """)
"""Programs that remove or replace data in every call, except with an option that only lists the actions."""

CONTAINER_COMMANDS = word_set("""
    attach build buildx builder commit cp create diff events exec export history image images import info init inspect
    kill load login logout logs manifest network pause port ps pull push rename restart rm rmi run save scan scout
    search start stats stop system tag top unpause update version volume wait context container compose machine pod
    unshare play kube generate healthcheck mount unmount secret config plugin trust node service stack swarm
    """)
HARMLESS_CONTAINER_COMMANDS = {
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
CONTAINER_VALUE_OPTIONS = word_set("-H --host --context -c --config -l --log-level --connection --url -f --file -p")
COMPOSE_VALUE_OPTIONS = word_set(
    "-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel --progress"
)
CONTAINER_CLIENTS = word_set("docker podman nerdctl docker-compose podman-compose")
IMAGE_FOLDERS = LazyRegex(
    r"/(?:tmp|var/tmp|app|src|workspaces?|work|w|code|usr/src|project|repo|build|var/cache|root/\.cache)(?:/|$)"
)
"""Paths at which a container has its program or temporary files."""
VOLUME_OPTIONS = LazyRegex(r"-\w*v\w*|--volumes?|--rmi(?:=.*)?|-\w*a\w*|--all")

HARMLESS_SERVICE_COMMANDS: dict[str, frozenset[str]] = {
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
SERVICE_VALUE_OPTIONS = word_set(
    "-n --namespace --context --kubeconfig -f -l -o --cluster --user -s --server -h -p -a -u --stack --cwd -C"
    " --kube-context"
)
HARMLESS_KUBECTL_WORDS = {
    "rollout": word_set("status history restart resume"),
    "set": word_set("image env"),
    "config": word_set(
        "view current-context get-contexts get-clusters get-users use-context set-context set-cluster set-credentials"
    ),
}
"""Second words of kubectl sub-commands that remove nothing."""
HARMLESS_REDIS_WORDS = {
    "client": word_set("list info id getname setname tracking help"),
    "memory": word_set("usage stats doctor help"),
    "config": word_set("get help"),
    "slowlog": word_set("get len help"),
    "latency": word_set("latest history doctor graph help"),
}
HARMLESS_TERRAFORM_STATE = word_set("list show pull")
DELETING_OPTIONS = LazyRegex(
    r"--(?:prune|force|force-delete|delete\S*|destroy|purge|replace|reset-values|remove\S*|yes)|-destroy|-auto-approve"
)

SQL_CLIENT_OPTIONS = {
    **dict.fromkeys(("psql", "pgcli", "cockroach", "duckdb"), ("-c", "--command", "--execute", "-e")),
    **dict.fromkeys(
        ("mysql", "mariadb", "mycli", "usql", "sqlcmd", "bq", "clickhouse-client"),
        ("-e", "--execute", "-q", "-Q", "--query"),
    ),
    "sqlite3": (),
}
HARMLESS_SQL = LazyRegex(
    r"(?:select|show|explain|describe|desc|values|create(?!\s+or\s+replace)|insert|begin|start|commit|rollback|set(?!\s+(?:password|global|persist))"
    r"|use|analyze|vacuum|comment|with|pragma|table|fetch|declare|listen|notify|refresh)\b"
    r"|update\b.*\bwhere\b(?!\s+(?:true|1)\b)|alter\s+(?:table|index|type)\b.*\b(?:add|rename|owner)\b|grant\b(?!.*\bpublic\b)"
    r"|copy\b(?!.*\bprogram\b)"
    r"|\\(?:[dlzsx]\w*\+?|timing|conninfo|pset|c|connect|echo|encoding|copy|q|\?|h|e[fv]|s[fv]|gset|gx|watch|a|t|H|f)(?=\s|$)"
    r"|\.(?:tables|schema|databases|mode|headers|indexes|dump|show)\b",
    re.IGNORECASE | re.DOTALL,
)
SQL_CALL = LazyRegex(r"\b([a-z_]\w*)\s*\(", re.IGNORECASE)
HARMFUL_SQL_FUNCTION = LazyRegex(
    r"(?i)(?:pg_(?:terminate|cancel|drop|switch|promote|reload|rotate|logical|replication_origin|wal_replay|create_restore"
    r"|start_backup|stop_backup|write|file_(?:write|unlink|rename)|import|advisory_unlock)\w*|lo_(?:unlink|import|export|put|create"
    r"|truncate|from_bytea)|setval|set_config|dblink\w*|query_to_xml\w*|load_extension|writefile|edit|sys_(?:exec|eval)|xp_\w+"
    r"|load_file|kill)"
)
"""SQL functions with side effects, although `select` calls them."""
SQL_REMOVAL = LazyRegex(r"\b(?:drop|delete|truncate|purge|reassign)\b", re.IGNORECASE)
QUOTED_SQL = LazyRegex(r"'[^']*'|\"[^\"]*\"")
DOCUMENT_SHELLS = word_set("mongosh mongo cqlsh influx arangosh")
HARMLESS_DOCUMENT_CALL = LazyRegex(
    r"(?i)(?:find|findOne|count\w*|distinct|aggregate|stats|getSiblingDB|getCollection\w*|getIndexes|explain|limit|skip|sort"
    r"|toArray|pretty|forEach|map|insert\w*|createIndex\w*|createCollection|createUser|hello|isMaster|status|version|print\w*"
    r"|JSON\.stringify|stringify|ping|getName|serverStatus|hostInfo|listDatabases|ObjectId|ISODate|Date|NumberInt|NumberLong|initiate"
    r"|conf|adminCommand|project|size|length|getUsers|hasNext|next|itcount|log)"
)
DOCUMENT_CALL = LazyRegex(r"([\w$]+|\])\s*\(")
"""Methods called in shells of document databases that remove nothing."""
DOCUMENT_REMOVAL = LazyRegex(
    r"(?i)(?:drop|delete|remove|truncate|shutdown|rename|replace|\$out\b|\$merge\b|unset|eval\(|Function\()"
)

REMOVAL_WORD = LazyRegex(
    r"(?i)(?:.*[-_:.])?(?:delete|del|remove|rm|rb|destroy|purge|prune|terminate|drop|wipe|deregister|uninstall|forget"
    r"|flushall|flushdb|erase|nuke|truncate|undefine|unregister|decommission|evict|empty|autoremove|cleanup|reset)(?:[-_:].*)?"
)
PROJECT_TOOLS = tables.BUILD_TOOLS | word_set("""
    git gh npm pnpm yarn pip pip3 uv poetry pdm pipenv cargo go bundle composer gem dotnet mix stack cabal
    opam rustup pipx pre-commit alembic django-admin flask rails rake prisma nox tox just task make echo
    printf test [ [[ ls cat grep rg sed awk find fd head tail cut tr export declare local read for which
    type command cd pushd popd touch mkdir cp mv rm rmdir ln jq yq tee sort uniq wc diff code open xdg-open
    man info curl wget
    """)
"""Programs whose operands are packages of the project, texts, or file names."""
PROGRAM_STARTERS = word_set("then else elif do if while until coproc ! time chrt firejail flock parallel rush ssh su")
"""Programs and shell keywords one of whose operands is the name of a program."""
USER_WIDE_REMOVALS: tuple[tuple[str, LazyRegex], ...] = (
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
