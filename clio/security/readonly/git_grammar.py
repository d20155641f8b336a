"""Grammars of the git sub-commands that only read, with every option that neither writes, runs nor fetches."""

import posixpath
from collections.abc import Callable

from msgspec import Struct

from clio.security.readonly.grammar import (
    Grammar,
    Judge,
    Judgement,
    Order,
    ParsedCall,
    UnknownWord,
    parse_call,
    read_grammar,
)
from clio.security.shell.command_line import SimpleCommand, Word, word_set
from clio.security.shell.wrappers import find_git_subcommand
from clio.text.lazy_regex import LazyRegex

_COMMITS = """
    -# -n=number --max-count=number --skip=number --since= --after= --until= --before= --since-as-filter=
    --max-age=number --min-age=number --author= --committer= --grep= --grep-reflog= --all-match --invert-grep
    --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp -i -E -F -P --remove-empty
    --merges --no-merges --min-parents= --max-parents= --no-min-parents --no-max-parents --first-parent
    --exclude-first-parent-only --not --all --branches? --tags? --remotes? --glob= --exclude= --exclude-hidden=
    --reflog --single-worktree --ignore-missing --bisect --cherry-mark --cherry-pick --left-only --right-only
    --cherry -g --walk-reflogs --merge --boundary --simplify-by-decoration --show-pulls --full-history --dense
    --sparse --simplify-merges --ancestry-path? --date-order --author-date-order --topo-order --reverse --no-walk?
    --do-walk --left-right --parents --children --graph --no-graph --show-linear-break? --maximal-only
    """
_PRETTY = """
    --pretty? --format= --oneline --abbrev-commit --no-abbrev-commit --encoding= --expand-tabs? --no-expand-tabs
    --notes? --no-notes --show-notes? --standard-notes --no-standard-notes --date= --relative-date --abbrev?
    --no-abbrev --use-mailmap --no-use-mailmap --mailmap --no-mailmap --color? --no-color
    """
_DIFF = """
    -p -u --patch -s --no-patch -U? --unified? --output-indicator-new= --output-indicator-old=
    --output-indicator-context= --raw --patch-with-raw -t --indent-heuristic --no-indent-heuristic --minimal
    --no-minimal --patience --histogram --anchored= --diff-algorithm= --stat? --no-stat --stat-width=number
    --stat-name-width=number --stat-graph-width=number --stat-count=number --compact-summary --no-compact-summary
    --numstat --shortstat -X? --dirstat? --cumulative --dirstat-by-file? --summary --patch-with-stat -z --name-only
    --name-status --submodule?(short|log) --color? --no-color --color-moved? --no-color-moved --color-moved-ws=
    --no-color-moved-ws --word-diff? --word-diff-regex= --color-words? --no-renames --renames? --rename-empty
    --no-rename-empty --check --ws-error-highlight= --full-index --no-full-index --binary --abbrev? --no-abbrev -B?
    --break-rewrites? -M? --find-renames? -C? --find-copies? --find-copies-harder -D --irreversible-delete -l=number
    --diff-filter= -S= -G= --find-object= --pickaxe-all --pickaxe-regex -O=path --skip-to= --rotate-to= -R --relative?
    --no-relative -a --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space
    --ignore-blank-lines -I= --ignore-matching-lines= --inter-hunk-context=number -W --function-context
    --no-function-context --exit-code --quiet --no-ext-diff --no-textconv
    --ignore-submodules?(none|untracked|dirty|all) --src-prefix= --dst-prefix= --no-prefix --default-prefix
    --line-prefix= --ita-invisible-in-index --ita-visible-in-index --follow --no-follow -m -c --cc --dd -r
    --diff-merges=(off|none|on|m|first-parent|1|separate|combined|c|dense-combined|cc) --no-diff-merges
    --combined-all-paths --trim-diff-headers
    """
_LOG = f"""
    {_COMMITS} {_PRETTY} {_DIFF} --source --decorate? --no-decorate --decorate-refs= --decorate-refs-exclude=
    --clear-decorations --full-diff --log-size -L= -q
    """
