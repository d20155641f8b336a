"""Grammars of developer tools that only print, and what the files of a project make such a tool run or show."""

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from clio.readonly_git import read_git_path
from clio.security.readonly.grammar import Judge, Judgement, Order, ParsedCall, UnknownWord, parse_call, read_grammar
from clio.security.shell.command_line import Word
from clio.storage.files import read_beginning

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_MOST_SUBCOMMANDS = 3


def make_subcommand_judge(
    table: Mapping[str, str],
    *,
    order: Order = "permute",
    long_single_dash: bool = False,
    check: Callable[[ParsedCall], None] | None = None,
    network: frozenset[str] = frozenset(),
    git: bool = False,
    conditions: tuple[str, ...] = (),
) -> Judge:
    """Create the judge of a program whose calls begin with the words of a sub-command, each with a spec.

    Args:
        table: the words of a sub-command ("", "ps", "compose ps", "--version") mapped to its options and operands.
        network: the sub-commands that query a local service.
        git: each call runs git in its directory.
        conditions: what must be true of the project's files.
    """

    def judge(words: tuple[Word, ...]) -> Judgement:
        """Judge a call by the grammar of its sub-command."""
        texts: list[str] = []
        for word in words[1 : _MOST_SUBCOMMANDS + 1]:
            if word.dynamic or word.glob:
                break
            texts.append(word.text)
        names = (" ".join(texts[:many]) for many in range(len(texts), -1, -1))
        name = next((name for name in names if name in table), None)
        if name is None:
            subject = repr(" ".join(texts[:1])) if texts else "without a subcommand it"
            raise UnknownWord(f"{subject} is not known to be harmless")
        spec = read_grammar(table[name], order=order, long_single_dash=long_single_dash)
        call = parse_call(spec, words[1 + len(name.split()) :])
        if check is not None:
            check(call)
        return Judgement(paths=call.paths, network=name in network, git=git, conditions=conditions)

    return judge


def _make_version_judge(options: str, *, conditions: tuple[str, ...] = ()) -> Judge:
    """Create the judge of a program of which only these options, which print its version, are accepted."""
    table = dict.fromkeys(options.split(), ";")
    return make_subcommand_judge(table, conditions=conditions)


_JSON_TOOL = """
    -h --help --sort-keys --no-ensure-ascii --json-lines --indent=number --tab --no-indent --compact ; path?
    """


def _judge_python(words: tuple[Word, ...]) -> Judgement:
    """Judge `python3 -m json.tool [file]` and the version. json.tool would write to a second operand.

    Without `-I` or `-P`, Python imports modules from its directory first.
    """
    texts = [word.text for word in words[1:]]
    if texts in (["--version"], ["-V"], ["-VV"], ["--help"], ["-h"]):
        return Judgement()
    isolated = texts[:1] in (["-I"], ["-P"])
    rest = words[2:] if isolated else words[1:]
    if [word.text for word in rest[:2]] != ["-m", "json.tool"]:
        raise UnknownWord("runs a program")
    call = parse_call(read_grammar(_JSON_TOOL), rest[2:])
    return Judgement(paths=call.paths, conditions=() if isolated else ("python",))


def _judge_sw_vers(words: tuple[Word, ...]) -> Judgement:
    """Judge sw_vers, which prints the version of macOS."""
    parse_call(
        read_grammar(
            "-productName -productVersion -buildVersion --productName --productVersion --buildVersion ;",
            long_single_dash=True,
        ),
        words[1:],
    )
    return Judgement()


_PIP = {
    "--help": ";",
    "-h": ";",
    "list": """
        -v -q -l --local --user --not-required --include-editable --exclude-editable --format=(columns|freeze|json)
        --exclude= -e --editable --no-color --disable-pip-version-check --no-input ;
        """,
    "show": "-v -q -f --files --verbose --quiet --no-color --disable-pip-version-check --no-input ; text+",
    "freeze": "-l --local --user --all --exclude-editable --exclude= -q --disable-pip-version-check --no-color ;",
    "check": "-v -q --disable-pip-version-check --no-color ;",
    "--version": ";",
    "-V": ";",
}

