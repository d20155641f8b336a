"""Sessions for `bench.recall_answers`: decisions that changed, errors and their fixes, commands, places, commits.

Each story is told in one or more sessions on different days, among requests about other things, as messages with tool
calls and results. Each question names what must be in the answer, and what is out of date by then.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from clio.messages import AssistantMessage, Commit, Message, SideEffects, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore

FIRST_DAY = datetime(2026, 3, 2, 9, 4)


class Ask(Struct, frozen=True):
    """A question. answer: what the returned text must have. old: the earlier state, which may only follow."""

    text: str
    answer: str
    old: str = ""
    commit: str = ""


class Story(Struct, frozen=True):
    """kind: for the table. days: what was said on each day; see `_messages` for how a line is told."""

    kind: str
    days: tuple[tuple[str, ...], ...]
    asks: tuple[Ask, ...]


class Placed(Struct, frozen=True, kw_only=True):
    """A question with the times at which its answer was said, as "2026-03-02 09:04"."""

    kind: str
    ask: Ask
    times: tuple[str, ...]


# "u:" the user, "a:" the assistant, "$ command → output | exit code", "commit hash subject", "edit path".
STORIES = (
    Story(
        "changed",
        (
            ("u: start the dev server for me", "a: The dev server listens on port 8080, as set in vite.config.ts."),
            (
                "u: 8080 clashes with the proxy of my company. We moved the dev server to port 9000, please change it",
                "edit vite.config.ts",
                "commit 4be91c7 Move the dev server to port 9000",
                "a: Done: vite.config.ts and the README name 9000 now.",
            ),
        ),
        (
            Ask("which port does the dev server use", "9000", "8080", "4be91c7"),
            Ask("what port is the developement server listening on", "9000", "8080", "4be91c7"),
            Ask("dev server port", "9000", "8080", "4be91c7"),
        ),
    ),
    Story(
        "changed",
        (
            ("u: which database shall we take?", "a: We take SQLite for the job queue: one file, no server."),
            (
                "u: the job queue is locked all the time under load",
                "a: SQLite allows one writer. I suggest Postgres for the job queue.",
                "u: agreed, switch the job queue to Postgres 16",
                "commit a91d03e Store the job queue in Postgres",
                "a: The job queue lives in Postgres now, table jobs.",
            ),
        ),
        (
            Ask("what database does the job queue use", "Postgres", "We take SQLite", "a91d03e"),
            Ask("where do we keep queued jobs", "Postgres", "We take SQLite", "a91d03e"),
            Ask("did we decide on a db for the queue of jobs", "Postgres", "We take SQLite", "a91d03e"),
        ),
    ),
    Story(
        "changed",
        (
            ("u: retries of the payment client: use 3 attempts with 2 s between them", "a: Set to 3 attempts."),
            ("u: payment client retries: 3 is too few, raise it to 5 attempts", "edit src/pay/client.py", "a: 5 now."),
            ("u: set the retries of the payment client back down, 4 attempts is the agreed number", "a: 4 it is."),
        ),
        (
            Ask("how many attempts does the payment client make", "4 attempts", "raise it to 5"),
            Ask("retry count payment client", "4 attempts", "raise it to 5"),
            Ask("how often does the payments client retry", "4 attempts", "use 3 attempts"),
        ),
    ),
    Story(
        "changed",
        (
            ("u: we deploy with ./ship.sh from the release branch", "a: Noted, ./ship.sh."),
            (
                "u: ship.sh is gone. From now on deploys run through `make deploy ENV=prod`",
                "edit Makefile",
                "commit 77f0a12 Replace ship.sh by make deploy",
                "a: `make deploy ENV=prod` does what ship.sh did, and tags the release.",
            ),
        ),
        (
            Ask("how do we deploy", "make deploy ENV=prod", "we deploy with ./ship.sh", "77f0a12"),
            Ask("command for deploying to prod", "make deploy ENV=prod", "we deploy with ./ship.sh", "77f0a12"),
            Ask("how was the deployment run, is it still ship.sh", "make deploy ENV=prod", "", "77f0a12"),
        ),
    ),
    Story(
        "changed",
        (
            ("u: line length is 88 in this repo, black's default", "a: Formatting with 88 columns."),
            ("u: we now use ruff and a line length of 120", "commit 1c2d3e4 Format with ruff at 120 columns", "a: ok"),
        ),
        (
            Ask("what line length do we use", "120", "88 in this repo", "1c2d3e4"),
            Ask("how long may lines be", "120", "88 in this repo", "1c2d3e4"),
            Ask("lenght of a line in the formatter", "120", "88 in this repo", "1c2d3e4"),
        ),
    ),
    Story(
        "error",
        (
            (
                "u: the importer dies at night, can you look",
                "$ python -m importer nightly → UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe4 | 1",
                "a: The supplier's CSV is Latin-1.",
                "edit importer/read_csv.py",
                "$ python -m importer nightly → 18200 rows imported | 0",
                "commit e40b7d9 Read supplier files as Latin-1",
                "a: Fixed: read_csv opens supplier files with encoding='latin-1'; 18,200 rows went through.",
            ),
        ),
        (
            Ask("how did we fix the UnicodeDecodeError in the importer", "latin-1", "", "e40b7d9"),
            Ask("importer crashed at night with a decode error, what was the fix", "latin-1", "", "e40b7d9"),
            Ask("what encoding do the supplier files have", "atin-1", "", "e40b7d9"),
        ),
    ),
    Story(
        "error",
        (
            (
                "u: tests fail on my machine only: sqlalchemy.exc.OperationalError: too many connections",
                "$ pytest -q tests/db → sqlalchemy.exc.OperationalError: too many connections | 1",
                "a: Each test opens its own engine and never disposes of it.",
                "edit tests/conftest.py",
                "$ pytest -q tests/db → 41 passed | 0",
                "a: The engine fixture is session-scoped now and disposed at the end; 41 tests pass.",
            ),
        ),
        (
            Ask("OperationalError too many connections", "session-scoped"),
            Ask("why did the db tests run out of connections", "never disposes"),
            Ask("too many conections in the tests, how was it solved", "session-scoped"),
        ),
    ),
    Story(
        "error",
        (
            (
                "u: docker build hangs at npm ci",
                "$ docker build . → npm ERR! network timeout at registry.npmjs.org | 1",
                "a: The proxy is not passed into the build.",
                "$ docker build --build-arg HTTPS_PROXY=$HTTPS_PROXY . → Successfully built 6f1d | 0",
                "a: Works with --build-arg HTTPS_PROXY; I put it into the Makefile target image.",
            ),
        ),
        (
            Ask("docker build npm network timeout fix", "HTTPS_PROXY"),
            Ask("how did we get the container image to build behind the proxy", "HTTPS_PROXY"),
            Ask("npm ci hanging in docker", "HTTPS_PROXY"),
        ),
    ),
    Story(
        "command",
        (
            (
                "u: run only the slow integration tests",
                "$ pytest -m slow --maxfail=1 tests/integration → 12 passed in 340.2s | 0",
                "a: All 12 pass in 340 seconds.",
            ),
        ),
        (
            Ask("how do I run the slow integration tests", "pytest -m slow --maxfail=1"),
            Ask("which command ran only slow tests", "pytest -m slow --maxfail=1"),
            Ask("how long did the slow integration tests take", "340"),
        ),
    ),
    Story(
        "command",
        (
            (
                "u: restore yesterday's backup into staging",
                "$ pg_restore --clean -d staging dumps/nightly.dump → restored | 0",
                "a: Restored with pg_restore --clean from dumps/nightly.dump.",
            ),
        ),
        (
            Ask("how did we restore the staging backup", "pg_restore --clean"),
            Ask("restoring a dump to staging", "pg_restore --clean"),
        ),
    ),
    Story(
        "place",
        (
            (
                "u: where is the rate limiter?",
                "a: The rate limiter is in src/gateway/throttle.py, class TokenBucket; limits.toml has the limits.",
            ),
        ),
        (
            Ask("where is the rate limiter implemented", "src/gateway/throttle.py"),
            Ask("which file has the rate limiting", "src/gateway/throttle.py"),
            Ask("TokenBucket class location", "src/gateway/throttle.py"),
        ),
    ),
    Story(
        "place",
        (
            (
                "u: put the feature flags somewhere central",
                "edit config/flags.yaml",
                "a: Flags are in config/flags.yaml.",
            ),
            (
                "u: the feature flags moved to the settings service, delete the yaml file",
                "commit 90ab12f Read feature flags from the settings service",
                "a: config/flags.yaml is deleted; SettingsClient.flags() is the only source.",
            ),
        ),
        (
            Ask("where do feature flags live", "settings service", "Flags are in config", "90ab12f"),
            Ask("location of the feature flag config", "settings service", "Flags are in config", "90ab12f"),
        ),
    ),
    Story(
        "commit",
        (
            (
                "u: the login page flickers, fix it",
                "edit web/login.tsx",
                "commit c0ffee1 Stop the login page from rendering twice",
                "a: Fixed by memoising the session hook.",
            ),
        ),
        (
            Ask("which commit fixed the flickering login page", "c0ffee1", "", "c0ffee1"),
            Ask("login page flicker fix", "memoising", "", "c0ffee1"),
        ),
    ),
    Story(
        "commit",
        (
            (
                "u: drop support for Python 3.9",
                "$ git commit -am 'Drop Python 3.9' → [main 5d5e5f6] Drop Python 3.9 | 0",
                "a: Python 3.9 is gone from pyproject.toml and the CI matrix.",
            ),
        ),
        (
            Ask("when did we drop python 3.9", "3.9", "", "5d5e5f6"),
            Ask("what was the commit that removed Python 3.9 support", "5d5e5f6", "", "5d5e5f6"),
        ),
    ),
    Story(
        "number",
        (
            (
                "u: measure the search endpoint",
                "$ wrk -t2 -c50 http://localhost/search → Latency 412ms avg | 0",
                "a: 412 ms on average at 50 connections.",
            ),
            (
                "u: measure the search endpoint again, now with the index",
                "$ wrk -t2 -c50 http://localhost/search → Latency 38ms avg | 0",
                "commit 3141592 Add a trigram index for search",
                "a: 38 ms on average with the trigram index.",
            ),
        ),
        (
            Ask("how fast is the search endpoint", "38 ms", "412 ms on", "3141592"),
            Ask("latency of search", "38", "412 ms on", "3141592"),
            Ask("what did the search endpoint measure with the trigram index", "38 ms", "412 ms on", "3141592"),
        ),
    ),
    Story(
        "name",
        (
            ("u: who owns the billing module?", "a: CODEOWNERS names Priya Raman for billing."),
            (
                "u: Priya left the team, billing belongs to Tomasz Nowak now",
                "edit CODEOWNERS",
                "a: CODEOWNERS updated.",
            ),
        ),
        (
            Ask("who is responsible for billing", "Tomasz", "names Priya"),
            Ask("billing module owner", "Tomasz", "names Priya"),
            Ask("whom do I ask about billing", "Tomasz", "names Priya"),
        ),
    ),
    Story(
        "name",
        (
            (
                "u: name the new worker",
                "a: I suggest heron.",
                "u: heron is taken, call the worker pelican",
                "a: pelican.",
            ),
        ),
        (
            Ask("what is the new worker called", "pelican"),
            Ask("name we chose for the worker", "pelican"),
        ),
    ),
    Story(
        "negation",
        (
            ("u: shall we use GraphQL for the public API?", "a: It would save round trips."),
            ("u: no GraphQL in the public API: we stay with REST, clients cannot cache it", "a: REST it stays."),
        ),
        (
            Ask("did we decide for GraphQL in the public API", "no GraphQL"),
            Ask("why not graphql", "cannot cache"),
            Ask("public API: REST or GraphQL", "stay with REST"),
        ),
    ),
    Story(
        "negation",
        (
            (
                "u: do not touch the legacy/ folder, the auditors signed it off",
                "a: Understood, legacy/ stays as it is.",
            ),
        ),
        (
            Ask("may I change files in the legacy folder", "do not touch"),
            Ask("what did the auditors sign off", "legacy/"),
        ),
    ),
    Story(
        "paraphrase",
        (
            (
                "u: customers get logged out every few minutes",
                "a: The access token expires after 5 minutes and is never refreshed.",
                "edit src/auth/session.ts",
                "a: The client refreshes the token 30 seconds before it expires.",
            ),
        ),
        (
            Ask("users being logged out all the time, what was the cause", "never refreshed"),
            Ask("access tokens expiring", "30 seconds before"),
            Ask("logout problem of customers: what did we change", "30 seconds before"),
        ),
    ),
    Story(
        "paraphrase",
        (
            (
                "u: the nightly report is empty on Mondays",
                "a: The query takes the previous day, and nothing is sold on Sundays.",
                "u: then take the last working day",
                "a: The report uses last_working_day() now.",
            ),
        ),
        (
            Ask("why was the report empty on monday", "nothing is sold on Sundays"),
            Ask("empty nightly reports, how resolved", "last_working_day"),
        ),
    ),
    Story(
        "changed",
        (
            ("u: log in JSON with structlog, level INFO in production", "a: Production logs at INFO."),
            ("u: production is too noisy, we changed the log level to WARNING", "a: Production logs at WARNING now."),
        ),
        (
            Ask("log level in production", "WARNING", "level INFO"),
            Ask("at which level does production log", "WARNING", "logs at INFO"),
            Ask("what loging level is set for production", "WARNING", "level INFO"),
        ),
    ),
    Story(
        "changed",
        (
            (
                "u: cache timeout of the product pages is ten minutes",
                "a: Set to ten minutes.",
                "u: make the cache timeout of the product pages one hour instead",
                "a: One hour, in settings.CACHE_TTL.",
            ),
        ),
        (
            Ask("cache timeout product pages", "one hour", "is ten minutes"),
            Ask("how long are product pages cached", "ne hour", "is ten minutes"),
        ),
    ),
    Story(
        "number",
        (("u: what is the upload limit?", "a: Uploads are limited to 25 MB in nginx (client_max_body_size)."),),
        (
            Ask("upload limit", "25 MB"),
            Ask("how large may an uploaded file be", "25 MB"),
            Ask("maximum size of uploads in nginx", "25 MB"),
        ),
    ),
)

_OTHER = (
    ("u: rename the helper in utils", "edit src/utils.py", "a: Renamed, and its three callers with it."),
    ("u: explain how the router matches a path", "a: It walks a trie of segments and keeps the longest match."),
    ("u: tidy the imports", "$ ruff check --fix src → Found 12 errors (12 fixed) | 0", "a: Twelve imports sorted."),
    ("u: the readme has a typo in its second line", "edit README.md", "a: Corrected."),
    ("u: list the open todos", "$ grep -rn TODO src → src/app.py:12: TODO cache | 0", "a: One, about a cache."),
    ("u: add a test for the parser of dates", "edit tests/test_dates.py", "a: It covers leap years."),
    ("u: which tests are slow on CI", "a: The browser ones, mostly because each starts a server of its own."),
    ("u: write a docstring for load_user", "edit src/users.py", "a: Written, with the errors it raises."),
    ("u: is the build green?", "$ gh run list → completed success main | 0", "a: Yes, the last run passed."),
    ("u: what does the client of the mail service do on errors", "a: It logs a warning and drops the mail."),
    ("u: sort the settings page", "edit web/settings.tsx", "a: Sorted by name."),
    ("u: check whether the database migrations are in order", "$ alembic check → No new upgrade | 0", "a: They are."),
)


def lay_out(store: SessionStore, project: object, seed: int = 5) -> list[Placed]:
    """Write the sessions, oldest first, and return the questions with the times of their answers."""
    from pathlib import Path

    rng = random.Random(seed)
    days = [(story, number) for story in STORIES for number in range(len(story.days))]
    rng.shuffle(days)
    order = sorted(range(len(days)), key=lambda place: (days[place][1], place))  # what came later is told later
    times: dict[int, list[tuple[str, str]]] = {}
    for place, at in enumerate(order):
        story, number = days[at]
        when = FIRST_DAY + timedelta(days=place, minutes=rng.randrange(500))
        lines = [*_others(rng, 3), *story.days[number], *_others(rng, 2)]
        session = store.new(Path(str(project)))
        for step, (line, message) in enumerate(_messages(lines)):
            said = when + timedelta(minutes=step)
            session.append(type(message)(**_fields(message), created=said.timestamp()))
            if line in story.days[number]:
                times.setdefault(id(story), []).append((line, f"{said:%Y-%m-%d %H:%M}"))
        session.close()
    return [
        Placed(kind=story.kind, ask=ask, times=tuple(at for line, at in times[id(story)] if ask.answer in line))
        for story in STORIES
        for ask in story.asks
    ]


def _others(rng: random.Random, count: int) -> list[str]:
    return [line for other in rng.sample(_OTHER, count) for line in other]


def _messages(lines: Sequence[str]) -> Iterator[tuple[str, Message]]:
    for number, line in enumerate(lines):
        kind, _, rest = line.partition(" ")
        call = f"call_{number}"
        if kind == "u:":
            yield line, UserMessage(content=rest)
        elif kind == "a:":
            yield line, AssistantMessage(content=rest)
        elif kind == "edit":
            asked = ToolCall(id=call, name="edit_file", arguments=f'{{"path": "{rest}"}}')
            yield line, AssistantMessage(tool_calls=(asked,))
            yield "", ToolMessage(tool_call_id=call, name="edit_file", content=f"Edited {rest}", summary="1 change")
        elif kind == "commit":
            name, _, subject = rest.partition(" ")
            asked = ToolCall(id=call, name="git", arguments=f'{{"operation": "commit", "message": "{subject}"}}')
            yield line, AssistantMessage(tool_calls=(asked,))
            deeds = SideEffects(commits=(Commit(hash=name, subject=subject),))
            yield "", ToolMessage(tool_call_id=call, name="git", content=f"[main {name}] {subject}", side_effects=deeds)
        else:
            command, _, output = rest.partition(" → ")
            said, _, code = output.rpartition(" | ")
            shown = command.replace('"', '\\"')
            asked = ToolCall(id=call, name="run_command", arguments=f'{{"command": "{shown}"}}')
            yield line, AssistantMessage(tool_calls=(asked,))
            deeds = SideEffects(command=command, exit_code=int(code))
            content = f"{said}\n[exit code {code}]"
            yield line, ToolMessage(tool_call_id=call, name="run_command", content=content, side_effects=deeds)


def _fields(message: Message) -> dict[str, object]:
    return {name: getattr(message, name) for name in message.__struct_fields__ if name not in ("id", "created")}
