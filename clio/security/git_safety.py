"""Find settings of a repository that make git run or read something, and build the environment that prevents it."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from clio.readonly_git import (
    GitSetting,
    GitSettings,
    find_outside_target,
    read_git_settings,
    readonly_git_command,
    readonly_git_environment,
)
from clio.security.actions import resolve_links
from clio.security.readonly.git_grammar import READING_SUBCOMMANDS, is_plain_format, is_plain_sort_key
from clio.storage.files import read_regular
from clio.text.translation import mark, tr

HARMLESS_KEYS = """
    add: ignoreerrors ignore-errors
    am: keepcr threeway
    apply: ignorewhitespace whitespace
    author: name email
    blame: blankboundary coloring date showemail showroot markunblamablelines markignoredlines
    branch: autosetupmerge autosetuprebase
    annex: uuid version
    branch.*: *
    checkout: defaultremote guess workers thresholdforparallelism
    clean: requireforce
    clone: defaultremotename rejectshallow filtersubmodules
    committer: name email
    commit: cleanup gpgsign status template verbose
    commitgraph: generationversion maxnewfilters readchangedpaths changedpathsversion
    completion: commands
    core: repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
        safecrlf quotepath hidedotfiles protecthfs protectntfs trustctime checkstat ignorestat whitespace abbrev
        compression loosecompression bigfilethreshold packedgitwindowsize packedgitlimit deltabasecachelimit
        preloadindex untrackedcache splitindex commitgraph multipackindex usereplacerefs warnambiguousrefs
        sharedrepository commentchar commentstring sparsecheckout sparsecheckoutcone notesref filesreflocktimeout
        packedrefstimeout fsync fsyncmethod fsyncobjectfiles createobject prefersymlinkrefs checkroundtripencoding
        longpaths fscache maxtreedepth fsmonitorhookversion unsetenvvars restrictinheritedhandles
    credential: username usehttppath interactive sanitizeprompt protectprotocol
    credential.*: username usehttppath provider
    diff: renames renamelimit context interhunkcontext algorithm colormoved colormovedws mnemonicprefix noprefix
        srcprefix dstprefix relative dirstat statgraphwidth statnamewidth indentheuristic wserrorhighlight
        suppressblankempty ignoresubmodules wordregex autorefreshindex tool guitool trustexitcode submodule
    diff.*: xfuncname funcname binary wordregex algorithm
    difftool: prompt trustexitcode
    extensions: worktreeconfig objectformat compatobjectformat refstorage noop noop-v1 relativeworktrees partialclone
        preciousobjects
    feature: manyfiles experimental
    fetch: recursesubmodules fsckobjects unpacklimit prune prunetags output negotiationalgorithm showforcedupdates
        parallel writecommitgraph all
    filter.*: required
    format: attach from forceinbodyfrom numbered headers to cc subjectprefix coverfromdescription signature suffix
        encodeemailheaders thread signoff coverletter outputdirectory filenamemaxlength useautobase notes mboxrd
        noprefix
    gc: aggressivedepth aggressivewindow auto autopacklimit autodetach bigpackthreshold writecommitgraph logexpiry
        packrefs cruftpacks maxcruftsize pruneexpire worktreepruneexpire reflogexpire reflogexpireunreachable
        rerereresolved rerereunresolved
    gc.*: reflogexpire reflogexpireunreachable
    git-town: *
    git-town-branch.*: *
    github: *
    gitflow.*: *
    gitreview: remote username branch
    gpg: format mintrustlevel
    gpg.ssh: allowedsignersfile revocationfile
    grep: linenumber column patterntype extendedregexp threads fullname fallbacktonoindex
    gui: *
    http: *
    http.*: *
    i18n: *
    index: recordendofindexentries recordoffsettable sparse threads version skiphash
    init: defaultbranch
    interactive: singlekey
    lfs: repositoryformatversion allowincompletepush fetchinclude fetchexclude concurrenttransfers locksverify
    lfs.*: access locksverify
    log: abbrevcommit date decorate initialdecorationset excludedecoration follow graphcolors showroot mailmap
    lsrefs: unborn
    mailinfo: scissors
    mailmap: blob
    maintenance: auto strategy autodetach
    maintenance.*: enabled schedule auto
    merge: conflictstyle defaulttoupstream ff verifysignatures branchdesc log suppressdest renamelimit renames
        directoryrenames renormalize stat autostash tool guitool verbosity
    merge.*: name recursive
    mergetool: hideresolved keepbackup keeptemporaries writetotemp prompt
    notes: mergestrategy displayref rewritemode rewriteref
    notes.*: mergestrategy
    notes.rewrite: *
    pack: window depth windowmemory compression allowpackreuse island islandcore deltacachesize deltacachelimit threads
        indexversion packsizelimit usebitmaps usesparse preferbitmaptips writebitmaps writebitmaphashcache
        writebitmaplookuptable writereverseindex readreverseindex
    protocol: version
    pull: ff rebase octopus twohead
    push: autosetupremote default followtags gpgsign pushoption recursesubmodules useforceifincludes negotiate
        usebitmaps
    rebase: backend stat autosquash autostash updaterefs missingcommitscheck abbreviatecommands rescheduleFailedExec
        forkpoint rebasemerges maxlabellength
    receive: advertiseatomic advertisepushoptions autogc fsckobjects keepalive unpacklimit maxinputsize denydeletes
        denydeletecurrent denycurrentbranch denynonfastforwards hiderefs updateserverinfo shallowupdate
    remote: pushdefault
    remote.*: fetch push tagopt prune prunetags mirror skipdefaultupdate skipfetchall promisor partialclonefilter proxy
        proxyauthmethod followremotehead gh-resolved glab-resolved lfsurl lfspushurl
    remotes: *
    repack: usedeltabaseoffset packkeptobjects usedeltaislands writebitmaps updateserverinfo
    rerere: autoupdate enabled
    revert: reference
    safe: directory barerepository
    sendemail: to cc bcc from suppresscc suppressfrom signedoffbycc thread chainreplyto confirm annotate validate
        transferencoding
    showbranch: default
    sparse: expectfilesoutsideofpatterns
    splitindex: maxpercentchange sharedindexexpire
    ssh: variant
    stash: showincludeuntracked showpatch showstat index
    status: relativepaths short branch aheadbehind displaycommentprefix renamelimit renames showstash
        showuntrackedfiles submodulesummary comparebranches
    submodule: active recurse fetchjobs propagatebranches alternatelocation alternateerrorstrategy
    submodule.*: active branch ignore fetchrecursesubmodules shallow
    svn: *
    svn-remote.*: *
    tag: forcesignannotated gpgsign
    tar: umask
    trailer: separators where ifexists ifmissing
    trailer.*: key where ifexists ifmissing
    transfer: credentialsinurl fsckobjects hiderefs unpacklimit advertisesid
    uploadpack: hiderefs allowtipsha1inwant allowreachablesha1inwant allowanysha1inwant keepalive allowfilter
        allowrefinwant
    user: name email useconfigonly signingkey
    versionsort: prereleasesuffix suffix
    windows: appendatomically
    worktree: guessremote userelativepaths
    advice: *
    color: *
    codespaces: *
    codespaces.*: *
    color.*: *
    column: *
    hub: *
    oh-my-zsh: *
    """
"""Keys that name neither a program nor a file, whatever their value; `section.*` for those with a subsection."""
UNUSED_KEYS = """
    core: editor pager sshcommand askpass
    credential: helper
    credential.*: helper
    difftool: *
    difftool.*: *
    gpg: program
    gpg.*: program defaultkeycommand
    help: autocorrect
    merge.*: driver
    mergetool: *
    mergetool.*: *
    sequence: editor
    """
"""Keys naming programs that no listed git command starts, because it would have to commit, merge, sign, verify, fetch
or use a pager. `build_git_environment` overrides most of them in variables that also reach submodules.
"""
LFS_COMMANDS = {
    "clean": ("git-lfs clean -- %f",),
    "smudge": ("git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"),
    "process": ("git-lfs filter-process", "git-lfs filter-process --skip"),
}
"""Settings written by `git lfs install`; the program is the user's own."""
BOOLEAN_VALUES = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", ""})
FILE_KEYS = frozenset(
    {
        *("core.excludesfile", "core.attributesfile", "core.worktree"),
        *("mailmap.file", "blame.ignorerevsfile", "diff.orderfile"),
    }
)
"""Keys that name a file or directory, which must be in the project."""
DIFF_MERGES_VALUES = frozenset(
    {"off", "none", "on", "m", "first-parent", "1", "separate", "combined", "c", "dense-combined", "cc"}
)