_NPM_LS = """
    --depth=number --all -a --json --long -l --parseable -p --prod --production --dev --omit=(dev|optional|peer)
    --include=(prod|dev|optional|peer) --link --global -g --no-color --silent -s --workspaces ; text*
    """
_NPM = {
    "--help": ";",
    "-h": ";",
    **dict.fromkeys(("ls", "list", "ll", "la"), _NPM_LS),
    "root": "-g --global ;",
    "prefix": "-g --global ;",
    "pkg get": "--json ; text*",
    "config get registry": ";",
    "--version": ";",
    "-v": ";",
}

_CARGO_TREE = """
    -i= --depth=number --prefix=(none|indent|depth) -e= --edges= -p= --package= --invert= --workspace --all
    --exclude= --all-features --no-default-features --features= -F= -f= --format= --no-dedupe -d --duplicates
    --target=(all) --charset=(utf8|ascii) --locked --offline --frozen -q --quiet -v --color=(auto|always|never) ;
    """
_CARGO = {
    "tree": _CARGO_TREE,
    "metadata": "--no-deps --offline --locked --frozen --format-version=(1) -q --quiet ;",
    "locate-project": "--workspace --message-format=(json|plain) ;",
    "version": "-v --verbose ;",
    "--version": "-v --verbose ;",
    "-V": ";",
    "-vV": ";",
    "--list": ";",
    "--help": ";",
    "-h": ";",
}


def _judge_cargo(words: tuple[Word, ...]) -> Judgement:
    """Judge cargo. `cargo metadata` without --no-deps writes Cargo.lock; `cargo tree` does if the file is missing."""
    judgement = _JUDGE_CARGO(words)
    texts = [word.text for word in words]
    if texts[1] == "metadata" and "--no-deps" not in texts:
        raise UnknownWord("without --no-deps it may write Cargo.lock")
    return replace(judgement, conditions=("rust", "lock")) if texts[1] == "tree" else judgement


_JUDGE_CARGO = make_subcommand_judge(_CARGO, conditions=("rust",))

_RUSTC_PRINTS = "sysroot target-list target-libdir crate-name host-tuple target-cpus target-features".split()
_RUSTC = {
    **dict.fromkeys(("--version", "-V", "-vV", "--help"), ";"),
    "--print": f"; text({'|'.join(_RUSTC_PRINTS)})",
    **{f"--print={name}": ";" for name in _RUSTC_PRINTS},
}
_RUSTUP = {
    **dict.fromkeys(("--version", "--help", "show", "show home", "show active-toolchain"), ";"),
    "toolchain list": "-v --verbose -q --quiet ;",
    "target list": "--installed -q --quiet ;",
    "component list": "--installed -q --quiet ;",
    "which": "; text(rustc|cargo|rustfmt|rustdoc|clippy-driver)",
}

# The "toolchain" in go.mod is ignored: GOTOOLCHAIN=local is set for commands that run without approval.
_GO = {
    "version": "-m -v ; path*",
    "env": "; text(GOOS|GOARCH|GOPATH|GOROOT|GOMOD|GOVERSION|GOBIN|GOCACHE|GOMODCACHE|GOTOOLCHAIN|GOWORK|CGO_ENABLED)+",
    "help": "; text*",
}

_DOCKER_LIST = "-a -q -f= --all --quiet --filter= --format= --no-trunc"
_DOCKER = {
    "--help": ";",
    "ps": f"{_DOCKER_LIST} -s -n=number -l --size --last=number --latest ;",
    "container ls": f"{_DOCKER_LIST} -s -n=number -l --size --last=number --latest ;",
    "container list": f"{_DOCKER_LIST} -s -n=number -l --size --last=number --latest ;",
    "images": f"{_DOCKER_LIST} --digests --tree ; text?",
    "image ls": f"{_DOCKER_LIST} --digests --tree ; text?",
    "volume ls": f"{_DOCKER_LIST} ;",
    "network ls": f"{_DOCKER_LIST} ;",
    "context ls": "-q --quiet --format= ;",
    "system df": "-v --verbose --format= ;",
    "compose ls": "-a -q --all --quiet --format=(table|json) ;",
    "compose version": "--short --format= -f= ;",
    "version": "-f= --format= ;",
    "info": "-f= --format= ;",
    "stats": "--no-stream -a --all --format= --no-trunc ; text*",
    "--version": ";",
    "-v": ";",
}
_DOCKER_QUIET = frozenset({"--help", "--version", "-v", "compose version", "context ls"})