_BLAME = """
    -b --root --show-stats --progress --no-progress --score-debug -f --show-name -n --show-number -p --porcelain
    --line-porcelain -c -t -l -s -e --show-email -w --ignore-rev= --ignore-revs-file=path --color-lines --color-by-age
    --minimal -S=path --contents=path -C? -M? -L= --abbrev? --incremental --encoding= --date= --since= --after= --until=
    --first-parent --reverse --no-textconv --diff-algorithm= -# ; path+
    """
_REFS = (
    "--sort= --format= --color? --no-color --ignore-case --omit-empty --contains= --no-contains= --merged= --no-merged="
)
_CONFIG = """
    --local --global --system --worktree -f=path --file=path --blob= --includes --no-includes --show-origin
    --show-scope -z --null --name-only --bool --int --bool-or-int --bool-or-str --path --expiry-date -t= --type=
    --default= --fixed-value
    """

_SUBCOMMAND_GRAMMARS: dict[str, str] = {
    "annotate": _BLAME,
    "blame": _BLAME,
    "branch": f"""{_REFS} -v --verbose -q --quiet -r --remotes -a --all -l --list -i --column? --no-column --abbrev?
        --no-abbrev --points-at= --show-current ; text*""",
    "cat-file": """-e -p -t -s --allow-unknown-type --use-mailmap --no-use-mailmap --mailmap --no-mailmap --batch?
        --batch-check? --batch-all-objects --buffer --unordered -z -Z --follow-symlinks ; text*""",
    "check-attr": "-a --all --cached --stdin -z --source= ; text*",
    "check-ignore": "-q --quiet -v --verbose -n --non-matching --no-index --stdin -z ; path*",
    "check-mailmap": "--stdin ; text*",
    "check-ref-format": "--branch --normalize --print --allow-onelevel --no-allow-onelevel --refspec-pattern ; text",
    "cherry": "-v --verbose --abbrev? ; text*",
    "clean": "-n --dry-run -d -q --quiet -x -X -e= --exclude= ; path*",
    "count-objects": "-v --verbose -H --human-readable ;",
    "describe": """--contains --all --tags --long --first-parent --abbrev? --exact-match --candidates=number --match=
        --exclude= --always --dirty? --broken? --debug ; text*""",
    "diff": f"""{_DIFF} {_PRETTY} --cached --staged --merge-base --no-index --base --ours --theirs -q --no-walk -1 -2
        -3 -0 ; path*""",
    "diff-files": f"{_DIFF} {_PRETTY} -q --base --ours --theirs -0 -1 -2 -3 ; path*",
    "diff-index": f"{_DIFF} {_PRETTY} --cached --merge-base ; path+",
    "diff-tree": f"{_DIFF} {_PRETTY} --root --no-commit-id --merge-base -v --always ; path+",
    "for-each-ref": f"""{_REFS} -s --shell -p --perl --python --tcl --count=number --points-at= --exclude=
        --include-root-refs ; text*""",
    "help": ";",
    "log": f"{_LOG} ; path*",
    "ls-files": """-z -t -v -f -c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -k --killed
        --directory --empty-directory --no-empty-directory --eol -u --unmerged --resolve-undo -x= --exclude= -X=path
        --exclude-from=path --exclude-per-directory=(.gitignore) --exclude-standard --full-name --error-unmatch
        --with-tree= --abbrev? --debug --deduplicate --sparse --format= ; path*""",
    "ls-tree": """-d -r -t -z -l --long --name-only --name-status --object-only --full-name --full-tree --format=
        --abbrev? ; text+""",
    "merge-base": "-a --all --octopus --independent --is-ancestor --fork-point ; text+",
    "name-rev": """--name-only --tags --refs= --exclude= --all --annotate-stdin --stdin --undefined --no-undefined
        --always ; text*""",
    "patch-id": "--stable --unstable --verbatim ;",
    "range-diff": f"""{_DIFF} --creation-factor=number --no-dual-color --dual-color --left-only --right-only
        --notes? ; path+""",
    "rev-list": f"""{_COMMITS} {_PRETTY} --quiet --objects --objects-edge --in-commit-order --object-names
        --no-object-names --filter= --no-filter --filter-provided-objects --filter-print-omitted --indexed-objects
        --unpacked --header --timestamp --count --bisect-vars --bisect-all --disk-usage? --use-bitmap-index
        --commit-header --no-commit-header --missing= --exclude-promisor-objects ; path*""",
    "rev-parse": """--git-dir --absolute-git-dir --git-common-dir --show-toplevel --show-cdup --show-prefix
        --show-superproject-working-tree --is-inside-git-dir --is-inside-work-tree --is-bare-repository
        --is-shallow-repository --shared-index-path --local-env-vars --git-path= --resolve-git-dir=path
        --path-format=(absolute|relative) --show-object-format? --show-ref-format --verify -q --quiet --sq --short?
        --not --abbrev-ref? --symbolic --symbolic-full-name --all --branches? --tags? --remotes? --glob= --exclude=
        --exclude-hidden= --disambiguate= --revs-only --no-revs --flags --no-flags --default= --prefix= --since=
        --after= --until= --before= ; text*""",
    "shortlog": f"""{_COMMITS} -s --summary -e --email -c --committer -n --numbered -w? --group= --format=
        --date= ; path*""",
    "show": f"{_LOG} ; path*",
    "show-branch": """-a --all -r --remotes --topo-order --date-order --current --color? --no-color --sparse --more?
        --list --independent --merge-base --no-name --sha1-name --topics -g? --reflog? ; text*""",
    "show-ref": """--tags --heads --branches --verify --exists --head -d --dereference -s --hash? --abbrev? -q --quiet
        --exclude-existing? ; text*""",
    "status": """-v --verbose -s --short -b --branch --show-stash --no-show-stash --ahead-behind --no-ahead-behind
        --porcelain? --long -z --null -u? --untracked-files? --ignored? --ignore-submodules?(none|untracked|dirty|all)
        --column? --no-column --no-renames --renames -M? --find-renames? ; path*""",
    "symbolic-ref": "-q --quiet --short --recurse --no-recurse ; text",
    "tag": f"{_REFS} -l --list -n? -i --column? --no-column --points-at= ; text*",
    "var": "; text",
    "version": "--build-options ;",
    "whatchanged": f"{_LOG} ; path*",
}
_SUBCOMMAND_GRAMMARS["grep"] = """
    --cached --no-index --untracked --exclude-standard --no-exclude-standard -v --invert-match -i --ignore-case -w
    --word-regexp -a --text -I --no-textconv -r --recursive --no-recursive --max-depth=number -E --extended-regexp -G
    --basic-regexp -F --fixed-strings -P --perl-regexp -n --line-number --no-line-number --column -h -H --full-name -l
    --files-with-matches --name-only -L --files-without-match -z --null -o --only-matching -c --count --color?
    --no-color --break --heading -C=number --context=number -B=number --before-context=number -A=number
    --after-context=number --threads=number -# -p --show-function -W --function-context -f=path -e= --and --or --not -q
    --quiet --all-match -m=number --max-count=number ; path*
    """
