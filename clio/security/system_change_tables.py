"""Data: calls of system programs that cannot make a machine unusable, and what a system cannot do without."""

from clio.security.shell.command_line import word_set
from clio.text.lazy_regex import LazyRegex

HARMLESS_SYSTEM_CALLS: dict[str, tuple[str, ...]] = {
    "zfs": ("list", "get", "mount", "snapshot", "send", "diff", "holds", "version", "create", "userspace"),
    "zpool": ("list", "get", "status", "iostat", "history", "version", "scrub"),
    "btrfs": (
        "subvolume list",
        "subvolume show",
        "subvolume snapshot",
        "subvolume create",
        "subvolume get-default",
        "filesystem df",
        "filesystem show",
        "filesystem usage",
        "filesystem du",
        "scrub status",
        "device stats",
        "device usage",
        "version",
        "property get",
    ),
    "systemctl": (
        "status",
        "show",
        "cat",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-sockets",
        "list-jobs",
        "list-dependencies",
        "is-active",
        "is-enabled",
        "is-failed",
        "is-system-running",
        "get-default",
        "daemon-reload",
        "daemon-reexec",
        "start",
        "restart",
        "reload",
        "try-restart",
        "reload-or-restart",
        "enable",
        "reset-failed",
        "help",
        "edit",
        "link",
        "preset",
        "unmask",
        "stop",
        "disable",
    ),
    "ip": ("addr show", "a", "addr", "address", "link show", "link", "l", "route", "r", "neigh", "route show"),
    **dict.fromkeys(("iptables", "ip6tables"), ("-L", "-S", "-nL", "-nvL", "-vnL", "-C", "-A", "-I", "--list")),
    "nft": ("list",),
    "ufw": ("status", "allow", "show", "app"),
    "nmcli": ("device status", "device show", "con show", "connection show", "general", "g", "device wifi list"),
    "dmsetup": ("ls", "info", "status", "table", "deps", "targets", "version"),
    "crontab": ("-l",),
    "sysctl": ("-a", "-n", "--all", "-N"),
    "efibootmgr": ("", "-v", "--verbose"),
    "nvram": ("-p", "-xp"),
    "fwupdmgr": ("get-devices", "get-updates", "get-history", "get-remotes", "--version"),
    "launchctl": ("list", "print", "load", "start", "kickstart", "bootstrap", "blame", "version", "help"),
    "csrutil": ("status",),
    "tmutil": ("status", "listbackups", "latestbackup", "destinationinfo", "version", "startbackup", "localsnapshot"),
    "swapoff": ("--help", "--version", "-V"),
    "init": ("q", "Q", "u", "U"),
    "telinit": ("q", "Q", "u", "U"),
    "cryptsetup": (
        "luksDump",
        "isLuks",
        "status",
        "open",
        "close",
        "luksOpen",
        "luksClose",
        "luksUUID",
        "benchmark",
        "--version",
    ),
    "passwd": ("-S", "--status", "--help"),
}
"""Programs that change the machine, with the first operands or options of harmless or everyday calls."""
ALWAYS_ASKED = word_set("""
    lvremove lvreduce vgremove vgreduce pvremove userdel deluser groupdel delgroup usermod chsh pivot_root switch_root
    flashrom fsfreeze asr authselect pam-auth-update grub-install grub2-install update-grub systemd-firstboot kexec
    vipw vigr visudo pwconv pwunconv chpasswd newusers xfs_repair debugfs resize2fs xfs_growfs
    """)
NEEDED_UNITS = LazyRegex(
    r"(?:sshd?|network(?:ing)?|NetworkManager|wpa_supplicant|dbus(?:-broker)?|docker|containerd|systemd-\S+|getty\S*"
    r"|gdm3?|sddm|lightdm|display-manager|polkit|udev|cron|crond|firewalld|ufw|nftables)(?:\.(?:service|socket))?"
)
ESSENTIAL_PACKAGES = LazyRegex(
    r"(?:libc6?|glibc|bash|dash|coreutils|systemd|sysvinit|init|dpkg|rpm|apt|dnf|yum|pacman|util-linux|base-files|musl"
    r"|busybox|linux-image\S*|kernel\S*|grub\S*|sudo|login|passwd|\*|\S*\*\S*)(?::\w+)?"
)
PACKAGE_REMOVALS = {
    **dict.fromkeys(("apt", "apt-get", "aptitude"), word_set("remove purge --purge")),
    "dpkg": word_set("-r -P --remove --purge"),
    "rpm": word_set("-e --erase -ev"),
    **dict.fromkeys(("dnf", "yum", "zypper"), word_set("remove erase rm")),
    "pacman": word_set("-R -Rs -Rns -Rn -Rc -Rsc -Rdd"),
    "apk": word_set("del"),
}
IRREPLACEABLE_FOLDERS = word_set(
    ".ssh .gnupg .password-store .aws .kube Documents Desktop Pictures Music Videos Movies Downloads Library Mail"
)
"""Files in a home folder that cannot be restored from elsewhere."""
KERNEL_FOLDERS = ("/proc/sys", "/sys/")
PROGRAM_FOLDERS = (
    "/bin/",
    "/sbin/",
    "/lib",
    "/boot/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/libexec/",
)