_SQLITE_FORMS = "header noheader csv json column list line box table markdown quote tabs ascii html batch"
_SQLITE_SHOWS = frozenset(f"-{name}" for name in _SQLITE_FORMS.split())
_SQL_WORDS = frozenset(
    """
    select distinct all from where and or not in is null like glob between exists case when then else end as
    on using join left right full inner outer cross natural group by having order asc desc nulls first last
    limit offset union intersect except values true false collate nocase rtrim binary escape cast integer text
    real blob numeric filter over partition rows
    """.split()
)
_SQL_FUNCTIONS = frozenset(
    """
    count sum total avg min max group_concat abs round length lower upper trim ltrim rtrim substr substring
    replace instr coalesce ifnull nullif iif typeof hex quote printf format date time datetime julianday
    strftime unixepoch json json_extract json_type json_array_length json_valid rank row_number dense_rank lag
    lead first_value last_value sqlite_version random changes
    """.split()
)
_SQL_TOKEN = re.compile(
    r"\s+|'(?:[^']|'')*'(?!\s*\()|\"(?:[^\"]|\"\")+\"(?!\s*\()|\d+(?:\.\d+)?|(?P<word>[A-Za-z_]\w*)(?P<call>\s*\()?"
    r"|\|\||<>|<=|>=|!=|==|[(),.*=<>+/%-]"
)


def _judge_sqlite(words: tuple[Word, ...]) -> Judgement:
    """Judge `sqlite3 -readonly FILE 'select …'`: one statement with only read-only words and known functions.

    Without `-safe`, a view of the database may call `edit()`, which runs any command; then the database must have none.
    """
    texts = [word.text for word in words[1:]]
    if len(texts) == 1 and texts[0] in ("--version", "-version", "--help", "-help"):
        return Judgement()
    if any(word.dynamic or word.glob for word in words[1:]):
        raise UnknownWord("what sqlite3 runs is computed at run time")
    flags, rest = texts[:-2], words[-2:]
    if "-readonly" not in flags or not set(flags) <= {*_SQLITE_SHOWS, "-readonly", "-safe"}:
        raise UnknownWord("sqlite3 is known to only read with -readonly and options that choose a form of output")
    file, text = rest
    if file.text.startswith(("-", "file:", ":")) or not file.text:
        raise UnknownWord(f"{file.text!r} is no plain name of a database")
    _check_select(text.text.strip().removesuffix(";"))
    conditions = (f"sqlite:{file.text}", *([] if "-safe" in flags else [f"sqlite tables:{file.text}"]))
    return Judgement(paths=(file,), conditions=conditions)


def _check_select(text: str) -> None:
    """Raise UnknownWord unless a text is one `select` with known words, names and functions."""
    place = 0
    if not text.casefold().startswith(("select ", "values")):
        raise UnknownWord("sqlite3 is known to only read with one select")
    if "--" in text or "/*" in text:
        raise UnknownWord("a comment in SQL is not looked into")
    while place < len(text):
        match = _SQL_TOKEN.match(text, place)
        if match is None:
            raise UnknownWord(f"{text[place]!r} in SQL is not known to only read")
        word = (match["word"] or "").casefold()
        if match["call"] and word not in _SQL_FUNCTIONS | _SQL_WORDS:
            raise UnknownWord(f"the SQL function {word!r} is not known to only read")
        place = match.end()


def _judge_docker(words: tuple[Word, ...]) -> Judgement:
    """Judge docker. `docker stats` without --no-stream never ends."""
    texts = [word.text for word in words]
    if texts[1:2] == ["stats"] and "--no-stream" not in texts:
        raise UnknownWord("without --no-stream it never ends")
    return _JUDGE_DOCKER(words)


_JUDGE_DOCKER = make_subcommand_judge(_DOCKER, network=frozenset(_DOCKER) - _DOCKER_QUIET)