_APPLY = """
    --stat --numstat --summary --check --exclude= --include= -p=number -C=number --no-add -z
    --whitespace=(nowarn|warn|error|error-all) --ignore-space-change --ignore-whitespace -R --reverse --unidiff-zero
    --allow-overlap -v --verbose -q --quiet --inaccurate-eof --recount --directory= --allow-empty ; path*
    """
_SUBCOMMAND_GRAMMARS["apply"] = _APPLY
# Sub-commands with sub-commands of their own: `git remote show`. "" means none is given.
_NESTED_GRAMMARS: dict[tuple[str, str], str] = {
    ("bisect", "log"): ";",
    ("config", "get"): f"{_CONFIG} --all --regexp --value= --url= --show-names --no-show-names ; text",
    ("config", "list"): f"{_CONFIG} ;",
    ("notes", ""): ";",
    ("notes", "get-ref"): ";",
    ("notes", "list"): "; text?",
    ("notes", "show"): "; text?",
    ("reflog", ""): f"{_LOG} ; path*",
    ("reflog", "exists"): "; text",
    ("reflog", "list"): ";",
    ("reflog", "show"): f"{_LOG} ; path*",
    ("remote", ""): "-v --verbose ;",
    ("remote", "get-url"): "--push --all ; text",
    ("remote", "show"): "-n ; text*",
    ("sparse-checkout", "list"): ";",
    ("stash", "list"): f"{_LOG} ; path*",
    ("stash", "show"): f"{_DIFF} --include-untracked --only-untracked --no-include-untracked ; text?",
    ("submodule", "status"): "--cached --recursive -q --quiet ; path*",
    ("worktree", "list"): "-v --verbose --porcelain -z ;",
}
_OTHER_REFLOG = word_set("expire delete drop write migrate")
_GLOBAL_FLAGS = word_set(
    "--no-pager -P --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs"
    " --no-replace-objects --no-advice"
)
_LISTING_WORD = word_set("--version -v --help -h --exec-path --html-path --man-path --info-path")
"""Options of git itself that need no sub-command: they print one line or the usage."""
_LISTING = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
"""If such an option is the last word, its value is HEAD. With one of them, `git branch` and `git tag` only list."""
_CONFIG_READS = (
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "-l",
    "--list",
    "--get-color",
    "--get-colorbool",
)
_CONFIG_LISTS = frozenset({"-l", "--list", "--get-regexp", "--get-urlmatch"})
_DISPLAYED_SETTINGS = LazyRegex(
    r"""(?isx) (?: user | author | committer | init | branch | pull | push | merge | rebase | diff | color | column
    | commit | tag | fetch | log | status | rerere | gc | i18n | advice | blame | grep | stash | worktree | apply
    | index | feature | extensions | maintenance | receive | transfer | pack | format ) \. .+
    | core\.(?!askpass|sshcommand|gitproxy).+
    | remote\..+\.(?: fetch | push | mirror | prune | tagopt | url | pushurl )
    | remote\.pushdefault | submodule\..+\.(?: path | branch | active | ignore | update )
    | gpg\.(?: format | program )"""
)
"""Settings whose values are names, switches and formats; URLs only without a password."""
_DISPLAYED_SETTING_PATTERN = LazyRegex(
    r"(?i)\^(?:user|author|committer|init|branch|pull|push|merge|rebase|diff|color|commit|tag|fetch|log|status|advice)\\\."
)
"""Beginnings of patterns that match only such settings."""
_OLD_CONFIG = f"{_CONFIG} {' '.join(_CONFIG_READS)} ; text*"

