"""Data: options, sub-commands and other names of programs, as far as `deny` rules need them to recognize a call."""

from clio.security.shell.command_line import word_set
from clio.security.shell.wrappers import Options, make_options

GLOBAL_OPTIONS: dict[str, Options] = {
    "git": make_options(
        "-p --paginate -P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --bare"
        " --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs -v --version -h --help"
        " --html-path --man-path --info-path",
        "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --exec-path --attr-source --list-cmds",
    ),
    "docker": make_options(
        "-D --debug --tls --tlsverify -v --version --help",
        "-c --context -H --host -l --log-level --config --tlscacert --tlscert --tlskey",
    ),
    "podman": make_options(
        "-r --remote --help -v --version --noout --transient-store --syslog --trace",
        "-c --connection --url --identity --log-level --root --runroot --runtime --storage-driver --storage-opt"
        " --tmpdir",
    ),
    "kubectl": make_options(
        "--insecure-skip-tls-verify --match-server-version --warnings-as-errors --disable-compression -h --help",
        "-n --namespace --context --cluster --user -s --server --kubeconfig --as --as-group --as-uid --token"
        " --request-timeout --cache-dir --certificate-authority --client-certificate --client-key --tls-server-name"
        " --username --password -v --v --vmodule --profile --profile-output --log-flush-frequency",
    ),
    "helm": make_options(
        "--debug -h --help --kube-insecure-skip-tls-verify",
        "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --kube-as-user --kube-as-group"
        " --kube-ca-file --kube-tls-server-name --registry-config --repository-cache --repository-config --burst-limit"
        " --qps",
    ),
    "npm": make_options(
        "-g --global -s --silent -q --quiet -d -dd -ddd --verbose -f --force -y --yes -D -S -E -O --save --save-dev"
        " --save-exact --workspaces --ws --if-present --ignore-scripts --json --long -l -v --version --no-audit"
        " --no-fund --dry-run --offline --prefer-offline --include-workspace-root -h --help --legacy-peer-deps",
        "--prefix -C --registry --reg --loglevel --userconfig --globalconfig --cache -w --workspace --script-shell"
        " --tag --otp --access --omit --include --before --node-options --scope",
    ),
    "pnpm": make_options(
        "-r --recursive -s --silent -w --workspace-root --color --no-color --stream --aggregate-output -h --help -v"
        " --version",
        "-C --dir -F --filter --loglevel --reporter --store-dir --prefix",
    ),
    "yarn": make_options(
        "-s --silent --verbose --offline --json -v --version --frozen-lockfile",
        "--cwd --registry --cache-folder --modules-folder --mutex --use-yarnrc",
    ),
    "bun": make_options(
        "--bun --silent -v --version -h --help --watch --hot", "--cwd -c --config --env-file -r --preload"
    ),
    "cargo": make_options(
        "-v --verbose -vv -q --quiet --frozen --locked --offline -V --version --list -h --help",
        "-C -Z --config --color --explain",
    ),
    "gh": make_options("--help --version", "-R --repo --hostname"),
    "pip": make_options(
        "-v --verbose -vv -vvv -q --quiet -qq --isolated --debug --require-virtualenv --no-input --no-cache-dir"
        " --disable-pip-version-check --no-color -V --version -h --help",
        "--proxy --retries --timeout --exists-action --trusted-host --cert --client-cert --cache-dir --log --python"
        " --use-feature --use-deprecated --keyring-provider",
    ),
    "terraform": make_options("-help -version --help --version", "-chdir --chdir"),
    "aws": make_options(
        "--debug --no-verify-ssl --no-paginate --no-sign-request --version --no-cli-pager --no-cli-auto-prompt",
        "--profile --region --endpoint-url --output --query --color --ca-bundle --cli-read-timeout"
        " --cli-connect-timeout --cli-binary-format",
    ),
    "gcloud": make_options(
        "-q --quiet --log-http --user-output-enabled --no-user-output-enabled -h --help",
        "--project --account --configuration --format --verbosity --billing-project --impersonate-service-account"
        " --access-token-file --flags-file --flatten --trace-token",
    ),
    "az": make_options("--debug --verbose --only-show-errors -h --help", "-o --output --query --subscription"),
    "systemctl": make_options(
        "--user --system --global -a --all -q --quiet -l --full --no-pager --no-block --wait --now --runtime --force -f"
        " --no-wall --no-ask-password --no-legend --plain --failed",
        "-H --host -M --machine -t --type --state -p --property -n --lines -o --output --root --image -s --signal"
        " --kill-whom --job-mode",
    ),
    "uv": make_options(
        "-q --quiet -v --verbose -n --no-cache --offline --no-config --no-progress --native-tls --managed-python"
        " --no-managed-python --no-python-downloads -V --version -h --help",
        "--directory --project --config-file --cache-dir --color --allow-insecure-host",
    ),
    "poetry": make_options(
        "-q --quiet -v -vv -vvv --verbose -n --no-interaction --no-plugins --no-cache --ansi --no-ansi -V --version",
        "-C --directory -P --project",
    ),
    "go": make_options("", "-C"),
    "make": make_options(
        "-B -b -d -e -i -k -n -p -q -R -r -s -S -t -v -w -h --always-make --debug --environment-overrides"
        " --ignore-errors --keep-going --dry-run --just-print --print-data-base --question --no-builtin-rules"
        " --no-builtin-variables --quiet --silent --stop --touch --version --print-directory --no-print-directory",
        "-C --directory -f --file --makefile -I --include-dir -o --old-file --assume-old -W --what-if --new-file -E",
    ),
    "brew": make_options("-v --verbose -d --debug -q --quiet -h --help", ""),
    "apt": make_options("-y --yes -q -qq -s --simulate -f", "-o -c -t --option --config-file --target-release"),
    "apt-get": make_options("-y --yes -q -qq -s --simulate -f", "-o -c -t --option --config-file --target-release"),
    "twine": make_options("--no-color --version -h --help", ""),
    "rm": make_options(
        "-r -R --recursive -f --force -i -I -v --verbose -d --dir --one-file-system --no-preserve-root", ""
    ),
}
"""Options allowed before a sub-command: those without a value, and those with one."""