_GH_REPOSITORY = "-R= --repo="
_GH_LIST = f"""
    {_GH_REPOSITORY} -L=number -s= -A= -a= -l= -S= --limit=number --state= --author= --assignee= --label= --search=
    --json=
    """
_GH = {
    "--help": ";",
    "pr list": f"{_GH_LIST} -B= -H= -d --base= --head= --draft ;",
    "pr view": f"{_GH_REPOSITORY} -c --comments --json= ; text?",
    "pr status": f"{_GH_REPOSITORY} -c --conflict-status --json= ;",
    "pr diff": f"{_GH_REPOSITORY} --name-only --patch --color=(always|never|auto) ; text?",
    "pr checks": f"{_GH_REPOSITORY} --required --json= ; text?",
    "issue list": f"{_GH_LIST} -m= --milestone= --mention= ;",
    "issue view": f"{_GH_REPOSITORY} -c --comments --json= ; text",
    "issue status": f"{_GH_REPOSITORY} --json= ;",
    "run list": f"{_GH_REPOSITORY} -L=number -b= -w= -s= -e= -u= -c= -a --limit=number --branch= --workflow= --status="
    " --event= --user= --commit= --all --json= ;",
    "run view": f"{_GH_REPOSITORY} -v -j= -a=number --verbose --job= --log --log-failed --attempt=number --json="
    " --exit-status ; number?",
    "repo view": "-b= --branch= --json= ; text?",
    "release list": f"{_GH_REPOSITORY} -L=number --limit=number --exclude-drafts --exclude-pre-releases --json= ;",
    "release view": f"{_GH_REPOSITORY} --json= ; text?",
    "label list": f"{_GH_REPOSITORY} -L=number -S= --limit=number --search= --json= ;",
    "workflow list": f"{_GH_REPOSITORY} -L=number -a --limit=number --all --json= ;",
    "--version": ";",
    "version": ";",
}


def _check_gh(call: ParsedCall) -> None:
    """Refuse another host, in a URL or before the owner, because gh might send its token there."""
    if not all(map(_REPOSITORY.fullmatch, call.values("-R", "--repo"))):
        raise UnknownWord("--repo is not OWNER/REPO")
    if any(":" in word.text or word.text.count("/") > 1 or word.glob for word in call.operands):
        raise UnknownWord("an operand may name another host")


_GH_ASKS = frozenset(_GH) - {"--help", "--version", "version"}
_COMPILER = "--version --help -v -dumpversion -dumpmachine -dumpfullversion -print-search-dirs -print-sysroot"