_CONFIG_OVERRIDES = (
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.askPass", ""),
    ("core.editor", ":"),
    ("core.alternateRefsCommand", ":"),
    ("help.autocorrect", "0"),
    ("credential.helper", ""),
    ("credential.interactive", "false"),
    ("protocol.allow", "never"),
    ("log.showSignature", "false"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
)
_SAFE_VARIABLES: Mapping[str, str] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # also blocks lazy fetching in git before 2.45
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
}
_MAX_SUBMODULES = 64
"""Submodules and repositories examined per check; with more, the user is asked."""
_MAX_ENTRIES = 2_000
"""Directory entries read per folder of a repository; with more, links among them could be missed."""
_TIMEOUT_S = 10.0
"""Limit for one git call that reads configuration; far above the usual 10 ms."""
_GITLINK = b"\x00\x00\xe0\x00"
"""Mode of a submodule in the index file."""
_MAX_ALTERNATES = 5
"""Length of the longest chain of object stores that git follows."""
_STATE_FOLDERS = ("info", "rebase-merge", "rebase-apply", "sequencer", "logs", "bisect")
"""Directories of a repository, besides its top, whose files git prints. A link there would expose another file."""


class RiskyEntry(Struct, frozen=True):
    """Something in a repository that is not known to be harmless.

    Attributes:
        name: the configuration key, or a description.
        file: where it was found, as displayed to the user.
        effect: completes "which …".
        outside: what it would make git read outside the project.
    """

    name: str
    file: str
    effect: str = mark("is not known to be harmless")
    outside: Path | None = None

    @property
    def sentence(self) -> str:
        """Describe it as a reason: "reads diff.external from .git/config, which may name a program"."""
        return tr("reads {name} from {file}, which {effect}", name=self.name, file=self.file, effect=self.effect)