_SETTING = LazyRegex(
    r"""(?isx) (?: color\..+ | column\..+ | advice\..+ | status\.(?!submodulesummary)\w+
    | core\.(?: quotepath | abbrev | autocrlf | eol | precomposeunicode | ignorecase | filemode | whitespace )
    | user\.(?:name|email) | log\.(?: date | decorate | abbrevcommit | follow | showroot | mailmap )
    | diff\.(?: renames | renamelimit | context | interhunkcontext | algorithm | colormoved | colormovedws | noprefix
        | mnemonicprefix | indentheuristic | statgraphwidth | wserrorhighlight | suppressblankempty | relative )
    | grep\.(?: linenumber | column | patterntype | fullname | threads ) | blame\.(?: date | showemail | showroot )
    | init\.defaultbranch | i18n\.\w+ | commit\.gpgsign | tag\.gpgsign | versionsort\.\w+
    | core\.pager (?= (?:=(?:cat)?)? \Z) | gc\.auto (?= =0\Z) | maintenance\.auto (?= =false\Z) ) (?: = .* )?"""
)
"""Settings that `-c` may give: how git prints and compares. None of them names a program or a file."""

_PRETTY_PLACEHOLDERS = LazyRegex(
    r"%(?:%|n|x[0-9a-fA-F]{2}|w(?:\([\d, ]*\))?|C(?:red|green|blue|reset|\([^()]*\))|[<>|]{1,2}\([^()]*\)|><\([^()]*\)"
    r"|[-+ ]?(?:[HhTtPpdDSesfbBNm]|a[nNeElLdDrtiIsh]|c[nNeElLdDrtiIsh]|g[DdnNeEs]"
    r"|\((?:trailers|describe|decorate)(?::[^()]*)?\)))"
)
"""Placeholders of `--pretty`. `%G?` and similar ones are missing, because they start the program that checks
signatures.
"""
_FORMAT_ATOM = (
    r"\*?(?:refname|objecttype|objectsize|objectname|deltabase|tree|parent|numparent|object|type|tag|(?:author|committer"
    r"|tagger|creator)(?:name|email|date)?|describe|subject|body|contents|trailers|raw|upstream|push|symref|flag|HEAD"
    r"|color|worktreepath|align|end|if|then|else|ahead-behind|is-base|rest)(?::[^()]*)?"
)
_REF_PLACEHOLDERS = LazyRegex(rf"%(?:%|[0-9a-fA-F]{{2}}|\({_FORMAT_ATOM}\))")
"""Placeholders of `git for-each-ref --format`. `%(signature)` is missing, because it starts a program."""
_SORT_KEY = LazyRegex(rf"-?(?:version:|v:)?{_FORMAT_ATOM}")
_PRETTY_NAME = LazyRegex(r"[\w-]*")