DEVELOPER_TOOLS: dict[str, Judge] = {
    **dict.fromkeys(("python", "python3", "pypy", "pypy3"), _judge_python),
    **dict.fromkeys(("node", "nodejs"), _make_version_judge("--version -v --help")),
    "deno": _make_version_judge("--version -V --help"),
    "bun": _make_version_judge("--version -v --revision --help"),
    **dict.fromkeys(("ruby", "perl", "php", "lua", "luajit"), _make_version_judge("--version -v")),
    **dict.fromkeys(("R", "Rscript", "julia", "ghc"), _make_version_judge("--version")),
    # With -n they check a script and run nothing.
    **dict.fromkeys(("bash", "sh", "dash"), make_subcommand_judge({"--version": ";", "-n": "; path"}, order="stop")),
    **dict.fromkeys(("zsh", "fish"), _make_version_judge("--version")),
    "rustc": make_subcommand_judge(_RUSTC, conditions=("rust",)),
    "rustup": make_subcommand_judge(_RUSTUP, conditions=("rust", "toolchain")),
    **dict.fromkeys(("rustfmt", "rustdoc"), _make_version_judge("--version -V -vV --help", conditions=("rust",))),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++", "cpp"), _make_version_judge(_COMPILER)),
    **dict.fromkeys(("java", "javac", "jar", "kotlin", "kotlinc"), _make_version_judge("--version -version")),
    **dict.fromkeys(("make", "gmake"), _make_version_judge("--version -v --help")),
    **dict.fromkeys(
        ("cmake", "ctest", "ninja", "meson", "ld", "ar", "as", "gdb"), _make_version_judge("--version --help")
    ),
    **dict.fromkeys(
        ("ruff", "black", "mypy", "isort", "prettier", "tsc", "eslint", "uv", "uvx", "pipx"),
        _make_version_judge("--version --help"),
    ),
    **dict.fromkeys(
        ("curl", "wget", "rsync", "psql", "redis-cli", "shellcheck", "shfmt"),
        _make_version_judge("--version --help"),
    ),
    "sqlite3": _judge_sqlite,
    "mysql": _make_version_judge("--version"),  # --help prints the user's settings as well
    **dict.fromkeys(("podman", "docker-compose", "brew"), _make_version_judge("--version --help")),
    "cargo": _judge_cargo,
    "go": make_subcommand_judge(_GO, long_single_dash=True),
    "gofmt": make_subcommand_judge({"": "-l -s -e -d ; path*"}, long_single_dash=True),
    **dict.fromkeys(("pip", "pip3"), make_subcommand_judge(_PIP)),
    "npm": make_subcommand_judge(_NPM, conditions=("npm",)),
    "docker": _judge_docker,
    "gh": make_subcommand_judge(_GH, check=_check_gh, network=_GH_ASKS, git=True),
    "openssl": make_subcommand_judge({"version": "-a -b -c -d -e -f -m -o -p -r -v ;"}, long_single_dash=True),
    "dpkg": make_subcommand_judge(
        {"-l": "; text*", "-s": "; text+", "-L": "; text+", "-S": "; text+", "--version": ";", "--help": ";"}
    ),
    "apt-cache": make_subcommand_judge({"show": "; text+", "search": "-n ; text+", "policy": "; text*"}),
    "apt": make_subcommand_judge({"list": "--installed --upgradable -a ; text*", "--version": ";"}),
    "sw_vers": _judge_sw_vers,
}


MAX_BYTES = 200_000
"""Larger configuration files are not parsed and count as unknown."""
_PYTHON_SUFFIXES = (".py", ".pyc", ".so", ".pyd")
_NEWER_MODULES = frozenset({"annotationlib", "compression", "json", "pip"})
"""Modules that only a newer Python than clio's own includes."""
_CARGO_KEYS = {"build": {"jobs", "incremental"}, "net": {"offline", "retry"}, "term": None, "profile": None}
_NPM_LINE = re.compile(
    r"\s*(?:[#;].*|(?:save-exact|save-prefix|engine-strict|legacy-peer-deps|strict-peer-dep(?:endencie)?s|audit|fund|"
    r"package-lock|loglevel|progress|color|registry|@[\w.-]+:registry|//[^=\s]*:_authToken|always-auth|"
    r"auto-install-peers|shamefully-hoist|(?:public-)?hoist-pattern\[\]|node-linker|resolution-mode)\s*=.*)?"
)
"""A line of .npmrc that names no program, no directory and no option of node."""
_TOOLCHAIN_FILES = ("rust-toolchain", "rust-toolchain.toml")
_TOOLCHAIN = re.compile(r"\s*[\w.-]+\s*", re.ASCII)


def explain_project_influence(condition: str, directory: Path, root: Path) -> str:
    """Why project files decide what a tool runs; "" if they do not.

    Args:
        condition: "python": no module of the directory shadows one of Python's own. "rust": no toolchain file and no
            configuration names a program. "npm": no configuration names a program or another directory. "git urls": no
            URL in git's configuration has a password. "toolchain": no file names a Rust toolchain. "lock": beside each
            Cargo.toml that cargo finds is a Cargo.lock, so that it writes none.
            "sqlite:FILE", "sqlite tables:FILE": what is in a database.
        directory: where the tool runs.
        root: the workspace; directories from `directory` up to it are checked.
    """
    if condition.startswith("sqlite:"):
        return _explain_database(directory / condition.removeprefix("sqlite:"))
    if condition.startswith("sqlite tables:"):
        return _explain_schema(directory / condition.removeprefix("sqlite tables:"))
    match condition:
        case "python":
            return _explain_python_shadowing(directory)
        case "rust":
            return _find_first_reason(_explain_rust_settings, directory, root)
        case "lock":
            places = list(_list_upward(directory, root))
            missing = any((place / "Cargo.toml").exists() for place in places) and not any(
                (place / "Cargo.lock").exists() for place in places
            )
            return "would write Cargo.lock, which is missing" if missing else ""
        case "npm":
            return _find_first_reason(_explain_npm_settings, directory, root)
        case "git urls":
            return "shows a URL with a password in it" if _has_secret_url(directory) else ""
        case "toolchain":
            named = any((place / name).exists() for place in _list_upward(directory, root) for name in _TOOLCHAIN_FILES)
            return "may install the toolchain that the project names" if named else ""
        case _:
            return f"depends on {condition!r}, which clio does not know"