PROGRAM_ALIASES = {
    "gmake": "make",
    "yarnpkg": "yarn",
    "py.test": "pytest",
    "nodejs": "node",
    "npm-cli.js": "npm",
    "terragrunt": "terraform",
    **{f"g{each}": each for each in word_set("rm cp mv ln dd chmod chown chgrp shred truncate tee tar sed find xargs")},
}
"""Alternative names of programs."""

EQUIVALENT_CALLS: dict[str, tuple[str, ...]] = {
    "npx": ("npm", "exec"),
    "pnpx": ("pnpm", "dlx"),
    "bunx": ("bun", "x"),
    "uvx": ("uv", "tool", "run"),
    "docker-compose": ("docker", "compose"),
    "podman-compose": ("podman", "compose"),
    "rustfmt": ("cargo", "fmt"),
}
"""Programs that equal a sub-command of another program."""


def _parse_synonyms(text: str) -> dict[str, str]:
    """Parse lines of `name: other other` into a map from each other name to the name."""
    found = dict[str, str]()
    for line in text.strip().splitlines():
        name, others = line.split(":")
        found |= dict.fromkeys(others.split(), name.strip())
    return found


SUBCOMMAND_SYNONYMS: dict[str, dict[str, str]] = {
    # from npm's lib/utils/cmd-list.js
    "npm": _parse_synonyms(
        """
        access: author
        owner: author
        ci: clean-install ic install-clean isntall-clean
        dedupe: ddp
        docs: home
        exec: x
        explain: why
        init: create innit
        install: add i in ins inst insta instal isnt isnta isntal isntall
        install-ci-test: cit clean-install-test sit
        install-test: it
        link: ln
        ls: la list ll
        rebuild: rb
        repo: repository
        run: rum run-script urn
        search: s se find
        test: t tst
        uninstall: r remove rm un unlink
        unpublish: unpublish
        update: u up udpate upgrade
        version: verison
        view: info show v
        login: adduser add-user
        """
    ),
    "pnpm": _parse_synonyms(
        """
        install: i
        remove: rm un uninstall uni
        update: up upgrade
        run: run-script
        test: t tst
        link: ln
        list: ls la ll
        rebuild: rb
        why: explain
        create: init
        """
    ),
    "yarn": _parse_synonyms("remove: rm\nupgrade: up\nrun: run-script"),
    "bun": _parse_synonyms("install: i\nremove: rm r uninstall\nadd: a\nrun: run-script\ncreate: c\nupdate: up"),
    "cargo": _parse_synonyms("build: b\ncheck: c\ndoc: d\nrun: r\ntest: t\nremove: rm"),
    "brew": _parse_synonyms("uninstall: remove rm\ninstall: instal\nlist: ls\nupgrade: up\nupdate: up\nlink: ln"),
    "svn": _parse_synonyms(
        "commit: ci\ncheckout: co\ndelete: del remove rm\ncopy: cp\nmove: mv rename ren\nstatus: stat st"
    ),
    "hg": _parse_synonyms("commit: ci\nupdate: up checkout co\nstatus: st\nlog: history\nremove: rm\nrename: mv move"),
    "helm": _parse_synonyms("uninstall: del delete un\nlist: ls\nrepo: repository"),
    "conda": _parse_synonyms("remove: uninstall\nupdate: upgrade"),
    "gem": _parse_synonyms("install: i\nuninstall: rm"),
    "poetry": _parse_synonyms("remove: rm"),
    "rails": _parse_synonyms("generate: g\nserver: s\nconsole: c\ndestroy: d\ntest: t\nrunner: r\ndbconsole: db"),
    "deno": _parse_synonyms("install: i\nremove: rm\nadd: a"),
}
"""Alternative names of sub-commands, by program."""

