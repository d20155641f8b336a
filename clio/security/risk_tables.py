"""What programs do, as tables: those that build, that change files, that destroy or reach out. Pure."""

from clio.security.shell.words import names

FIND_READS = names("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size -empty
    -newer -newermt -anewer -cnewer -mtime -mmin -atime -amin -ctime -cmin -user -group -perm -not -and -or -a -o ! ( )
    , -print -print0 -printf -ls -prune -quit -depth -d -mount -xdev -links -inum -samefile -readable -writable
    -executable -true -false -regextype -H -P -E -nouser -nogroup -daystart -used -lname -ilname -noleaf -warn -nowarn
    """)
"""The words of `find` that look and do nothing."""

BUILDS = names("""
    make gmake cmake ctest ninja meson bazel gradle gradlew mvn mvnw ant sbt cargo rustc rustfmt clippy-driver go gofmt
    gcc g++ clang clang++ cc c++ ld ar javac java kotlinc scalac swift swiftc xcodebuild dotnet msbuild zig ghc cabal
    stack mix elixir rebar3 dune opam npm npx pnpm pnpx yarn bun bunx node deno tsc ts-node tsx eslint prettier jest
    vitest mocha webpack vite rollup esbuild next nuxt ng nx turbo lerna playwright cypress python python3 pypy pypy3
    pip pip3 pipx uv uvx poetry pipenv pdm hatch flit tox nox pytest unittest coverage mypy pyright ruff black isort
    flake8 pylint bandit pre-commit sphinx-build mkdocs conda mamba ruby bundle rake gem rspec rubocop rails php
    composer phpunit perl prove lua luac Rscript julia just task invoke fab protoc buf helm packer vagrant ansible
    ansible-playbook shellcheck shfmt hadolint yamllint jsonlint markdownlint sqlite3 psql mysql redis-cli mongosh
    """)
"""Builds, tests, package managers and interpreters: they run the project's own code."""

FILES = names(
    "mkdir touch cp mv ln install rmdir rm tee unlink truncate split csplit patch tar unzip zip gzip gunzip bzip2 xz "
    "zstd 7z rsync sed awk gawk mawk nawk perl ed ex vim vi nano emacs chmod chown chgrp setfacl xattr shred dd"
)
"""Programs that change the files they name; a path outside the workspace makes them dangerous."""

INTERPRETERS = names(
    "python python3 pypy pypy3 node deno bun ruby perl php lua Rscript julia pwsh powershell osascript tclsh"
)

HIGH: dict[str, str] = {
    **dict.fromkeys(names("sudo doas su pkexec runuser run0"), "it acts as another user"),
    **dict.fromkeys(
        names("dd shred diskutil wipefs fdisk sfdisk gdisk parted mkswap losetup cryptsetup"), "it writes raw data"
    ),
    **dict.fromkeys(names("mount umount swapon swapoff chroot nsenter unshare"), "it changes the system"),
    **dict.fromkeys(names("kill killall killall5 pkill xkill"), "it ends processes"),
    **dict.fromkeys(names("shutdown reboot halt poweroff init telinit"), "it stops the machine"),
    **dict.fromkeys(names("service launchctl at batch sysctl modprobe insmod rmmod"), "it changes the system"),
    **dict.fromkeys(names("iptables ip6tables nft ufw ifconfig route"), "it changes the network"),
    **dict.fromkeys(names("useradd userdel usermod groupadd passwd chpasswd visudo adduser"), "it changes accounts"),
    **dict.fromkeys(names("nc ncat netcat socat telnet ftp ssh scp sftp ssh-copy-id"), "it reaches another machine"),
    **dict.fromkeys(
        names("aws gcloud az doctl flyctl fly heroku vercel netlify wrangler"), "it changes a cloud account"
    ),
    **dict.fromkeys(names("twine dropdb dropuser"), "it cannot be taken back"),
    **dict.fromkeys(names("alias enable hash bind"), "it changes what later words mean"),
    **dict.fromkeys(names("parallel script expect systemd-run"), "it starts what clio cannot see"),
    **dict.fromkeys(names("security keychain gpg gpg2 pass op ssh-keygen ssh-add"), "it handles keys"),
}
"""Programs that are dangerous in every form, and why."""

HIGH_WORDS: dict[str, tuple[frozenset[str], str]] = {
    "npm": (names("publish unpublish deprecate owner access token login adduser -g --global"), "registry"),
    "pnpm": (names("publish -g --global login"), "registry"),
    "yarn": (names("publish global login"), "registry"),
    "bun": (names("publish -g --global"), "registry"),
    "cargo": (names("publish yank owner login"), "registry"),
    "gem": (names("push yank owner"), "registry"),
    "uv": (names("publish"), "registry"),
    "poetry": (names("publish"), "registry"),
    "flit": (names("publish"), "registry"),
    "hatch": (names("publish"), "registry"),
    "pip": (names("--break-system-packages"), "system"),
    "pip3": (names("--break-system-packages"), "system"),
    "docker": (names("run exec rm rmi prune kill stop push down system volume cp"), "containers"),
    "podman": (names("run exec rm rmi prune kill stop push down system volume cp"), "containers"),
    "docker-compose": (names("run exec rm down kill stop"), "containers"),
    "kubectl": (names("delete apply create edit patch replace exec scale drain cordon run cp"), "cluster"),
    "helm": (names("install upgrade uninstall delete rollback push"), "cluster"),
    "terraform": (names("apply destroy import taint state force-unlock"), "infrastructure"),
    "gh": (
        names("create merge close delete api edit comment secret auth release upload rerun"),
        "repository on GitHub",
    ),
    "brew": (names("install uninstall remove upgrade update link unlink services"), "system"),
    **dict.fromkeys(
        names("apt apt-get dnf yum zypper apk snap flatpak port"),
        (
            names("install remove purge upgrade dist-upgrade autoremove add del update erase full-upgrade"),
            "system",
        ),
    ),
    "pacman": (names("-S -Sy -Syu -R -Rs -Rns -U"), "system"),
    "systemctl": (
        names("start stop restart reload enable disable mask kill isolate poweroff reboot halt suspend"),
        "system",
    ),
    "crontab": (names("-e -r -"), "system"),
    "rsync": (names("--delete --delete-after --delete-before --remove-source-files"), "files"),
}
"""Words that make a program dangerous wherever they stand among its arguments, and what they change."""

UPLOADS = ("data", "form", "upload-file", "json", "post-data", "post-file", "body-data", "body-file", "url-query")
UPLOAD_LETTERS = "dFT"
"""Options of curl and wget that send something."""

SYSTEM_FOLDERS = names(
    "/bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /var /Users /System /Library "
    "/Applications /Volumes /private /mnt /media /nix"
)
"""Folders whose recursive removal ends a machine."""

STANDARD_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/sbin/", "/usr/sbin/")
"""Where a program named by its path is the one its name says."""
