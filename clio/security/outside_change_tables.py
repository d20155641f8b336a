"""Data: which arguments of a program name files that it changes, and which programs only read what they name."""

from clio.security import command_risk as tables
from clio.security.shell.command_line import word_set
from clio.security.shell.wrappers import SHELLS

REMOVAL_PROGRAMS = word_set(
    "rm rmdir unlink shred srm wipe rimraf trash trash-put trash-cli del-cli del rmtrash mv gio gvfs-trash"
)
COMPRESSORS = word_set("gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma compress uncompress lzip lz4 brotli zstd")
CHANGING_PROGRAMS = COMPRESSORS | word_set("""
    chmod chown chgrp setfacl chattr setfattr xattr patch ed ex vim vi nvim nano emacs dos2unix unix2dos rename
    prename mmv strip objcopy patchelf install_name_tool codesign plutil
    """)
"""Programs that change or replace each file they name."""
OVERWRITING_PROGRAMS = word_set("truncate tee split csplit sponge")
COPYING_PROGRAMS = word_set("cp install ln scp rsync dcfldd dc3dd ddrescue ditto")
"""Programs that read all operands but the last, and write that one."""
IN_PLACE_EDITORS = word_set("sed gsed perl ruby gawk awk yq clang-format prettier black isort ruff shfmt gofmt")
OUTPUT_OPTIONS = {
    "wget": ("-O", "--output-document", "-P", "--directory-prefix"),
    "sort": ("-o", "--output"),
    "tar": ("-C", "--directory", "--one-top-level"),
    "bsdtar": ("-C", "--directory"),
    "unzip": ("-d",),
    "7z": ("-o",),
    "cp": ("-t", "--target-directory"),
    "mv": ("-t", "--target-directory"),
    "ln": ("-t", "--target-directory"),
    "install": ("-t", "--target-directory"),
    "patch": ("-d", "--directory", "-o", "--output"),
    "openssl": ("-out",),
    "curl": ("-o", "--output", "--output-dir"),
    "ssh-keygen": ("-f",),
    "csplit": ("-f", "--prefix"),
    "cpio": ("-D", "--directory"),
}
"""Options whose value is a file or folder that is written."""
UNPACKING_PROGRAMS = word_set("tar bsdtar unzip 7z rsync")
"""Programs that write names below a folder that the line does not contain."""
VALUE_OPTIONS = {
    "truncate": word_set("-s -r --size --reference"),
    "shred": word_set("-n -s --iterations --size"),
    "install": word_set("-m -o -g --mode --owner --group"),
    "split": word_set("-b -l -n -a -C"),
    "scp": word_set("-P -i -o -F -c -l"),
    "rsync": word_set("-e --exclude --include --rsh --filter"),
    "patch": word_set("-p -i --input --strip"),
    **dict.fromkeys(("gzip", "xz", "bzip2"), word_set("-S --suffix")),
}
MODE_FIRST_PROGRAMS = word_set("chmod chown chgrp chattr rename prename setfacl")
SCRIPT_FIRST_PROGRAMS = word_set("sed gsed perl ruby awk gawk")
BUILD_TOOLS = (
    tables.BUILD_TOOLS - tables.INTERPRETERS - word_set("sqlite3 psql mysql redis-cli mongosh helm ansible vagrant")
)
FOLDER_OPTIONS = (
    "-C",
    "--directory",
    "--prefix",
    "--cwd",
    "--dir",
    "--manifest-path",
    "--target",
    "--target-dir",
    "--project",
    "--project-dir",
    "--build",
    "--build-dir",
    "-B",
    "-o",
    "--out",
    "--output",
    "--outdir",
    "--out-dir",
    "--outfile",
    "--workspace",
)
"""Options by which build tools and package managers select the folder to work in or write to."""
PROGRAM_FOLDER_OPTIONS = {
    "gradle": ("-p",),
    "gradlew": ("-p",),
    "mvn": ("-f", "--file"),
    "mvnw": ("-f", "--file"),
    "make": ("-f",),
}
SYSTEM_FOLDERS = (
    "/usr/",
    "/opt/",
    "/lib",
    "/etc/",
    "/bin/",
    "/sbin/",
    "/nix/",
    "/snap/",
    "/proc/",
    "/sys/",
    "/Library/",
    "/System/",
    "/Applications/",
)
"""Folders with the system's programs and settings, which other programs read."""
INPUT_OPTIONS = word_set("""
    -I -L -i -c -k -K -F -isystem -iquote --config --config-file --conf --env-file --kubeconfig --key --cert
    --cacert --ca --identity --identity-file --inventory --sysroot --include --from-file --input --values --var-file
    --ssh --secret
    """)
FORMATTERS = word_set("""
    ruff black isort autopep8 yapf prettier eslint biome rustfmt gofmt goimports shfmt clang-format rubocop
    stylelint standard dprint pyupgrade autoflake 2to3 taplo terraform-fmt buf meson bazel
    """)
PATH_READERS = (
    (BUILD_TOOLS - FORMATTERS)
    | tables.INTERPRETERS
    | tables.FILE_PROGRAMS
    | SHELLS
    | word_set("""
    cd pushd popd export declare typeset local readonly unset source . [ [[ test echo printf read alias hash type exit
    return set shift trap umask ulimit wait if for while case code open xdg-open subl idea less more man diff vimdiff
    meld cmp git gh hub glab curl wget ssh ssh-add ssh-copy-id scp sftp docker podman nerdctl docker-compose kubectl
    terraform tofu aws gcloud az helm kustomize skaffold ansible ansible-playbook tmux screen gdb lldb strace ltrace
    perf valgrind time du ls file stat tree grep rg ag ack bat cat head tail wc which ffprobe identify mediainfo
    nm ldd readelf objdump size addr2line od hexdump md5sum sha1sum sha256sum find fd fdfind sqlite3 psql
    mysql java node touch mkdir ssh-keygen zcat bzcat xzcat python3 jq mount umount df service systemctl rclone restic
    borg crontab at gpg-agent mdfind play mpv vlc feh eog evince qemu-system-x86_64
    gio btrfs zfs zpool df du findmnt configure trash trash-put gvfs-trash make ninja env sudo watch
    """)
    | REMOVAL_PROGRAMS
    | CHANGING_PROGRAMS
    | OVERWRITING_PROGRAMS
    | COPYING_PROGRAMS
)
"""Programs whose paths are only read, or judged by what is known about the program."""
INFO_WORDS = word_set("-v --version --help -h -V version help")

PACKAGE_RUNNERS = (
    ("npx",),
    ("pnpx",),
    ("bunx",),
    ("uvx",),
    ("npm", "exec"),
    ("pnpm", "dlx"),
    ("pnpm", "exec"),
    ("yarn", "dlx"),
    ("yarn", "exec"),
    ("pipx", "run"),
    ("bundle", "exec"),
    ("poetry", "run"),
    ("uv", "run"),
    ("pipenv", "run"),
)
"""Programs that start the program named by the next word."""
TEXT_STARTERS = word_set(
    "script unshare nsenter chroot firejail bwrap systemd-run runuser su sg run0 pkexec start-stop-daemon"
)
"""Programs that start another one, which clio's shell parser does not analyze."""

GIT_FOLDER_OPTIONS = word_set("-C --git-dir --work-tree")