def _list_upward(directory: Path, root: Path) -> Iterator[Path]:
    yield directory
    for parent in directory.parents:
        if directory != root and (parent == root or root in parent.parents):
            yield parent


def _find_first_reason(explain: Callable[[Path], str], directory: Path, root: Path) -> str:
    return next((why for place in _list_upward(directory, root) if (why := explain(place))), "")


def _explain_python_shadowing(directory: Path) -> str:
    """Check that no file shadows a module: `python3 -m` searches its directory first."""
    try:
        names = [entry.name for entry in directory.iterdir()]
    except OSError:
        return "runs in a directory that cannot be listed"
    for name in names:
        stem = name.split(".", 1)[0]
        shadows = stem in sys.stdlib_module_names | _NEWER_MODULES or (stem[:1] == "_" and stem[:2] != "__")
        if shadows and (name == stem or name.endswith(_PYTHON_SUFFIXES)):
            return f"may load the file {name!r} in place of a module of Python's own"
    return ""


def _explain_rust_settings(directory: Path) -> str:
    """Return why cargo or rustup settings in a directory may name a program; "" if they do not."""
    for name in ("rust-toolchain", "rust-toolchain.toml"):
        if (directory / name).exists() and not _is_user_toolchain(_read_content(directory / name)):
            return f"may run the toolchain that {name!r} names"
    for name in (".cargo/config", ".cargo/config.toml"):
        if (directory / name).exists() and (key := _find_cargo_key(_read_content(directory / name))):
            return f"may run what {key!r} in {name!r} names"
    return ""


def _is_user_toolchain(content: str) -> bool:
    """Whether a toolchain file names one of the user's toolchains, not a directory."""
    if _TOOLCHAIN.fullmatch(content):
        return True
    settings = _parse_toml(content).get("toolchain", {"path": ""})
    known = settings.keys() <= {"channel", "components", "targets", "profile"}
    return known and _TOOLCHAIN.fullmatch(str(settings.get("channel", "stable"))) is not None


def _find_cargo_key(content: str) -> str:
    """Return the first key of a cargo configuration that may name a program or a directory; "" for none."""
    for name, settings in _parse_toml(content).items():
        if name not in _CARGO_KEYS:
            return name
        known = _CARGO_KEYS[name]
        if known is not None and (other := next((key for key in settings if key not in known), None)):
            return f"{name}.{other}"
    return ""


def _parse_toml(content: str) -> dict[str, dict[str, object]]:
    """Return the tables of a TOML file; one table with an unknown name if it cannot be parsed."""
    try:
        return msgspec.convert(tomllib.loads(content), dict[str, dict[str, object]])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError):
        return {"unreadable": {}}


def _is_harmless_npm_line(line: str) -> bool:
    """Whether a line is harmless for npm. `${NAME}` expands an environment variable, which some settings display."""
    token = ":_authToken" in line.partition("=")[0]
    return _NPM_LINE.fullmatch(line) is not None and (token or "${" not in line)


def _explain_npm_settings(directory: Path) -> str:
    path = directory / ".npmrc"
    if not path.exists():
        return ""
    line = next((line for line in _read_content(path).splitlines() if not _is_harmless_npm_line(line)), None)
    return "" if line is None else f"may do what {line.strip()[:40]!r} in '.npmrc' says"