class _GitCall(Struct, frozen=True):
    """A parsed git call: where it runs (`-C`), its sub-command, and the words after it."""

    directory: str
    subcommand: str
    words: tuple[Word, ...]


def judge_git(words: tuple[Word, ...]) -> Judgement:
    """Judge the words of a git call. Raises UnknownWord if it is not known to be read-only."""
    request = _parse_git_options(words)
    if not request.subcommand:
        return Judgement()
    name, rest = request.subcommand, request.words
    if len(rest) == 1 and rest[0].text == "-h" and not rest[0].glob and name != "grep":
        return Judgement(git=True, directory=request.directory)  # prints the usage
    call = _judge_subcommand(name, rest)
    _check_formats(name, call)
    patterns = (word for word in call.operands if word.glob and word not in call.paths)
    paths = tuple(_resolve_path(word, request.directory) for word in (*call.paths, *patterns))
    own = (Word(request.directory),) if request.directory else ()
    shows_urls = name == "remote" or (name == "config" and any(".url" in word.text.casefold() for word in rest))
    conditions = ("git urls",) if shows_urls else ()
    return Judgement(paths=(*own, *paths), git=True, directory=request.directory, conditions=conditions)


def _resolve_path(word: Word, directory: str) -> Word:
    """Resolve a path argument of git against the directory of the call. Raises UnknownWord."""
    if not directory or word.text.startswith("~"):
        return word
    if word.glob:
        raise UnknownWord("an unquoted pattern and -C look at different directories")
    return Word(posixpath.join(directory, word.text))


def _parse_git_options(words: tuple[Word, ...]) -> _GitCall:
    """Parse git's own options, each of which must be harmless."""
    directory, place = "", 1
    while place < len(words) and words[place].text.startswith("-"):
        word = words[place]
        text = word.text
        if word.dynamic or word.glob:
            raise UnknownWord("has arguments computed at run time")
        if place + 1 == len(words) and text in _LISTING_WORD:
            return _GitCall("", "", ())
        place += 1
        if text in _GLOBAL_FLAGS:
            continue
        if text not in ("-C", "-c"):
            raise UnknownWord(f"the option {text.partition('=')[0]!r} of git is not known to be harmless")
        if place == len(words) or words[place].dynamic or words[place].glob:
            raise UnknownWord(f"the value of {text} is missing or computed at run time")
        value = words[place].text
        place += 1
        if text == "-C":
            directory = value if value.startswith("~") else posixpath.join(directory, value)
        elif not is_harmless_setting(value):
            raise UnknownWord(f"the setting {value.partition('=')[0]!r} is not known to be harmless")
    if place == len(words):
        return _GitCall("", "", ())
    if words[place].dynamic or words[place].glob:
        raise UnknownWord("its subcommand is computed at run time")
    return _GitCall(directory, words[place].text, words[place + 1 :])


def is_harmless_setting(text: str) -> bool:
    """Whether a value of `-c` only changes how git prints and compares."""
    return _SETTING.fullmatch(text) is not None