IMPLIED_SUBCOMMANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "git": {
        "push": ("subtree push", "lfs push"),
        "send-pack": ("push",),
        "http-push": ("push",),
        "fetch-pack": ("fetch",),
        "http-fetch": ("fetch",),
        "fetch": ("remote update",),
        "pull": ("subtree pull",),
    },
    "npm": {
        "install-test": ("install", "test"),
        "install-ci-test": ("ci", "test"),
        "ci": ("install",),
        "test": ("run test",),
        "start": ("run start",),
        "stop": ("run stop",),
        "restart": ("run restart",),
    },
    "docker": {
        "push": ("image push",),
        "pull": ("image pull",),
        "rmi": ("image rm",),
        "build": ("image build", "buildx build"),
        "images": ("image ls",),
        **{
            word: (f"container {word}",)
            for word in (
                "run exec rm kill stop start restart cp attach commit create diff export logs pause port rename stats "
                "top unpause update wait"
            ).split()
        },
    },
}
"""Sub-commands that include the effect of others; words of a longer path are separated by blanks."""
IMPLIED_SUBCOMMANDS["podman"] = IMPLIED_SUBCOMMANDS["docker"]

SCRIPT_RUNNERS = word_set("npm pnpm yarn bun")
"""Programs whose `run NAME` may be written without `run` (npm only for its own four scripts)."""

ABBREVIATING_PROGRAMS = word_set("npm gem bundle hg composer symfony drush ip tc bridge nmcli btrfs vagrant")
"""Programs that accept abbreviated sub-commands."""

ALIASING_PROGRAMS = word_set("git cargo gh")
"""Programs whose configuration may define sub-commands."""

KNOWN_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": word_set(
        """
        add add--interactive am annotate apply archive backfill bisect bisect--helper blame branch bugreport bundle
        cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout--worker checkout-index
        cherry cherry-pick citool clean clone column commit commit-graph commit-tree config count-objects credential
        credential-cache credential-cache--daemon credential-store cvsexportcommit cvsimport cvsserver daemon describe
        diagnose diff diff-files diff-index diff-pairs diff-tree difftool difftool--helper env--helper fast-export
        fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck
        fsck-objects fsmonitor--daemon gc get-tar-commit-id gitk gitweb grep gui hash-object help hook http-backend
        http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers last-modified log ls-files
        ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-octopus
        merge-one-file merge-ours merge-recursive merge-recursive-ours merge-recursive-theirs merge-resolve
        merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects
        pack-redundant pack-refs patch-id pickaxe prune prune-packed pull push quiltimport range-diff read-tree rebase
        receive-pack reflog refs remote remote-ext remote-fd remote-ftp remote-ftps remote-http remote-https repack
        replace replay repo request-pull rerere reset restore rev-list rev-parse revert rm scalar send-email send-pack
        sh-i18n--envsubst sh-setup shell shortlog show show-branch show-index show-ref sparse-checkout stage stash
        status stripspace submodule submodule--helper subtree svn switch symbolic-ref tag unpack-file unpack-objects
        update-index update-ref update-server-info upload-archive upload-archive--writer upload-pack var verify-commit
        verify-pack verify-tag version web--browse whatchanged worktree write-tree
        """
    ),
    "cargo": word_set(
        """
        add bench build check clean clippy config doc fetch fix fmt generate-lockfile git-checkout help info init
        install locate-project login logout metadata miri new owner package pkgid publish read-manifest remove report
        run rustc rustdoc search test tree uninstall update vendor verify-project version yank b c d r t rm
        """
    ),
    "gh": word_set(
        """
        agent-task alias api attestation auth browse cache co codespace completion config copilot cs extension
        extensions ext gist gpg-key help issue label org pr preview project release repo rs ruleset run search secret
        ssh-key status variable version workflow
        """
    ),
}
"""Sub-commands that no configuration can redefine."""

