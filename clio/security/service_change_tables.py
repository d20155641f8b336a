"""Data: everyday calls of programs that manage accounts, services and machines.

The tables list what is everyday use; every other call of a listed program makes mode "all" ask.
"""

from clio.security.shell.command_line import word_set
from clio.text.lazy_regex import LazyRegex

READING_VERBS = (
    r"(?:describe|list|get|head|show|view|status|info|ls|lookup|search|batch-get|scan|query|filter|tail|wait|validate|"
    r"estimate|simulate|test|preview|help|login|configure|config|check|diff|read|download|export|print|logs?|whoami|"
    r"version|ssh|proxy|build|dev|open|docs|doctor|detect|lint|synth|synthesize|init|local|package|explain|presign|sso|watch)"
)
CREATING_VERBS = (
    r"(?:create|start|run|run-instances|invoke|mb|make|new|add|generate|submit|register|enable|import-key-pair)"
)
EVERYDAY_VERB = LazyRegex(rf"(?:{READING_VERBS}|{CREATING_VERBS})(?:[-:].*)?")
ACCOUNT_PROGRAMS: dict[str, tuple[frozenset[str], int]] = {
    "gcloud": (word_set("--project --account --configuration --region --zone --format --filter"), 5),
    "az": (word_set("--subscription --output -o --query -g -n"), 4),
    "oci": (word_set("--profile --region --compartment-id"), 4),
    "doctl": (word_set("-t --access-token --context -o --output"), 4),
    "hcloud": (word_set("--context --config"), 2),
    "linode-cli": (frozenset(), 2),
    "scw": (frozenset(), 3),
    "aliyun": (frozenset(), 2),
    "ibmcloud": (frozenset(), 3),
    "heroku": (word_set("-a --app -r --remote"), 1),
    **dict.fromkeys(("fly", "flyctl"), (word_set("-a --app -c --config"), 2)),
    **dict.fromkeys(
        ("vercel", "netlify", "wrangler", "railway", "render", "supabase", "firebase"), (word_set("--cwd"), 2)
    ),
    **dict.fromkeys(("cdk", "sam", "serverless", "sls", "copilot", "eb", "amplify"), (word_set("--stage --region"), 2)),
    **dict.fromkeys(("vault", "consul", "nomad"), (frozenset[str](), 2)),
    "argocd": (frozenset(), 2),
    "flux": (frozenset(), 2),
    "istioctl": (frozenset(), 2),
    "eksctl": (frozenset(), 2),
    "gsutil": (word_set("-o -h -u"), 1),
    "bq": (word_set("--project_id --location --format"), 1),
}
"""Programs that manage accounts: their options with a value, and the most words that precede the verb."""
EVERYDAY_VERBS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("vercel", "netlify", "wrangler", "railway", "firebase"),
        word_set("deploy link env functions serve emulators pull"),
    ),
    **dict.fromkeys(("fly", "flyctl"), word_set("deploy launch auth")),
    "supabase": word_set("start status gen link"),
    "heroku": word_set("git:remote ps releases apps addons local run"),
    "sam": word_set("deploy"),
    **dict.fromkeys(("serverless", "sls"), word_set("deploy offline invoke")),
    "cdk": word_set("deploy bootstrap"),
    "eb": word_set("deploy"),
    "gsutil": word_set("ls cat stat du cp hash version"),
    "bq": word_set("ls head mk load extract"),
    "az": word_set("up"),
    "gcloud": word_set("deploy cp cat print-access-token activate set auth"),
    "nomad": word_set("plan fmt run"),
    "vault": word_set("kv token"),
}
AWS_VALUE_OPTIONS = word_set("--profile --region --output --endpoint-url --query --color --ca-bundle")
GH_EVERYDAY_COMMANDS: dict[str, frozenset[str]] = {
    "pr": word_set(
        "create list view status checks diff checkout comment review edit ready merge update-branch close reopen"
    ),
    "issue": word_set("create list view status comment edit develop close reopen pin unpin"),
    "repo": word_set("clone view list create fork sync set-default"),
    "release": word_set("list view create download upload"),
    "run": word_set("list view watch download rerun cancel"),
    "workflow": word_set("list view run"),
    "gist": word_set("list view create clone"),
    "auth": word_set("status login token setup-git refresh switch"),
    "label": word_set("list create clone"),
    "secret": word_set("list"),
    "variable": word_set("list get"),
    "cache": word_set("list"),
    "project": word_set("list view item-list field-list create item-add item-create"),
    "codespace": word_set("list view create ssh logs code ports cp"),
    "extension": word_set("list search browse install create"),
    "alias": word_set("list"),
    "config": word_set("get list"),
    "search": word_set("code commits issues prs repos"),
    "ruleset": word_set("list view check"),
    "org": word_set("list"),
    "ssh-key": word_set("list"),
    "gpg-key": word_set("list"),
    "attestation": word_set("verify download trusted-root"),
    "status": frozenset(),
    "browse": frozenset(),
    "help": frozenset(),
    "version": frozenset(),
    "completion": frozenset(),
}
GH_ENDING_COMMANDS = word_set("close merge cancel")
"""Sub-commands that are everyday work on the project's own repository, but not on another one (`-R`)."""