def _judge_subcommand(name: str, words: tuple[Word, ...]) -> ParsedCall:
    """Judge a sub-command by its own judge or grammar."""
    if name in _SUBCOMMAND_JUDGES:
        return _SUBCOMMAND_JUDGES[name](words)
    nested = {second for first, second in _NESTED_GRAMMARS if first == name}
    if nested:
        first = words[0] if words else Word("")
        if first.dynamic or first.glob:
            raise UnknownWord(f"what git {name} does is computed at run time")
        second = first.text if first.text in nested else ""
        if second not in nested:
            raise UnknownWord(f"'git {name}{' ' * bool(first.text)}{first.text}' is not known to only read")
        return _parse_words(_NESTED_GRAMMARS[name, second], words[1:] if second else words)
    if name not in _SUBCOMMAND_GRAMMARS:
        raise UnknownWord(f"'git {name}' is not known to only read")
    return _parse_words(_SUBCOMMAND_GRAMMARS[name], words)


def _parse_words(spec: str, words: tuple[Word, ...], order: Order = "permute") -> ParsedCall:
    """Parse the words of a sub-command, and check the paths among them."""
    grammar = read_grammar(spec, order=order)
    if words and words[-1].text in _LISTING and grammar.options.get(words[-1].text) is not None:
        words = (*words, Word("HEAD"))
    if "--sort" in grammar.options:  # its value often begins with a dash: `--sort -committerdate`
        place = next((place for place, word in enumerate(words[:-1]) if word.text == "--sort"), None)
        if place is not None and not (words[place + 1].dynamic or words[place + 1].glob):
            words = (*words[:place], Word(f"--sort={words[place + 1].text}"), *words[place + 2 :])
    call = parse_call(grammar, words)
    for option, value in call.options:
        # `git log -S -- x`: a search for commits treats `--` as the end of its options at any position.
        detached = value.startswith("-") and value != "-" and any(word.text == value for word in words)
        if detached and option != "-e":
            raise UnknownWord(f"the value of {option} looks like another option")
    return call


def _check_formats(name: str, call: ParsedCall) -> None:
    """Raise UnknownWord for a format or sort key that may start a program."""
    if name in ("branch", "tag", "for-each-ref"):
        for value in call.values("--format"):
            if "%" in _REF_PLACEHOLDERS.sub("", value):
                raise UnknownWord("the format has a placeholder that is not known to be harmless")
        for value in call.values("--sort"):
            if not _SORT_KEY.fullmatch(value):
                raise UnknownWord(f"the sort key {value!r} is not known to be harmless")
    elif name not in ("ls-files", "ls-tree", "config", "cat-file"):
        for value in call.values("--pretty", "--format"):
            if not is_plain_format(value):
                raise UnknownWord("the format has a placeholder that is not known to be harmless")


def is_plain_format(value: str) -> bool:
    """Whether a value of `--pretty` or `format.pretty` contains only placeholders that start no program."""
    return _PRETTY_NAME.fullmatch(value) is not None or "%" not in _PRETTY_PLACEHOLDERS.sub("", value)


def is_plain_sort_key(value: str) -> bool:
    """Whether a value of `branch.sort` or `tag.sort` starts no program."""
    return _SORT_KEY.fullmatch(value) is not None


def _make_listing_judge(name: str, *implied: str) -> Callable[[tuple[Word, ...]], ParsedCall]:
    """Judge `git branch` and `git tag`, which with an operand only list if an option says so."""

    def judge(words: tuple[Word, ...]) -> ParsedCall:
        call = _parse_words(_SUBCOMMAND_GRAMMARS[name], words)
        if call.operands and not call.has_option("-l", "--list", *_LISTING, *implied):
            raise UnknownWord(f"git {name} with a name creates one")
        return call

    return judge


def _judge_grep(words: tuple[Word, ...]) -> ParsedCall:
    """Judge `git grep`, whose first operand is a pattern unless `-e` gives one."""
    call = _parse_words(_SUBCOMMAND_GRAMMARS["grep"], words)
    if call.has_option("-e", "-f") or not call.operands or call.operands[0].glob:
        return call
    pattern = call.operands[0]
    paths = list(call.paths)
    paths.remove(pattern)
    return ParsedCall(options=call.options, operands=call.operands, paths=tuple(paths))


