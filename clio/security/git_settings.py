"""Data: the settings of a repository that are harmless for a git command that only reads.

Each line lists a section and its keys, in lower case; `section.*` stands for sections with a sub-section. Any other
setting makes clio ask, so a key is added here only if it names neither a program nor a file.
"""

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