EVERYDAY_ARGUMENTS: dict[str, LazyRegex] = {
    **dict.fromkeys(
        ("service", "rc-service"),
        LazyRegex(
            r"(?!(?:ssh|sshd|networking|network|NetworkManager|dbus|docker|systemd\S*) stop)(?:\S+ )?"
            r"(?:status|start|restart|reload|stop|--status-all)|"
        ),
    ),
    "chkconfig": LazyRegex(r"(?:--list.*)?"),
    "rc-update": LazyRegex(r"(?:show.*)?"),
    "update-rc.d": LazyRegex(r"\S+ (?:defaults|enable).*"),
    "at": LazyRegex(r"-[lVc].*|"),
    "hostnamectl": LazyRegex(r"(?:status.*|)"),
    "timedatectl": LazyRegex(r"(?:(?:status|show|list-timezones|timesync-status|show-timesync).*|)"),
    "localectl": LazyRegex(r"(?:(?:status|list-\S+).*|)"),
    "loginctl": LazyRegex(r"(?:(?:list-|show-|\S+-status|session-status|user-status|enable-linger).*|)"),
    "hwclock": LazyRegex(r"(?:-r|--show|--get|-v|--verbose|--version)?"),
    "modprobe": LazyRegex(r"(?:-n|-D|-c|--dry-run|--show\S*|--showconfig|-\w*n\w*) ?.*|[\w-]+"),
    "logrotate": LazyRegex(r"(?:-d|--debug|-dv|-vd|--version) ?.*"),
    "ldconfig": LazyRegex(r"(?:-[pNXvV]+|--print-cache|--version)?"),
    "swapon": LazyRegex(r"(?:-s|--summary|--show\S*.*|-V|--version)?"),
    "losetup": LazyRegex(r"(?:-l|-a|-j|-f|--list|--all|--find|--version).*|"),
    "chage": LazyRegex(r"(?:-l|--list) .*"),
    "tmux": LazyRegex(
        r"(?:(?:-[LfS] \S+ )?(?:new|new-session|ls|list-\S+|attach\S*|a|at|has\S*|capture-pane|show\S*|display\S*|info"
        r"|send-keys|send|split-window|splitw|new-window|neww|select-\S+|rename-\S+|set\S*|source\S*|start-server|switch-client"
        r"|detach\S*|kill-session -t|kill-window|kill-pane|pipe-pane|resize\S*|wait-for|-V|-2|-u)(?: .*)?|)"
    ),
    "screen": LazyRegex(
        r"(?:-(?:ls|list|r|x|d|dm|dmS|S|dr|R|RR|m|v|L|U|a|A|h|t|s|p|list)\b(?!.* -X.* (?:quit|kill)).*|)"
    ),
    "firewall-cmd": LazyRegex(
        r"(?:--(?:state|list-\S+|get-\S+|query-\S+|info-\S+|zone=\S+|version|permanent|add-\S+|reload)(?: |$))+"
    ),
    "gpasswd": LazyRegex(r"-a .*"),
    **dict.fromkeys(("iptables-restore", "ip6tables-restore"), LazyRegex(r"(?:-t|--test)(?: .*)?")),
    **dict.fromkeys(("rmmod", "atrm", "batch", "dpkg-reconfigure", "reset-failed"), LazyRegex(r"--help|--version")),
    "guix": LazyRegex(
        r"(?:install|build|search|show|package -[iIA]|shell|environment|describe|pull|size|graph|lint|weather).*"
    ),
    "snapper": LazyRegex(r".*\b(?:list|status|diff|create|get-config|list-configs)\b.*"),
    "mdadm": LazyRegex(r"(?:--detail|-D|--examine|-E|--query|-Q|--version).*"),
    "pg_ctl": LazyRegex(r"(?!.*\bkill\b).*\b(?:status|start|restart|reload|stop|initdb|promote)\b.*"),
    "pg_ctlcluster": LazyRegex(r".*\b(?:status|start|restart|reload)\b.*"),
    "sftp": LazyRegex(r"(?!-b|.* -b).*"),
    "rclone": LazyRegex(
        r"(?:ls\w*|lsf|lsjson|size|cat|check|copy|copyto|about|listremotes|version|md5sum|sha1sum|tree|mount|ncdu|config).*"
    ),
    "restic": LazyRegex(
        r"(?:.* )?(?:backup|snapshots|ls|restore|check|diff|find|stats|mount|init|version|cat|list)(?: .*)?"
    ),
    "borg": LazyRegex(r"(?:.* )?(?:create|list|info|extract|check|diff|mount|init|version|export-tar)(?: .*)?"),
    "qemu-img": LazyRegex(r"(?:info|check|create|map|measure|compare|convert)(?: .*)?"),
    "VBoxManage": LazyRegex(r"(?:list|showvminfo|startvm|createvm|import|export|guestproperty get|--version)(?: .*)?"),
    "virsh": LazyRegex(
        r"(?:list|dominfo|domstate|start|net-list|pool-list|vol-list|dumpxml|version|nodeinfo|console)(?: .*)?"
    ),
    **dict.fromkeys(("useradd", "adduser", "groupadd", "addgroup", "createuser"), LazyRegex(r"--help|--version")),
    **dict.fromkeys(
        ("flyway", "liquibase"),
        LazyRegex(r"(?:.* )?(?:migrate|info|validate|baseline|status|update|diff|generate\S*)(?: .*)?"),
    ),
    **dict.fromkeys(
        ("kafka-topics", "kafka-topics.sh", "rabbitmqadmin"),
        LazyRegex(r"(?!.*(?:delete|purge)).*(?:list|describe|create|show|get|declare|publish).*"),
    ),
    "nix": LazyRegex(
        r"(?:--\S+ )*(?:build|develop|shell|run|flake|eval|search|show-\S+|log|fmt|repl|path-info|why-depends|hash"
        r"|print-dev-env|profile (?:install|list|upgrade|add)|"
        r"store (?:ls|cat|path-info|verify|add-\S+|ping|diff-closures)|registry list"
        r"|doctor|derivation|bundle|copy|edit|help|config|--version).*"
    ),
    "gpg": LazyRegex(r"(?!.*(?:--delete|--gen-revoke|--edit-key|--quick-revoke)).*"),
    "ssh-keygen": LazyRegex(r"(?!(?:.* )?-[RA]\b).*"),
    "ssh-add": LazyRegex(r"(?!(?:.* )?-[dD]\b).*"),
    "mongoimport": LazyRegex(r"(?!.*--(?:drop|mode)).*"),
    "opam": LazyRegex(r"(?!switch remove|remove|uninstall|clean|.*--destdir).*"),
    "renice": LazyRegex(r"(?:-n )?\+?\d+ (?:-p )?(?!1\b)\d+"),
    "date": LazyRegex(r"(?!(?:.* )?(?:-s|--set|\d{8})).*"),
    "journalctl": LazyRegex(r"(?!.*--(?:vacuum|rotate|flush|relinquish|setup-keys|update-catalog|sync)).*"),
}
"""Programs that manage the machine or a server, with a pattern for the arguments of everyday calls, joined by blanks.
"""
ADMINISTRATION_PROGRAMS = word_set("""
    initctl sv s6-svc s6-rc runsvdir supervisorctl pfctl iw iwconfig rfkill resolvectl resolvconf scutil smartctl
    hdparm nvme groupmod chfn pwck grpck faillock hostname domainname setenforce semanage setsebool auditctl
    aa-disable aa-enforce aa-complain apparmor_parser depmod insmod ntpdate chronyc grub-mkconfig grub2-mkconfig
    dracut mkinitcpio update-initramfs update-grub bcdedit kextunload kextload spctl pmset gsettings dconf
    kwriteconfig5 kwriteconfig6 xdg-mime xdg-settings wall ipcrm vgchange lvchange pvchange lvresize lvextend
    lvreduce multipathd multipath iscsiadm targetcli exportfs smbpasswd pdbedit rndc postfix postsuper postqueue
    lpadmin cupsdisable cancel certbot softwareupdate pkgutil systemsetup networksetup nvidia-smi tuned-adm
    powerprofilesctl update-locale locale-gen update-ca-certificates update-ca-trust authconfig systemd-tmpfiles
    systemd-sysusers machinectl portablectl homectl busctl udevadm zramctl ethtool tc bridge ovs-vsctl wg wg-quick
    tailscale zerotier-cli ipset conntrack fail2ban-client ntfsfix fsck e2fsck fstrim quotaon quotaoff setquota
    edquota lastlog tune2fs e2label mcopy memcflush nodetool elasticsearch-reset-password elasticsearch-plugin
    rabbitmq-plugins cassandra-cli kops kubeadm helmfile ansible ansible-playbook ansible-vault salt salt-call
    puppet pm2 xkill sops-rotate chef-client capsh setcap semodule restorecon chcon tarsnap
    """)