def _judge_config(words: tuple[Word, ...]) -> ParsedCall:
    """Accept only forms that read. Before git 2.46 all options precede the name, and `get` is no valid name there."""
    if words and not words[0].glob and ("config", words[0].text) in _NESTED_GRAMMARS:
        call = _parse_words(_NESTED_GRAMMARS["config", words[0].text], words[1:], "stop")
        _check_shown_settings(call, lists=words[0].text == "list" or call.has_option("--regexp"))
        return call
    call = _parse_words(_OLD_CONFIG, words, "stop")
    actions = {name for name, _ in call.options if name in _CONFIG_READS}
    given = len(call.operands)
    if any(word.glob for word in call.operands):
        raise UnknownWord("an unquoted pattern may expand to several arguments")
    if not actions:
        if given != 1 or "." not in call.operands[0].text:
            raise UnknownWord("git config with a value changes the configuration")
    elif len(actions) > 1 and actions != {"-l", "--list"}:
        raise UnknownWord("git config gets more than one action")
    elif given > 2:
        raise UnknownWord("has more arguments than are known to be harmless")
    _check_shown_settings(call, lists=not actions.isdisjoint(_CONFIG_LISTS))
    return call


def _check_shown_settings(call: ParsedCall, *, lists: bool) -> None:
    """Raise UnknownWord if values may be displayed that contain a secret, such as those from the environment.

    A file of the project may be read like any other file, but not its `.git`.
    """
    files = call.values("-f", "--file")
    # git reads the files that this one includes wherever they are; without the option it ignores `include` in it.
    if call.has_option("--includes") and (files or call.has_option("--blob")):
        raise UnknownWord("--includes reads the files that another file names")
    if call.has_option("--name-only") or (files and all(".git" not in file.split("/") for file in files)):
        return
    if lists:
        if not (call.operands and _DISPLAYED_SETTING_PATTERN.match(call.operands[0].text)):
            raise UnknownWord("shows the configuration of git, which may hold secrets")
    elif not call.operands or not _DISPLAYED_SETTINGS.fullmatch(call.operands[0].text):
        raise UnknownWord("shows a setting of git that may hold a secret")


def _judge_clean(words: tuple[Word, ...]) -> ParsedCall:
    call = _parse_words(_SUBCOMMAND_GRAMMARS["clean"], words)
    if not call.has_option("-n", "--dry-run"):
        raise UnknownWord("git clean without --dry-run deletes files")
    return call


def _judge_apply(words: tuple[Word, ...]) -> ParsedCall:
    call = _parse_words(_APPLY, words)
    if not call.has_option("--stat", "--numstat", "--summary", "--check"):
        raise UnknownWord("git apply changes files")
    return call


def _judge_remote(words: tuple[Word, ...]) -> ParsedCall:
    """Judge `git remote`, which reads in some forms and may ask the remote repository in others."""
    place = 0
    while place < len(words) and words[place].text in ("-v", "--verbose"):
        place += 1
    rest = words[place:]
    second = rest[0].text if rest and not rest[0].glob and not rest[0].dynamic else ""
    if not rest:
        return _parse_words(_NESTED_GRAMMARS["remote", ""], words)
    if second not in ("get-url", "show"):
        raise UnknownWord(f"'git remote {rest[0].text}' is not known to only read")
    call = _parse_words(_NESTED_GRAMMARS["remote", second], rest[1:])
    if second == "show" and call.operands and not call.has_option("-n"):
        raise UnknownWord("git remote show without -n asks the remote repository")
    return call


def _judge_reflog(words: tuple[Word, ...]) -> ParsedCall:
    """Judge `git reflog`, which without a sub-command shows a log."""
    first = words[0] if words else Word("")
    if first.text in ("show", "list", "exists") and not first.dynamic:
        return _parse_words(_NESTED_GRAMMARS["reflog", first.text], words[1:])
    if any(word.text in _OTHER_REFLOG or word.glob for word in words):
        raise UnknownWord("git reflog may forget commits")
    return _parse_words(_NESTED_GRAMMARS["reflog", ""], words)


