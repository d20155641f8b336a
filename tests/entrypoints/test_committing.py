"""/commit, /review and /pr in real repositories, with a whole app and a scripted user."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from clio.agent.user_interface import ComposedInterface
from clio.app import App
from clio.commands.command import GitTask, RunExpandedCommand
from clio.commands.git_commands import describe_branch
from clio.commands.registry import run_added_command, run_command
from clio.config.layers import load_config
from clio.config.options import Options
from clio.config.schema import Config
from clio.entrypoints.oneshot import DecliningAsker, DenyingApprover
from clio.entrypoints.repl.commands import CommitRun
from clio.errors import ConfigError, ServerFailed, UserError
from clio.messages import AssistantMessage, ToolCall, UserMessage
from clio.providers.base import Provider
from clio.providers.offline import OfflineProvider
from clio.providers.registry import make_provider
from clio.ui.commit_dialog import CommitAnswer, ProposedCommit
from tests.entrypoints.repl_support import ROOT
from tests.support.chat_server import ChatServer, error, text
from tests.support.repositories import NOBODY, git, make, write
from tests.support.scripted_provider import Reply, ScriptedProvider
from tests.support.waiting import run_loop_once
from tests.support.wording import mentions

GO, NO, EDIT = (CommitAnswer(kind=kind) for kind in ("go", "no", "edit"))
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture(autouse=True)
def nobody_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("GIT_", "CLIO_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    for name, value in NOBODY.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make(tmp_path / "shop", {"a.py": "one\n", "b.py": "one\n", ".gitignore": ".clio/\n"}, subject="feat: begin")


class CommitUser:
    """Answers questions, and records the output."""

    def __init__(self, *answers: CommitAnswer, files: Literal["own", "tracked"] | None = "own", leaks: bool = True,
                 trusts: bool = True):  # fmt: skip
        self.answers = list(answers)
        self.files = files
        self.leaks = leaks
        self.trusts = trusts
        self.programs: list[str] = []
        self.seen: list[ProposedCommit] = []
        self.told: list[str] = []
        self.asked: list[Any] = []

    async def choose_files(self, own: Sequence[str], tracked: Sequence[str]) -> Literal["own", "tracked"] | None:
        self.asked.append((list(own), list(tracked)))
        return self.files

    async def confirm_secrets(self, lines: Sequence[str]) -> bool:
        self.asked.append(list(lines))
        return self.leaks

    async def confirm_programs(self, lines: Sequence[str]) -> bool:
        self.programs = list(lines)
        return self.trusts

    async def ask_about_commit(self, proposed: ProposedCommit, diff: Callable[[], str]) -> CommitAnswer:
        self.seen.append(proposed)
        self.diff = diff()
        return self.answers.pop(0)

    def print_sentence(self, text: str, *, is_error: bool = False) -> None:
        self.told.append(text)

    def print_output(self, text: str) -> None:
        self.told.append(text)


class Clio:
    """A whole clio in a repository, for one test."""

    def __init__(self, repo: Path, provider: Provider, **settings: Any) -> None:
        home = repo.parent / "home"
        loaded = load_config(Options(cwd=repo), {"HOME": str(home)})
        config = msgspec.structs.replace(loaded.config, approve="all", **settings)
        self.app = App(
            msgspec.structs.replace(loaded, config=config),
            provider,
            ComposedInterface(DenyingApprover(), DecliningAsker(), lambda event: None),
            {"HOME": str(home)},
        )

    def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        async def whole() -> Any:
            try:
                return await work()
            finally:
                await self.app.close()

        return asyncio.run(whole())

    def commit(self, user: CommitUser, words: str = "", *, after: str = "") -> None:
        async def work() -> None:
            if after:
                await self.app.run_turn(after)
            await CommitRun(self.app, user, _wait).run(words)

        self.run(work)


async def _wait(label: str, work: Awaitable[Any]) -> Any:
    return await work


def writes(path: str, text: str) -> AssistantMessage:
    arguments = msgspec.json.encode({"path": path, "content": text}).decode()
    return AssistantMessage(content="", tool_calls=(ToolCall(id="1", name="write_file", arguments=arguments),))


def clio(repo: Path, *replies: Reply, **settings: Any) -> Clio:
    return Clio(repo, ScriptedProvider(replies), **settings)


def asked(one: Clio) -> str:
    provider = one.app.provider
    assert isinstance(provider, ScriptedProvider)
    last = provider.requests[-1].messages[-1]
    context = last.context if isinstance(last, UserMessage) else ""
    return "\n".join(filter(None, (context, last.content)))


def log(repo: Path, form: str = "%s") -> str:
    return git(repo, "log", "-1", f"--format={form}")


def test_changes_of_the_session_are_committed_with_a_message_from_the_task(repo: Path) -> None:
    write(repo, {"b.py": "mine\n"})
    one = clio(repo, writes("new.py", "def ship(): ...\n"), "done", "feat: ship things\n\nBecause.")
    user = CommitUser(GO)
    one.commit(user, after="make shipping possible")
    assert user.asked == [(["new.py"], ["b.py"])]
    assert log(repo, "%B") == "feat: ship things\n\nBecause."
    assert git(repo, "show", "--format=", "--name-only") == "new.py"
    assert git(repo, "status", "--short") == " M b.py"
    prompt = asked(one)
    assert "- make shipping possible" in prompt
    assert "- feat: begin\nThey follow Conventional Commits" in prompt
    assert "+def ship(): ..." in prompt
    assert (user.seen[0].stat, user.seen[0].target) == ("1 file, +1 −0", "on main")
    assert user.told[-1].startswith("committed ")


def test_all_tracked_changes_can_be_committed_instead(repo: Path) -> None:
    write(repo, {"b.py": "mine\n"})
    clio(repo, writes("new.py", "x\n"), "done", "fix: b").commit(CommitUser(GO, files="tracked"), after="go")
    assert git(repo, "status", "--short") == "?? new.py"


def test_without_a_choice_of_files_nothing_is_asked(repo: Path) -> None:
    write(repo, {"b.py": "mine\n"})
    user = CommitUser(GO)
    clio(repo, "fix: b").commit(user)
    assert (user.asked, log(repo)) == ([], "fix: b")


def test_staged_changes_are_committed_unchanged(repo: Path) -> None:
    write(repo, {"a.py": "two\n"})
    git(repo, "add", "a.py")
    write(repo, {"b.py": "two\n"})
    user = CommitUser(GO)
    clio(repo, "fix: a").commit(user)
    assert git(repo, "status", "--short") == " M b.py"
    assert mentions(user.told[0], "staged", "1 file")


def test_the_message_can_be_declined_edited_or_requested_again(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repo, {"a.py": "two\n"})
    user = CommitUser(NO)
    clio(repo, "fix: a").commit(user)
    assert (log(repo), user.told) == ("feat: begin", ["nothing was committed"])
    monkeypatch.setattr("clio.entrypoints.repl.commands.edit_text", lambda text, suffix: text + "\nmore\n")
    one = clio(repo, "fix: a", "fix: another a")
    user = CommitUser(CommitAnswer(kind="again", instructions="say another"), EDIT, GO)
    one.commit(user)
    assert log(repo, "%B") == "fix: another a\n\nmore"
    assert "The user's instructions for it: say another\n\nThe user rejected this message:\nfix: a" in asked(one)


def test_a_secret_is_named_first_and_never_sent(repo: Path) -> None:
    write(repo, {"a.py": f"one\ntoken = '{TOKEN}'\n"})
    user = CommitUser(leaks=False)
    one = clio(repo)
    one.commit(user)
    assert user.asked == [["a.py:2 github-token"]]
    assert isinstance(one.app.provider, ScriptedProvider)
    assert one.app.provider.requests == []
    assert log(repo) == "feat: begin"
    user, one = CommitUser(GO), clio(repo, f"fix: use {TOKEN}")
    one.commit(user)
    assert TOKEN not in asked(one) + user.diff + log(repo)
    assert "[REDACTED:github-token]" in asked(one)


def test_without_a_model_the_message_is_made_by_rules(repo: Path) -> None:
    write(repo, {"a.py": "two\n"})
    Clio(repo, OfflineProvider()).commit(CommitUser(GO))
    assert log(repo) == "chore: update a.py"
    write(repo, {"a.py": "three\n"})
    Clio(repo, OfflineProvider()).commit(CommitUser(GO), "fix: count to three")
    assert log(repo) == "fix: count to three"
    write(repo, {"a.py": "four\n"})
    user = CommitUser(GO)
    clio(repo, ServerFailed("the server is down")).commit(user)
    assert "the server is down" in user.told[0]


def test_a_failed_hook_is_shown_and_the_message_is_kept(repo: Path) -> None:
    path = repo / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\necho lint says no\nexit 1\n", encoding="utf-8")
    path.chmod(0o755)
    write(repo, {"a.py": "two\n"})
    user = CommitUser(GO)
    clio(repo, "fix: a").commit(user)
    assert user.told[0] == "lint says no"
    assert "did not commit" in user.told[1] and "/commit" in user.told[1]
    path.unlink()
    user = CommitUser(GO)
    clio(repo).commit(user)
    assert log(repo) == "fix: a"
    assert "last attempt" in user.told[0]


def test_attribution_is_a_trailer_and_shown(repo: Path) -> None:
    write(repo, {"a.py": "two\n"})
    user = CommitUser(GO)
    clio(repo, "fix: a\n\nSigned-off-by: you <you@localhost>", attribution="Assisted-by: clio").commit(user)
    assert user.seen[0].trailer == "Assisted-by: clio"
    assert log(repo, "%(trailers)").splitlines() == ["Signed-off-by: you <you@localhost>", "Assisted-by: clio"]
    write(repo, {"a.py": "three\n"})
    with pytest.raises(ConfigError, match="attribution: 'clio' is not a trailer"):
        clio(repo, attribution="clio").commit(CommitUser())


def test_commits_of_the_model_have_the_trailer_too(repo: Path) -> None:
    write(repo, {"a.py": "two\n"})
    arguments = '{"operation":"commit","message":"fix: a","paths":["a.py"]}'
    call = AssistantMessage(content="", tool_calls=(ToolCall(id="1", name="git", arguments=arguments),))
    one = clio(repo, call, "done", attribution="Assisted-by: clio")
    one.run(lambda: one.app.run_turn("commit it"))
    assert log(repo, "%B") == "fix: a\n\nAssisted-by: clio"


def test_a_merge_is_concluded_with_gits_own_message(repo: Path) -> None:
    git(repo, "switch", "--quiet", "-c", "side")
    write(repo, {"a.py": "side\n"})
    git(repo, "commit", "--quiet", "-am", "side")
    git(repo, "switch", "--quiet", "main")
    write(repo, {"a.py": "main\n"})
    git(repo, "commit", "--quiet", "-am", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "side")
    with pytest.raises(UserError, match=r"conflicts in a\.py.*`git add`"):
        clio(repo).commit(CommitUser())
    git(repo, "add", "a.py")
    user = CommitUser(GO)
    clio(repo).commit(user)
    assert (log(repo), user.seen[0].target) == ("Merge branch 'side'", "on main, merge in progress")


def test_nothing_to_commit_is_reported_in_a_sentence(repo: Path) -> None:
    with pytest.raises(UserError, match=r"nothing to commit.*clean"):
        clio(repo).commit(CommitUser())
    write(repo, {"new.py": "x\n"})
    with pytest.raises(UserError, match=r"new\.py.*`git add`"):
        clio(repo).commit(CommitUser())


def test_the_first_commit_and_a_detached_head_are_named(tmp_path: Path, repo: Path) -> None:
    empty = make(tmp_path / "empty")
    write(empty, {"a.py": "x\n"})
    git(empty, "add", "a.py")
    user = CommitUser(NO)
    clio(empty, "Add a").commit(user)
    assert user.seen[0].target == "on main, the first commit"
    git(repo, "checkout", "--quiet", "--detach")
    write(repo, {"a.py": "two\n"})
    user = CommitUser(NO)
    clio(repo, "fix: a").commit(user)
    assert user.seen[0].target == "on no branch: HEAD is detached"


def test_a_project_in_a_subfolder_commits_what_is_in_it(tmp_path: Path) -> None:
    repo = make(tmp_path / "all", {"one/a.py": "1\n", "two/b.py": "1\n", "one/.clio/x": "", ".gitignore": ".clio/\n"})
    (repo / "one/.clio").mkdir(exist_ok=True)
    write(repo, {"one/a.py": "2\n", "two/b.py": "2\n"})
    clio(repo / "one", "Change a").commit(CommitUser(GO))
    assert git(repo, "status", "--short") == " M two/b.py"
    with pytest.raises(UserError, match=r"outside one/.*`git add`"):
        clio(repo / "one").commit(CommitUser())


# /review


def review(repo: Path, words: str, *, window: int = 128_000) -> str:
    one = Clio(repo, ScriptedProvider(["a.py:1 nit one is lonely"], context_window=window))
    step = run_added_command(one.app, f"/review {words}".strip())
    assert isinstance(step, RunExpandedCommand)
    one.run(lambda: one.app.run_turn(step.line, step.expand))
    return asked(one)


@pytest.fixture
def branched(repo: Path) -> Path:
    git(repo, "switch", "--quiet", "-c", "side")
    write(repo, {"a.py": "two\n"})
    git(repo, "commit", "--quiet", "-am", "fix: two")
    write(repo, {"c.py": "three\n"})
    git(repo, "add", "c.py")
    git(repo, "commit", "--quiet", "-m", "feat: three")
    return repo


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "head", "holds", "lacks"),
    [
        ("main..HEAD", "main..HEAD (2 files, +2 −1)", ["+two", "+three"], ["+staged", "+loose"]),
        ("HEAD", "HEAD (1 file, +1 −0)", ["+three"], ["+two"]),
        ("main", "main (3 files, +3 −0)", ["+one", "new file"], ["+two"]),
        ("main side", "main side (2 files, +2 −1)", ["+two"], ["+loose"]),
        ("", "the uncommitted changes (3 files, +3 −2)", ["+staged", "+loose", "+new"], ["+three"]),
        ("--staged", "the staged changes (1 file, +1 −1)", ["+staged"], ["+loose"]),
        ("b.py", "b.py (1 file, +1 −1)", ["+loose"], ["+staged"]),
        ("main..HEAD c.py", "main..HEAD c.py (1 file, +1 −0)", ["+three"], ["+two"]),
    ],
)
def test_the_subject_of_a_review(branched: Path, words: str, head: str, holds: list[str], lacks: list[str]) -> None:
    write(branched, {"a.py": "staged\n"})
    git(branched, "add", "a.py")
    write(branched, {"b.py": "loose\n", "new.py": "new\n"})
    prompt = review(branched, words)
    assert f"To review: {head}" in prompt
    assert [text for text in holds if text not in prompt] == []
    assert [text for text in lacks if text in prompt] == []
    assert prompt.rstrip().endswith(f"/review {words}".strip())


def test_a_review_changes_nothing(repo: Path) -> None:
    write(repo, {"a.py": "two\n"})
    one = clio(repo, writes("c.py", "mine\n"), "a.py:1 bug two is not one")
    step = run_added_command(one.app, "/review")
    assert isinstance(step, RunExpandedCommand)
    one.run(lambda: one.app.run_turn(step.line, step.expand))
    assert not (repo / "c.py").exists()
    assert mentions(asked(one), "allows only", "tools", "none")


def test_a_review_writes_nothing_in_incognito(repo: Path, tmp_path: Path) -> None:
    write(repo, {"a.py": "two\n", "new.py": "", "other.py": "other\n"})
    home = tmp_path / "home"
    home.mkdir()

    def everything() -> dict[str, bytes | None]:
        found = [path for place in (repo, home) for path in place.rglob("*") if "__pycache__" not in path.parts]
        return {str(path): path.read_bytes() if path.is_file() else None for path in found}

    before = everything()
    for words in ("/review", "/review new.py", "/review --staged", "/review HEAD", "/diff", "/status"):
        done = subprocess.run(
            [sys.executable, "-m", "clio", "--incognito", "-p", words, "--provider", "offline"],
            cwd=repo,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **NOBODY},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert everything() == before, words


def test_a_large_change_is_shortened_and_the_omitted_part_named(repo: Path) -> None:
    write(repo, {"a.py": "".join(f"line {number}\n" for number in range(30_000)), "b.py": "small\n"})
    prompt = review(repo, "", window=32_000)
    assert len(prompt) < 32_000
    assert "+small" in prompt
    assert "Of the diff 2" in prompt
    assert "say which parts you did not review" in prompt


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nonsense", "'nonsense' is neither a revision nor a file"),
        ("--staged a.py", "takes no argument"),
        ("HEAD main side", "takes one range"),
        ("HEAD..HEAD", "there is nothing to review in HEAD..HEAD"),
        ("", "there is nothing to review in the uncommitted changes"),
    ],
)
def test_an_impossible_review_is_reported_in_a_sentence(branched: Path, words: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        review(branched, words)


# /pr


def pr(one: Clio, base: str = "", file: str = "") -> Any:
    return one.run(lambda: describe_branch(one.app, base, file))


def test_the_text_of_a_branch_is_made_from_commits_diff_and_template(branched: Path) -> None:
    write(branched, {".github/pull_request_template.md": "## Why\n"})
    one = clio(branched, "Count to three\n\nBecause.")
    result = pr(one)
    assert result.text == "2 commits since main, 2 files, +2 −1."
    assert (result.verbatim, result.copy) == ("Count to three\n\nBecause.",) * 2
    prompt = asked(one)
    assert "The commits, oldest first:\n- fix: two\n- feat: three" in prompt
    assert "+three" in prompt
    assert prompt.endswith("## Why")


def test_the_answer_names_the_changes_of_the_request_for_the_server(branched: Path) -> None:
    refusal = {"error": {"message": "Unsupported parameter: 'reasoning_effort' is not supported with this model."}}
    with ChatServer([error(400, refusal), text("Count to three")]) as server:
        (branched.parent / "home").mkdir(exist_ok=True)
        config = Config(base_url=server.url, model="gpt-5-mini", api="chat", effort="low")
        one = Clio(branched, make_provider(config, {}), effort="low")
        result = pr(one, "main")
    assert [request.body.get("reasoning_effort") for request in server.requests] == ["low", None]
    assert result.verbatim == "Count to three"
    assert "gpt-5-mini" in result.text
    assert "effort" in result.text


def test_without_a_model_it_lists_commits_and_files(branched: Path) -> None:
    result = pr(Clio(branched, OfflineProvider()), "main")
    assert result.verbatim.splitlines() == [
        "feat: three", "", "Commits:", "", "- fix: two", "- feat: three", "",
        "Files:", "", "- `a.py` (+1 −1)", "- `c.py` (+1 −0)",
    ]  # fmt: skip
    assert result.text.endswith("without a model: no model is connected.")


@pytest.mark.fast
def test_it_is_written_only_to_a_new_file(branched: Path) -> None:
    result = pr(clio(branched, "T\n\nB"), "main", "pr.md")
    assert (branched / "pr.md").read_text(encoding="utf-8") == "T\n\nB\n"
    assert result.text.endswith("Written to `pr.md`.")
    with pytest.raises(UserError, match=r"'pr\.md' already exists"):
        pr(clio(branched), "main", "pr.md")


@pytest.mark.parametrize(
    ("base", "sentence"),
    [
        ("nowhere", "'nowhere' is not a branch or commit"),
        ("--all", "'--all' is not a branch or commit"),
        ("side", "side has no commit that side does not have"),
    ],
)
def test_an_unknown_base_is_reported_in_a_sentence(branched: Path, base: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        pr(clio(branched), base)


def test_an_unclear_base_branch_must_be_named(branched: Path) -> None:
    git(branched, "branch", "--move", "main", "elsewhere")
    with pytest.raises(UserError, match=r"branch.*not clear.*/pr BRANCH"):
        pr(clio(branched))


def test_command_lines_give_their_requests(repo: Path) -> None:
    one = clio(repo)
    steps = [run_command(one.app, line).follow_up for line in ("/commit a b", "/pr main --file x.md", "/pr a b")]
    one.run(run_loop_once)
    assert steps == [
        GitTask(kind="commit", instructions="a b"),
        GitTask(kind="pr", instructions="main", file="x.md"),
        None,
    ]


def test_a_command_of_the_user_takes_precedence_and_one_of_a_project_does_not(repo: Path) -> None:
    theirs, mine = repo / ".clio/commands/pr.md", repo.parent / "home/.clio/commands/review.md"
    write(repo, {"a.py": "two\n", ".clio/commands/pr.md": "Theirs.", "../home/.clio/commands/review.md": "Mine."})
    assert theirs.exists()
    assert mine.exists()
    one = clio(repo, "done")
    step = run_added_command(one.app, "/review")
    assert isinstance(step, RunExpandedCommand)
    assert run_command(one.app, "/pr").follow_up == GitTask(kind="pr")
    one.run(lambda: one.app.run_turn(step.line, step.expand))
    assert "Mine." in asked(one)


def test_a_review_runs_without_a_terminal(branched: Path, tmp_path: Path) -> None:
    wrong = subprocess.run(
        [sys.executable, "-m", "clio", "-p", "/review nonsense", "--provider", "offline"],
        cwd=branched,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), **NOBODY},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (wrong.returncode, "'nonsense' is neither a revision" in wrong.stderr) == (2, True)


def test_a_hook_of_the_repository_runs_only_after_confirmation_which_is_remembered(repo: Path) -> None:
    hook = repo / ".git" / "hooks" / "pre-commit"
    write(repo, {".git/hooks/pre-commit": "#!/bin/sh\ntouch ran\n", "a.py": "two\n"})
    hook.chmod(0o755)
    no, yes, later = CommitUser(trusts=False), CommitUser(GO), CommitUser(GO, trusts=False)
    clio(repo).commit(no, "fix: two")
    assert no.programs == [f"git hook pre-commit: {hook}"]
    assert (log(repo), (repo / "ran").exists(), no.seen) == ("feat: begin", False, [])
    clio(repo, "fix: two").commit(yes, "fix: two")
    assert (log(repo), (repo / "ran").exists()) == ("fix: two", True)
    write(repo, {"a.py": "three\n"})
    clio(repo, "fix: three").commit(later, "fix: three")
    assert (log(repo), later.programs) == ("fix: three", [])
    write(repo, {".git/hooks/pre-commit": "#!/bin/sh\ntouch other\n", "a.py": "four\n"})
    clio(repo).commit(later, "fix: four")
    assert (log(repo), len(later.programs), (repo / "other").exists()) == ("fix: three", 1, False)


def test_a_filtered_file_is_shown_and_committed_as_filtered(repo: Path) -> None:
    git(repo, "config", "filter.upper.clean", "tr a-z A-Z")
    write(repo, {".gitattributes": "*.py filter=upper\n", "a.py": "two\n"})
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "--quiet", "-m", "attributes")
    user = CommitUser(GO)
    clio(repo, "fix: two").commit(user, "fix: two")
    assert "+TWO" in user.diff and "+two" not in user.diff
    assert git(repo, "show", "HEAD:a.py") == "TWO"