"""Programs that manage the machine, its services or other machines. Only calls that state a read-only action run."""
READING_ARGUMENTS = LazyRegex(
    r"(?:(?:-[lLqhV]|--?(?:list\S*|show\S*|status|version|help|query\S*|info|print\S*|check|dry-run|syntax-check|diff|get\S*"
    r"|list-hosts|list-tasks|list-tags|test)|status|list\S*|show\S*|get\S*|info|query\S*|check\S*|test|print\S*|version|help"
    r"|avail|certificates|sources|tracking|lookup|diff|template|lint|monitor|dump|scan|verify|installed|tree|graph|facts|ping)"
    r"(?:=\S*)?(?: .*)?)?"
)
FIREWALLS = word_set("iptables ip6tables")
SAFE_METHODS = word_set("GET HEAD OPTIONS POST TRACE")
METHOD_OPTIONS = {"curl": ("-X", "--request"), "wget": ("--method",)}
LOCAL_SERVER = LazyRegex(
    r"(?:https?://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0|[\w-]+\.localhost)?(?P<port>:\d+)?(?:[/?].*)?"
)
DATA_PORTS = word_set(
    ":9200 :9201 :5984 :8500 :2379 :2375 :2376 :6333 :8086 :8123 :15672 :8200 :4646 :6443 :10250 :7474"
)
"""Ports of databases, search engines and the container service, which other projects may use as well."""

EVERYDAY_SECOND_VERBS = {
    ("vault", "kv"): word_set("get list metadata"),
    ("vault", "token"): word_set("lookup create renew"),
    ("supabase", "db"): word_set("diff pull dump lint push"),
    ("wrangler", "d1"): word_set("list info create migrations export"),
    ("wrangler", "kv"): word_set("list get"),
    ("vercel", "env"): word_set("ls pull add"),
    ("railway", "env"): word_set("list"),
}