def _read_content(path: Path) -> str:
    """Return the text of a file; an unreadable file counts as unknown content."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return "\0"
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return "\0"


def _explain_database(path: Path) -> str:
    """Why reading an SQLite database would write files beside it: a write-ahead log, or a rollback."""
    if path.with_name(f"{path.name}-journal").exists() or path.with_name(f"{path.name}-wal").exists():
        return f"may change {path.name!r}, of which a transaction is open"
    try:
        head = read_beginning(path, 20)
    except OSError:
        return ""
    return f"writes a log beside {path.name!r}" if head[18:20] not in (b"", b"\1\1") else ""


def _explain_schema(path: Path) -> str:
    """Why reading a database may run a program: it has more than ordinary tables and indexes."""
    import sqlite3
    from contextlib import closing

    if not path.is_file():
        return ""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            rows = database.execute("select type, sql from sqlite_master limit ?", (_MAX_SCHEMA_ROWS + 1,)).fetchall()
    except (sqlite3.Error, ValueError):
        return f"may run what {path.name!r} contains, which cannot be checked"
    plain = all(sql is None if kind == "index" and not sql else _PLAIN_SCHEMA.match(str(sql)) for kind, sql in rows)
    if not plain or len(rows) > _MAX_SCHEMA_ROWS:
        return f"may run what a view of {path.name!r} calls; -safe prevents that"
    return ""


_MAX_SCHEMA_ROWS = 2_000
_PLAIN_SCHEMA = re.compile(r"CREATE (?:TABLE|(?:UNIQUE )?INDEX) ")
"""How SQLite itself begins the stored text of a table or an index; that of views and virtual tables differs."""

MAX_GIT_INCLUDES = 20
"""Files that one git configuration may include, directly or not, before it counts as unknown."""
_MAX_CONFIG_BYTES = 1_000_000
_SECRET_URL = re.compile(r"://(?:[^\s/@\"]*:[^\s/\"]*|(?!git@|hg@)[^\s/@\"]{16,})@")


def _has_secret_url(folder: Path) -> bool:
    """Whether the git configuration that applies in a folder contains a URL with a password or token."""
    waiting, seen = list(iter_git_config_files(folder)), set[Path]()
    while waiting and len(seen) < MAX_GIT_INCLUDES:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for line in iter_config_lines(path):
            if _SECRET_URL.search(line):
                return True
            key, sign, value = line.partition("=")
            if sign and key.strip().casefold() == "path":
                other = Path(os.path.expanduser(unquote_git_value(value)))  # noqa: PTH111
                waiting.append(other if other.is_absolute() else path.parent / other)
    return bool(waiting)


def iter_git_config_files(folder: Path) -> Iterator[Path]:
    """Yield the configuration files git reads in a folder, lowest precedence first."""
    home = Path.home()
    yield from (Path("/etc/gitconfig"), Path("/usr/local/etc/gitconfig"), Path("/opt/homebrew/etc/gitconfig"))
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    yield Path(os.environ.get("GIT_CONFIG_GLOBAL") or home / ".gitconfig")
    for place in (folder, *folder.parents):
        for base in (place / ".git", place):
            git_dir = _read_git_link(base) if base.is_file() else base
            if git_dir is None or not (git_dir / "HEAD").is_file():
                continue
            try:
                common = git_dir / read_git_path(git_dir / "commondir")
            except (OSError, UnicodeDecodeError):
                common = git_dir
            yield from (common / "config", git_dir / "config.worktree")
            return


def _read_git_link(path: Path) -> Path | None:
    """Return the folder that a `.git` file names."""
    try:
        text = read_git_path(path)
    except (OSError, UnicodeDecodeError):
        return None
    return path.parent / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else None


def iter_config_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a configuration file, continued lines joined. Yields nothing for a file that is too large."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_CONFIG_BYTES:
            return
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from text.replace("\\\r\n", "").replace("\\\n", "").splitlines()


def unquote_git_value(text: str) -> str:
    """Return a value of git's configuration without its quotes and comment."""
    shown, quoted, place = "", False, 0
    text = text.strip()
    while place < len(text):
        letter = text[place]
        if letter == "\\" and place + 1 < len(text):
            place += 1
            shown += {"n": "\n", "t": "\t", "b": "\b"}.get(text[place], text[place])
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            shown += letter
        place += 1
    return shown.strip()