class _RepositoryLayout(Struct, frozen=True):
    """The locations of a repository.

    Attributes:
        git_dir: of this worktree.
        common_dir: shared by all its worktrees.
        found_in: the directory whose `.git` led there; None if git runs in the repository's own directory.
        top: of the working tree; None if there is none.
    """

    git_dir: Path
    common_dir: Path
    hooks: Path
    index: Path
    found_in: Path | None
    top: Path | None


_layout_cache: dict[Path, tuple[tuple[object, ...], _RepositoryLayout | None]] = {}
_submodule_cache: dict[Path, tuple[tuple[int, ...], tuple[Path, ...]]] = {}


def build_git_environment(root: Path, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables for a git call that runs without approval: no programs, prompts, fetches or locks.

    The user's GIT_CONFIG_* configuration is kept; these settings come after it. git does not search above the
    repository that contains `root`, nor above `root` if there is none.
    """
    # git reads these variables by number, and a later one overrides an earlier one.
    count = env.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    variables = dict(_SAFE_VARIABLES)
    for number, (key, value) in enumerate(_CONFIG_OVERRIDES, start=first):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    variables["GIT_CONFIG_COUNT"] = str(first + len(_CONFIG_OVERRIDES))
    real = Path(os.path.realpath(root))
    tops = {
        next((place for place in (start, *start.parents) if (place / ".git").exists()), start) for start in (root, real)
    }
    ceilings = [str(top.parent) for top in sorted(tops) if top.parent != top]
    given = env.get("GIT_CEILING_DIRECTORIES", "")
    variables["GIT_CEILING_DIRECTORIES"] = os.pathsep.join([*filter(None, [given]), *ceilings])
    return variables


def explain_git_risk(root: Path, cwd: Path, *, shielded: bool = True) -> str:
    """Why git in `cwd` may run a program or read outside the project; "" if it may not.

    Args:
        shielded: whether git gets the variables of `build_git_environment`.
    """
    found = find_risky_entries(root, cwd, shielded=shielded)
    return found[0].sentence if found else ""


def find_risky_entries(root: Path, cwd: Path, *, shielded: bool = True) -> tuple[RiskyEntry, ...]:
    """Return everything the repository of `cwd` configures that is not known to be harmless, submodules included.

    Runs git (about 10 ms) the first time and after a configuration file has changed; otherwise only checks files.

    Args:
        shielded: whether git gets the variables of `build_git_environment`, which override hooks, editors and pagers.
    """
    root = Path(os.path.realpath(root))
    waiting, seen, found = [Path(os.path.realpath(cwd))], set[Path](), list[RiskyEntry]()
    while waiting:
        place = waiting.pop()
        try:
            settings = read_git_settings(place)
            layout = _find_layout(place, settings)
        except FileNotFoundError:
            return tuple(found)  # without git or the directory, the call itself fails
        except OSError as error:
            found.append(
                RiskyEntry(
                    tr("its configuration"),
                    _display_path(place, root),
                    tr("cannot be checked ({strerror})", strerror=error.strerror),
                )
            )
            break
        own = [setting for setting in settings.items if setting.is_from_repository]
        bare = _find_bare_repository(place, layout.found_in if layout else None)
        if bare is not None:
            effect = tr("is a repository inside the project, whose files may name programs to run")
            found.append(RiskyEntry(tr("the configuration"), _display_path(bare, root), effect))
        if layout is None:
            found += [RiskyEntry(_make_printable(one.key), _display_path(place, root)) for one in own[:1]]
            continue
        if layout.git_dir in seen:
            continue
        seen.add(layout.git_dir)
        found += _check_layout(layout, settings, root)
        found += _check_settings(layout, own, root, shielded=shielded)
        if not shielded or len(seen) > 1:  # the variables do not reach the git process that inspects a submodule
            found += _check_hooks(layout, settings, root)
        # One finding is enough for a question; the submodules need not be read for it.
        if layout.top is not None and not found:
            try:
                waiting += _list_submodules(layout)
            except (OSError, subprocess.TimeoutExpired):
                found.append(RiskyEntry(tr("the index"), _display_path(layout.index, root), tr("cannot be checked")))
        if len(waiting) + len(seen) > _MAX_SUBMODULES:
            found.append(RiskyEntry("submodules", _display_path(layout.index, root), tr("are too many to check")))
            break
    return tuple(found)


def _find_layout(place: Path, settings: GitSettings) -> _RepositoryLayout | None:
    """Return the repository git finds from a directory; None for none. Raises OSError."""
    known = _layout_cache.get(place)
    # Asking git costs about 10 ms; the answer holds until a file changes that git read for it.
    if known is not None and settings.fingerprint is not None and known[0] == settings.fingerprint:
        return known[1]
    words = ("--absolute-git-dir", "--git-common-dir", "--git-path", "hooks", "--git-path", "index", "--show-toplevel")
    try:
        done = subprocess.run(
            ["git", "rev-parse", *words],
            cwd=place, env=readonly_git_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise OSError(0, "git takes too long") from error
    lines = os.fsdecode(done.stdout).removesuffix("\n").split("\n")
    layout = None
    if len(lines) in (4, 5):  # git omits the last line without a working tree
        git_dir, common, hooks, index = (Path(os.path.realpath(place / line)) for line in lines[:4])
        top = Path(os.path.realpath(lines[4])) if len(lines) == 5 else None
        layout = _RepositoryLayout(git_dir, common, hooks, index, _find_worktree_folder(place, git_dir), top)
    # A newline in a path makes the lines ambiguous; which repository git means cannot be told then.
    elif lines != [""]:
        raise OSError(0, tr("its paths contain line breaks"))
    if settings.fingerprint is not None:
        _layout_cache[place] = settings.fingerprint, layout
    return layout


def _find_worktree_folder(place: Path, git_dir: Path) -> Path | None:
    """Return the folder whose `.git` leads to a repository; None if git runs inside the repository."""
    for folder in (place, *place.parents):
        inner = folder / ".git"
        if inner.is_file():
            target = _read_beginning(inner).strip().removeprefix("gitdir:").strip()
            # In worktrees and submodules `.git` is a file with the path of the repository.
            inner = folder / target
        if os.path.lexists(folder / ".git") and Path(os.path.realpath(inner)) == git_dir:
            return folder
        if folder == git_dir:
            return None
    return None


def _find_bare_repository(place: Path, top: Path | None) -> Path | None:
    """Return a directory from `place` up to `top` that git may treat as a repository although it is not named `.git`.

    git before 2.38 cannot be told to ignore it, and its exact criteria differ between versions.
    """
    for folder in (place, *place.parents):
        holds = any(os.path.lexists(folder / name) for name in ("objects", "refs", "commondir"))
        # git takes any folder with these names for a bare repository and reads the programs that its configuration
        # names.
        if holds and os.path.lexists(folder / "HEAD") and folder.name != ".git":
            return folder
        if folder == top:
            break
    return None


def _check_layout(layout: _RepositoryLayout, settings: GitSettings, root: Path) -> Iterator[RiskyEntry]:
    """Find what leads git to another repository, or to files outside both the repository and the project."""
    here = layout.found_in
    shown = _display_path(layout.git_dir, root)
    if here is None:
        yield RiskyEntry(
            tr("the configuration"),
            shown,
            tr("is a repository inside the project, whose files may name programs to run"),
        )
        return
    elsewhere = find_outside_target(here, settings)
    if elsewhere is not None and not elsewhere[1].is_relative_to(root):
        name, target = elsewhere
        yield RiskyEntry(
            name, shown, tr("points to {path}, outside the project", path=_display_path(target, root)), target
        )
    common = layout.common_dir
    allowed = tuple(filter(None, (root, layout.top, common, layout.git_dir)))
    yield from _check_links({layout.git_dir, common}, allowed, root)
    yield from _check_alternates(common / "objects", allowed, root, 0)


def _check_alternates(objects: Path, allowed: tuple[Path, ...], root: Path, depth: int) -> Iterator[RiskyEntry]:
    """Find further object stores outside the project that git reads. A store may refer to others."""
    entries = _list_folder(objects)
    for entry in (*entries, objects / "info" / "alternates"):
        target = resolve_links(entry)
        if entry.is_symlink() and not _is_inside(target, allowed):
            yield RiskyEntry("a link", _display_path(entry, root), tr("points outside the project"), target)
    alternates = objects / "info" / "alternates"
    for line in _read_beginning(alternates).splitlines():
        if not line or line.startswith("#"):
            continue
        target = _resolve_path(line, objects)
        # A quoted path may contain escapes that git decodes in its own way.
        if line.startswith('"') or depth == _MAX_ALTERNATES:
            yield RiskyEntry(
                "objects",
                _display_path(alternates, root),
                tr("points to {printable}, which is not checked", printable=_make_printable(line)),
            )
        elif not _is_inside(target, allowed):
            effect = tr("points to {printable}, outside the project", printable=_make_printable(line))
            yield RiskyEntry("objects", _display_path(alternates, root), effect, target)
        else:
            yield from _check_alternates(target, allowed, root, depth + 1)


def _check_links(places: Iterable[Path], allowed: tuple[Path, ...], root: Path) -> Iterator[RiskyEntry]:
    """Find links that lead outside among the files that git reads and prints."""
    folders = [
        folder
        for place in places
        for folder in (place, *(place / name for name in _STATE_FOLDERS), *_list_folder(place / "worktrees"))
    ]
    for folder in folders:
        entries = _list_folder(folder)
        if len(entries) == _MAX_ENTRIES:
            yield RiskyEntry("files", _display_path(folder, root), tr("are too many to check"))
        for entry in entries:
            target = resolve_links(entry)
            if entry.is_symlink() and not _is_inside(target, allowed):
                yield RiskyEntry("a link", _display_path(entry, root), tr("points outside the project"), target)


def _check_hooks(layout: _RepositoryLayout, settings: GitSettings, root: Path) -> Iterator[RiskyEntry]:
    """Find the one hook that a read-only command can start: git refreshes the index during a comparison."""
    named = [one for one in settings.items if one.key == "core.hookspath"]
    # The user's own setting overrides that of the repository and is trusted.
    if named and not named[-1].is_from_repository:
        return
    hook = layout.hooks / "post-index-change"
    if hook.is_file() and os.access(hook, os.X_OK):
        yield RiskyEntry(
            tr("the hook post-index-change"), _display_path(hook, root), tr("runs when git refreshes its index")
        )


def _check_settings(
    layout: _RepositoryLayout, own: list[GitSetting], root: Path, *, shielded: bool
) -> Iterator[RiskyEntry]:
    """Find settings of the repository itself that are not known to be harmless."""
    for setting in own:
        unused = shielded and _is_listed_key(setting.key, _parse_keys(UNUSED_KEYS))
        if not unused and not _is_harmless(setting, layout, root):
            kind, _, name = setting.origin.partition(":")
            file = (
                _display_path(_resolve_path(name, layout.top or layout.git_dir), root)
                if kind == "file"
                else setting.origin
            )
            outside = (
                _resolve_path(setting.value or "", layout.top or layout.git_dir) if setting.key in FILE_KEYS else None
            )
            yield RiskyEntry(_make_printable(setting.key), file, _describe_effect(setting.key), outside)


def _describe_effect(key: str) -> str:
    return (
        tr("may point git outside the project")
        if key in FILE_KEYS or _is_include(key)
        else tr("may name a program to run")
    )


def _list_submodules(layout: _RepositoryLayout) -> tuple[Path, ...]:
    """Return the checked-out submodules, which `git status` and `git diff` enter with their own configuration."""
    top = layout.top
    if top is None:
        return ()
    status = layout.index.stat() if layout.index.exists() else None
    if status is None:
        return ()
    mark = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
    known = _submodule_cache.get(layout.index)
    if known is None or known[0] != mark:
        data = read_regular(layout.index)
        # With a split or sparse index the entry of a submodule may be in another file, so git is asked.
        split = any(name.name.startswith("sharedindex.") for name in _list_folder(layout.git_dir))
        known = mark, (_query_submodules(top) if split or _GITLINK in data or b"sdir" in data else ())
        _submodule_cache[layout.index] = known
    return tuple(folder for folder in known[1] if os.path.lexists(folder / ".git"))


def _query_submodules(top: Path) -> tuple[Path, ...]:
    """Ask git for the submodules listed in the index. Raises OSError."""
    done = subprocess.run(
        readonly_git_command(top, "ls-files", "--stage", "-z"),
        cwd=top, env=readonly_git_environment(), stdin=subprocess.DEVNULL, capture_output=True,
        timeout=_TIMEOUT_S, check=False,
    )  # fmt: skip
    if done.returncode:
        raise OSError(0, "git cannot list the index")
    entries = (entry.partition("\t") for entry in os.fsdecode(done.stdout).split("\0"))
    return tuple(top / path for head, _, path in entries if head.startswith("160000 "))


def _is_inside(place: Path, allowed: Iterable[Path]) -> bool:
    return any(place.is_relative_to(folder) for folder in allowed)


def _resolve_path(text: str, base: Path) -> Path:
    return resolve_links(base / Path(text.removeprefix(":(optional)")).expanduser())


def _list_folder(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
    except OSError:
        return []


def _read_beginning(path: Path) -> str:
    """Return the beginning of a regular file; "" if there is none."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.read(65_536)
    except OSError:
        return ""


def _display_path(path: Path, root: Path) -> str:
    return _make_printable(path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path))