def _judge_notes(words: tuple[Word, ...]) -> ParsedCall:
    """Judge `git notes`, of which only `list` and `show` read."""
    place = 0
    while place < len(words) and words[place].text.startswith("--ref"):
        if words[place].dynamic or words[place].text.partition("=")[0] != "--ref":
            raise UnknownWord(f"the option {words[place].text!r} is not known to be harmless")
        place += 1 if "=" in words[place].text else 2
    rest = words[place:]
    if place > len(words) or any(word.dynamic for word in words[:place]):
        raise UnknownWord("the value of --ref is missing or computed at run time")
    second = rest[0].text if rest else ""
    if (rest and (rest[0].dynamic or rest[0].glob)) or ("notes", second) not in _NESTED_GRAMMARS:
        raise UnknownWord(f"'git notes {second}' is not known to only read")
    return _parse_words(_NESTED_GRAMMARS["notes", second], rest[1:])


_SUBCOMMAND_JUDGES: dict[str, Callable[[tuple[Word, ...]], ParsedCall]] = {
    "apply": _judge_apply,
    "branch": _make_listing_judge("branch"),
    "clean": _judge_clean,
    "config": _judge_config,
    "grep": _judge_grep,
    "notes": _judge_notes,
    "reflog": _judge_reflog,
    "remote": _judge_remote,
    "tag": _make_listing_judge("tag", "-n"),
}
READING_SUBCOMMANDS = frozenset(_SUBCOMMAND_GRAMMARS) | {first for first, _ in _NESTED_GRAMMARS}
"""Sub-commands that only read in some of their calls."""


def is_reading_subcommand(words: tuple[Word, ...]) -> bool:
    """Whether the sub-command of a git call only reads in some of its calls."""
    place = find_git_subcommand(words)
    return 0 < place < len(words) and words[place].text in READING_SUBCOMMANDS


GIT_JUDGES: dict[str, Judge] = {"git": judge_git}


def read_git_grammar(name: str, second: str = "") -> Grammar:
    """Return the grammar of a sub-command, for generated tests. second: its own sub-command, "" for none."""
    if name == "config" and not second:
        return read_grammar(_OLD_CONFIG, order="stop")
    return read_grammar(
        _NESTED_GRAMMARS[name, second] if (name, second) in _NESTED_GRAMMARS else _SUBCOMMAND_GRAMMARS[name]
    )


OBJECT_PLACEHOLDER = "abcdef0123" * 4
"""Placeholder for an object name."""
_PLAIN_REVISION = LazyRegex(r"(?!.*\.\.)[A-Za-z@][\w/.-]*(?:[~^]\d*|@\{\d+\})*")
_OBJECT_COMMITS = """
    -# -n=number --max-count=number --skip=number --since= --after= --until= --before= --author= --committer= --grep= -i
    --merges --no-merges --first-parent --all --branches --tags --remotes --reverse --date-order --topo-order --no-walk
    --author-date-order
    """
_PRINTS_OBJECTS: dict[str, str] = {
    "merge-base": "-a --all --octopus --independent --fork-point ; text+",
    "rev-list": f"{_OBJECT_COMMITS} ; text*",
    "log": f"{_OBJECT_COMMITS} --format=(%H|%h) --pretty=(format:%H|format:%h|tformat:%H|tformat:%h) ; text*",
    "rev-parse": "--verify -q --quiet --short? ; text",
}


def find_object_revisions(command: SimpleCommand) -> tuple[str, ...] | None:
    """Return the revisions passed to a git call that prints nothing but their object names; None for other calls."""
    program, subcommand = (*command.argv, "", "")[:2]
    spec = _PRINTS_OBJECTS.get(subcommand)
    if spec is None or program != "git" or any(word.glob or word.dynamic for word in command.words):
        return None
    words = command.words[2:]
    if words[-1:] == (Word("--"),):
        words = words[:-1]
    try:
        call = parse_call(read_grammar(spec), words)
    except UnknownWord:
        return None
    if subcommand == "log" and len(call.values("--format", "--pretty")) != 1:
        return None
    texts = tuple(word.text for word in call.operands)
    ranges = (part for text in texts for part in ([text] if subcommand == "rev-parse" else _split_range(text)))
    return texts if all(map(_PLAIN_REVISION.fullmatch, ranges)) else None


def _split_range(text: str) -> list[str]:
    """Return the revisions of `a..b` and `a...b`, either of which may be omitted."""
    return [part for part in text.replace("...", "..").split("..") if part] if text.count("..") == 1 else [text]