OPTION_SPELLINGS: dict[str, tuple[str, ...]] = {
    "rm": (
        "-r -R --recursive",
        "-f --force --interactive=never --interactive=none --interactive=no",
        "-i --interactive",
        "-d --dir",
        "-v --verbose",
    ),
    "cp": ("-r -R --recursive -a --archive", "-f --force", "-t --target-directory"),
    "mv": ("-f --force", "-t --target-directory"),
    "chmod": ("-R --recursive",),
    "chown": ("-R --recursive",),
    "chgrp": ("-R --recursive",),
    "ln": ("-s --symbolic", "-f --force"),
    "sed": ("-i --in-place", "-e --expression", "-f --file"),
    "git": (
        "-f --force",
        "-D --delete",
        "-d --delete",
        "-n --no-verify",
        "-a --all",
        "-m --message",
        "-u --set-upstream",
        "-q --quiet",
        "-s --signoff",
        "-S --gpg-sign",
        "-e --edit",
        "-i --interactive",
        "-t --tags",
        "-p --prune",
        "-x --exec",
    ),
    "curl": (
        "-X --request",
        "-d --data",
        "-k --insecure",
        "-o --output",
        "-O --remote-name",
        "-T --upload-file",
        "-F --form",
        "-u --user",
        "-H --header",
        "-L --location",
        "-K --config",
        "-x --proxy",
    ),
    "wget": ("-O --output-document", "-i --input-file", "-e --execute", "-r --recursive"),
    "docker": (
        "-v --volume",
        "-p --publish",
        "-e --env",
        "-d --detach",
        "-i --interactive",
        "-t --tty --tag",
        "-u --user",
        "-w --workdir",
        "-f --force --file --filter",
        "-a --all",
    ),
    "npm": (
        "-g --global --location=global",
        "-f --force",
        "-D --save-dev",
        "-w --workspace",
        "-y --yes",
        "-C --prefix",
        "-E --save-exact",
    ),
    "pnpm": ("-g --global", "-f --force", "-D --save-dev", "-r --recursive", "-C --dir", "-F --filter"),
    "pip": (
        "-i --index-url --pypi-url",
        "-r --requirement",
        "-e --editable",
        "-U --upgrade",
        "-t --target",
        "-f --find-links",
        "-c --constraint",
        "-y --yes",
    ),
    "kubectl": ("-f --filename", "-n --namespace", "-A --all-namespaces", "-l --selector", "-o --output", "-i --stdin"),
    "helm": ("-n --namespace", "-f --values", "-i --install"),
    "make": ("-f --file --makefile", "-C --directory", "-j --jobs", "-B --always-make", "-k --keep-going", "-E --eval"),
    "gh": ("-R --repo", "-m --merge", "-s --squash", "-r --rebase", "-d --delete-branch", "-y --yes", "-X --method"),
    "rsync": ("-r --recursive", "-a --archive", "-z --compress", "-n --dry-run"),
    "tar": ("-x --extract --get", "-c --create", "-f --file", "-C --directory", "-z --gzip"),
    "systemctl": ("-f --force", "-H --host", "-M --machine"),
    "kill": ("-9 -KILL -SIGKILL", "-15 -TERM -SIGTERM"),
    "pkill": ("-9 -KILL -SIGKILL", "-f --full", "-u --euid"),
    "pytest": ("-x --exitfirst", "-v --verbose", "-q --quiet", "-c --config-file"),
    "apt": ("-y --yes --assume-yes",),
    "apt-get": ("-y --yes --assume-yes",),
}
"""Spellings of one option, one row per option. podman has the same as docker."""
OPTION_SPELLINGS["podman"] = OPTION_SPELLINGS["docker"]

SINGLE_DASH_PROGRAMS = word_set(
    "find terraform go java javac gcc g++ clang clang++ cc c++ ld openssl ffmpeg fd convert magick"
)
"""Programs with long options after a single dash, so that `-rf` is not `-r -f`."""
