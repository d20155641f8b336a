"""Sessions for `bench.recall_answers`: changed decisions, errors and their fixes, commands, files, commits.

Each topic is discussed in one or more sessions on different days, among requests about other things, as messages with
tool calls and results. Each question has the text that its answer must contain, and the text that is out of date.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from clio.messages import AssistantMessage, Commit, Message, SideEffects, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore

FIRST_DAY = datetime(2026, 3, 2, 9, 4)


class Question(Struct, frozen=True):
    """A question.

    answer: what the returned text must contain. old: the former answer, which must not come before it. commit: the hash
    that the returned text must contain.
    """

    text: str
    answer: str
    old: str = ""
    commit: str = ""


class Topic(Struct, frozen=True):
    """The sessions and questions about one topic.

    kind: its row in the table. days: the lines of each session; `_make_messages` converts them to messages.
    """

    kind: str
    days: tuple[tuple[str, ...], ...]
    questions: tuple[Question, ...]


class PlacedQuestion(Struct, frozen=True, kw_only=True):
    """A question with the times of the messages that contain its answer, as "2026-03-02 09:04"."""

    kind: str
    question: Question
    times: tuple[str, ...]


# "u:" the user, "a:" the assistant, "$ command → output | exit code", "commit hash subject", "edit path".
TOPICS = (
    Topic(
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
            Question("which port does the dev server use", "9000", "8080", "4be91c7"),
            Question("what port is the developement server listening on", "9000", "8080", "4be91c7"),
            Question("dev server port", "9000", "8080", "4be91c7"),
        ),
    ),
    Topic(
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
            Question("what database does the job queue use", "Postgres", "We take SQLite", "a91d03e"),
            Question("where do we keep queued jobs", "Postgres", "We take SQLite", "a91d03e"),
            Question("did we decide on a db for the queue of jobs", "Postgres", "We take SQLite", "a91d03e"),
        ),
    ),
    Topic(
        "changed",
        (
            ("u: retries of the payment client: use 3 attempts with 2 s between them", "a: Set to 3 attempts."),
            ("u: payment client retries: 3 is too few, raise it to 5 attempts", "edit src/pay/client.py", "a: 5 now."),
            ("u: set the retries of the payment client back down, 4 attempts is the agreed number", "a: 4 it is."),
        ),
        (
            Question("how many attempts does the payment client make", "4 attempts", "raise it to 5"),
            Question("retry count payment client", "4 attempts", "raise it to 5"),
            Question("how often does the payments client retry", "4 attempts", "use 3 attempts"),
        ),
    ),
    Topic(
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
            Question("how do we deploy", "make deploy ENV=prod", "we deploy with ./ship.sh", "77f0a12"),
            Question("command for deploying to prod", "make deploy ENV=prod", "we deploy with ./ship.sh", "77f0a12"),
            Question("how was the deployment run, is it still ship.sh", "make deploy ENV=prod", "", "77f0a12"),
        ),
    ),
    Topic(
        "changed",
        (
            ("u: line length is 88 in this repo, black's default", "a: Formatting with 88 columns."),
            ("u: we now use ruff and a line length of 120", "commit 1c2d3e4 Format with ruff at 120 columns", "a: ok"),
        ),
        (
            Question("what line length do we use", "120", "88 in this repo", "1c2d3e4"),
            Question("how long may lines be", "120", "88 in this repo", "1c2d3e4"),
            Question("lenght of a line in the formatter", "120", "88 in this repo", "1c2d3e4"),
        ),
    ),
    Topic(
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
            Question("how did we fix the UnicodeDecodeError in the importer", "latin-1", "", "e40b7d9"),
            Question("importer crashed at night with a decode error, what was the fix", "latin-1", "", "e40b7d9"),
            Question("what encoding do the supplier files have", "atin-1", "", "e40b7d9"),
        ),
    ),
    Topic(
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
            Question("OperationalError too many connections", "session-scoped"),
            Question("why did the db tests run out of connections", "never disposes"),
            Question("too many conections in the tests, how was it solved", "session-scoped"),
        ),
    ),
    Topic(
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
            Question("docker build npm network timeout fix", "HTTPS_PROXY"),
            Question("how did we get the container image to build behind the proxy", "HTTPS_PROXY"),
            Question("npm ci hanging in docker", "HTTPS_PROXY"),
        ),
    ),
    Topic(
        "command",
        (
            (
                "u: run only the slow integration tests",
                "$ pytest -m slow --maxfail=1 tests/integration → 12 passed in 340.2s | 0",
                "a: All 12 pass in 340 seconds.",
            ),
        ),
        (
            Question("how do I run the slow integration tests", "pytest -m slow --maxfail=1"),
            Question("which command ran only slow tests", "pytest -m slow --maxfail=1"),
            Question("how long did the slow integration tests take", "340"),
        ),
    ),
    Topic(
        "command",
        (
            (
                "u: restore yesterday's backup into staging",
                "$ pg_restore --clean -d staging dumps/nightly.dump → restored | 0",
                "a: Restored with pg_restore --clean from dumps/nightly.dump.",
            ),
        ),
        (
            Question("how did we restore the staging backup", "pg_restore --clean"),
            Question("restoring a dump to staging", "pg_restore --clean"),
        ),
    ),
    Topic(
        "place",
        (
            (
                "u: where is the rate limiter?",
                "a: The rate limiter is in src/gateway/throttle.py, class TokenBucket; limits.toml has the limits.",
            ),
        ),
        (
            Question("where is the rate limiter implemented", "src/gateway/throttle.py"),
            Question("which file has the rate limiting", "src/gateway/throttle.py"),
            Question("TokenBucket class location", "src/gateway/throttle.py"),
        ),
    ),
    Topic(
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
            Question("where do feature flags live", "settings service", "Flags are in config", "90ab12f"),
            Question("location of the feature flag config", "settings service", "Flags are in config", "90ab12f"),
        ),
    ),
    Topic(
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
            Question("which commit fixed the flickering login page", "c0ffee1", "", "c0ffee1"),
            Question("login page flicker fix", "memoising", "", "c0ffee1"),
        ),
    ),
    Topic(
        "commit",
        (
            (
                "u: drop support for Python 3.9",
                "$ git commit -am 'Drop Python 3.9' → [main 5d5e5f6] Drop Python 3.9 | 0",
                "a: Python 3.9 is gone from pyproject.toml and the CI matrix.",
            ),
        ),
        (
            Question("when did we drop python 3.9", "3.9", "", "5d5e5f6"),
            Question("what was the commit that removed Python 3.9 support", "5d5e5f6", "", "5d5e5f6"),
        ),
    ),
    Topic(
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
            Question("how fast is the search endpoint", "38 ms", "412 ms on", "3141592"),
            Question("latency of search", "38", "412 ms on", "3141592"),
            Question("what did the search endpoint measure with the trigram index", "38 ms", "412 ms on", "3141592"),
        ),
    ),
    Topic(
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
            Question("who is responsible for billing", "Tomasz", "names Priya"),
            Question("billing module owner", "Tomasz", "names Priya"),
            Question("whom do I ask about billing", "Tomasz", "names Priya"),
        ),
    ),
    Topic(
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
            Question("what is the new worker called", "pelican"),
            Question("name we chose for the worker", "pelican"),
        ),
    ),
    Topic(
        "negation",
        (
            ("u: shall we use GraphQL for the public API?", "a: It would save round trips."),
            ("u: no GraphQL in the public API: we stay with REST, clients cannot cache it", "a: REST it stays."),
        ),
        (
            Question("did we decide for GraphQL in the public API", "no GraphQL"),
            Question("why not graphql", "cannot cache"),
            Question("public API: REST or GraphQL", "stay with REST"),
        ),
    ),
    Topic(
        "negation",
        (
            (
                "u: do not touch the legacy/ folder, the auditors signed it off",
                "a: Understood, legacy/ stays as it is.",
            ),
        ),
        (
            Question("may I change files in the legacy folder", "do not touch"),
            Question("what did the auditors sign off", "legacy/"),
        ),
    ),
    Topic(
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
            Question("users being logged out all the time, what was the cause", "never refreshed"),
            Question("access tokens expiring", "30 seconds before"),
            Question("logout problem of customers: what did we change", "30 seconds before"),
        ),
    ),
    Topic(
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
            Question("why was the report empty on monday", "nothing is sold on Sundays"),
            Question("empty nightly reports, how resolved", "last_working_day"),
        ),
    ),
    Topic(
        "changed",
        (
            ("u: log in JSON with structlog, level INFO in production", "a: Production logs at INFO."),
            ("u: production is too noisy, we changed the log level to WARNING", "a: Production logs at WARNING now."),
        ),
        (
            Question("log level in production", "WARNING", "level INFO"),
            Question("at which level does production log", "WARNING", "logs at INFO"),
            Question("what loging level is set for production", "WARNING", "level INFO"),
        ),
    ),
    Topic(
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
            Question("cache timeout product pages", "one hour", "is ten minutes"),
            Question("how long are product pages cached", "ne hour", "is ten minutes"),
        ),
    ),
    Topic(
        "number",
        (("u: what is the upload limit?", "a: Uploads are limited to 25 MB in nginx (client_max_body_size)."),),
        (
            Question("upload limit", "25 MB"),
            Question("how large may an uploaded file be", "25 MB"),
            Question("maximum size of uploads in nginx", "25 MB"),
        ),
    ),
)

_OTHER_EXCHANGES = (
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


def write_sessions(store: SessionStore, project: object, seed: int = 5) -> list[PlacedQuestion]:
    """Write the sessions, oldest first, and return the questions."""
    from pathlib import Path

    rng = random.Random(seed)
    days = [(topic, number) for topic in TOPICS for number in range(len(topic.days))]
    rng.shuffle(days)
    # First the first sessions of all topics, so that later sessions of a topic have later dates.
    order = sorted(range(len(days)), key=lambda position: (days[position][1], position))
    times: dict[int, list[tuple[str, str]]] = {}
    for position, at in enumerate(order):
        topic, number = days[at]
        when = FIRST_DAY + timedelta(days=position, minutes=rng.randrange(500))
        lines = [*_draw_other_lines(rng, 3), *topic.days[number], *_draw_other_lines(rng, 2)]
        session = store.new(Path(str(project)))
        for step, (line, message) in enumerate(_make_messages(lines)):
            created = when + timedelta(minutes=step)
            session.append(replace(message, created=created.timestamp()))
            if line in topic.days[number]:
                times.setdefault(id(topic), []).append((line, f"{created:%Y-%m-%d %H:%M}"))
        session.close()
    return [
        PlacedQuestion(
            kind=topic.kind,
            question=question,
            times=tuple(at for line, at in times[id(topic)] if question.answer in line),
        )
        for topic in TOPICS
        for question in topic.questions
    ]


def _draw_other_lines(rng: random.Random, count: int) -> list[str]:
    return [line for exchange in rng.sample(_OTHER_EXCHANGES, count) for line in exchange]


def _make_messages(lines: Sequence[str]) -> Iterator[tuple[str, Message]]:
    for number, line in enumerate(lines):
        kind, _, rest = line.partition(" ")
        call_id = f"call_{number}"
        if kind == "u:":
            yield line, UserMessage(content=rest)
        elif kind == "a:":
            yield line, AssistantMessage(content=rest)
        elif kind == "edit":
            call = ToolCall(id=call_id, name="edit_file", arguments=f'{{"path": "{rest}"}}')
            yield line, AssistantMessage(tool_calls=(call,))
            yield "", ToolMessage(tool_call_id=call_id, name="edit_file", content=f"Edited {rest}", summary="1 change")
        elif kind == "commit":
            name, _, subject = rest.partition(" ")
            call = ToolCall(id=call_id, name="git", arguments=f'{{"operation": "commit", "message": "{subject}"}}')
            yield line, AssistantMessage(tool_calls=(call,))
            side_effects = SideEffects(commits=(Commit(hash=name, subject=subject),))
            content = f"[main {name}] {subject}"
            yield "", ToolMessage(tool_call_id=call_id, name="git", content=content, side_effects=side_effects)
        else:
            command, _, output = rest.partition(" → ")
            output, _, code = output.rpartition(" | ")
            escaped = command.replace('"', '\\"')
            call = ToolCall(id=call_id, name="run_command", arguments=f'{{"command": "{escaped}"}}')
            yield line, AssistantMessage(tool_calls=(call,))
            side_effects = SideEffects(command=command, exit_code=int(code))
            content = f"{output}\n[exit code {code}]"
            yield line, ToolMessage(tool_call_id=call_id, name=call.name, content=content, side_effects=side_effects)