def _make_printable(text: str) -> str:
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= 200 else f"{text[:200]}…"


@cache
def _parse_keys(text: str) -> dict[str, frozenset[str]]:
    """Parse a table of setting names into names by section."""
    table: dict[str, set[str]] = {}
    section = ""
    for word in text.split():
        if word.endswith(":"):
            section = word[:-1]
        else:
            table.setdefault(section, set()).add(word.lower())
    return {section: frozenset(words) for section, words in table.items()}


def _is_include(key: str) -> bool:
    return key == "include.path" or (key.startswith("includeif.") and key.endswith(".path"))


def _is_harmless(setting: GitSetting, layout: _RepositoryLayout, root: Path) -> bool:
    """Whether a setting cannot make a read-only git command run a program or read outside the project."""
    key, value = setting.key, setting.value or ""
    section, _, rest = key.partition(".")
    middle, _, name = rest.rpartition(".")
    allowed = tuple(filter(None, (root, layout.top, layout.common_dir, layout.git_dir)))
    if key in FILE_KEYS:
        # git resolves this setting relative to the repository's own directory.
        base = layout.git_dir if key == "core.worktree" else layout.top or layout.git_dir
        # `%(prefix)/` stands for a folder of the git installation.
        return "%" not in value and _is_inside(_resolve_path(value, base), allowed)
    if _is_include(key):
        file = _resolve_path(setting.origin.partition(":")[2], layout.top or layout.git_dir)
        target = _resolve_path(value, file.parent)
        plain = not os.path.lexists(target) or target.is_file()
        return "%" not in value and plain and _is_inside(target, allowed)
    if key == "core.hookspath":
        return True  # checked by `_check_hooks`
    if key == "core.fsmonitor" or section == "pager":
        return setting.value is None or value.lower() in BOOLEAN_VALUES  # true selects git's built-in daemon
    if key == "log.diffmerges":
        return value in DIFF_MERGES_VALUES
    if key == "log.showsignature":
        return value.lower() in ("false", "no", "off", "0")
    if key == "format.pretty" or section == "pretty":
        return is_plain_format(value)
    if key in ("branch.sort", "tag.sort"):
        return is_plain_sort_key(value)
    if section in ("remote", "submodule") and middle and name in ("url", "pushurl"):
        return not _is_helper_url(value)
    if section == "url" and name in ("insteadof", "pushinsteadof"):
        return not _is_helper_url(middle) and not _is_helper_url(value)
    if section == "submodule" and middle and name == "update":
        return value in ("checkout", "rebase", "merge", "none")
    if section == "alias" and not middle:
        # An alias never overrides a git command, unless a later git version has removed that command.
        return not value.lstrip().startswith("!") and name not in READING_SUBCOMMANDS
    if section == "filter" and middle == "lfs" and name in LFS_COMMANDS:
        return value in LFS_COMMANDS[name]
    return _is_listed_key(key, _parse_keys(HARMLESS_KEYS))


def _is_listed_key(key: str, table: Mapping[str, frozenset[str]]) -> bool:
    """Whether a table lists a key, under its own section or under `section.*`."""
    section, _, rest = key.partition(".")
    middle, _, name = rest.rpartition(".")
    names = table.get(f"{section}.{middle}" if middle else section, frozenset())
    if middle:
        names |= table.get(f"{section}.*", frozenset())
    return name in names or "*" in names


def _is_helper_url(url: str) -> bool:
    """Whether an address runs a helper program (`ext::sh -c …`) or would be taken for an option of ssh."""
    return "::" in url or url.startswith("-")
