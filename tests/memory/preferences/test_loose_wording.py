"""Statements in loose grammar: opinions, limits for a session, orders that end with "ok?", requests without "that"."""

import asyncio

import pytest

from clio.memory.preferences.foreign_statements import detect_language, list_foreign_texts, read_requests
from clio.memory.preferences.lasting_wishes import find_wishes
from clio.memory.preferences.limits import find_limits
from clio.memory.preferences.stated_preferences import find_preferences
from clio.text.scoring import HARD_LIMIT_SCORE
from tests.support.chat_server import text as chat_text
from tests.turns.conftest import MakeHarness, make_harness

__all__ = ["make_harness"]


@pytest.mark.parametrize(
    ("message", "liked", "disliked"),
    [
        ("me likes early returns, nested ifs not so much", ["early returns"], ["nested ifs not so much"]),
        ("not a fan of lodash, plain js is what i like", ["plain js"], ["lodash"]),
        ("comments in tests annoy me, docstrings are ok tho", ["docstrings are ok"], ["comments in tests"]),
        ("my fav test runner is pytest, unittest i dislike", ["test runner is pytest"], ["unittest i dislike"]),
        ("long functions drive me nuts", [], ["long functions"]),
        ("trailing whitespace gets on my nerves", [], ["trailing whitespace"]),
        ("my pet peeve is magic numbers", [], ["magic numbers"]),
        ("tabs i hate", [], ["tabs"]),
        ("on second thought, i prefer spaces", ["prefer spaces"], []),
    ],
)
def test_an_opinion_in_loose_grammar_is_saved(
    make_harness: MakeHarness, message: str, liked: list[str], disliked: list[str]
) -> None:
    """A sentence whose parts are not told apart is saved as written, with what is disliked in its own words."""
    harness = make_harness([chat_text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        saved = {one.record.content: one.record.score or 0 for one in harness.app.memory.preferences.all()}
        is_divided = len(saved) == len(liked) + len(disliked)
        for thing in (*liked, *disliked):
            score = next(score for content, score in saved.items() if thing in content)
            assert score > HARD_LIMIT_SCORE
            assert (score > 5) is (thing in liked) or not is_divided
        assert is_divided or len(saved) == 1
        assert not harness.app.memory.held_limits
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "text",
    [
        "the login bug annoys me",
        "this annoys me",
        "your comments annoy me",
        "the tests i like",
        "that's what i like",
        "why do long lines annoy me?",
        "rebasing takes ages and annoys me today",
        "is pytest my favourite runner?",
        "no fan of that idea",
    ],
)
def test_an_annoyance_of_the_moment_is_no_preference(text: str) -> None:
    assert not [one for one in find_preferences(text) if one.certain]


@pytest.mark.parametrize(
    ("text", "kind", "thing"),
    [
        ("ich kann lange Funktionen nicht leiden", "dislike", "lange Funktionen"),
        ("ich mag inzwischen vitest lieber für Tests", "liking", "vitest für Tests"),
        ("j'ai horreur des fonctions de plus de 40 lignes", "dislike", "fonctions de plus de 40 lignes"),
        ("mon framework de test préféré est pytest", "liking", "framework de test préféré est pytest"),
        ("me molestan los comentarios obvios", "dislike", "los comentarios obvios"),
        ("odeio comentário óbvio no código", "dislike", "comentário óbvio no código"),
        ("我讨厌太长的函数，喜欢拆成小的", "dislike", "我讨厌太长的函数，喜欢拆成小的"),
        ("我更喜欢用空格缩进", "liking", "空格缩进"),
        ("コメントは日本語の方が好き", "liking", "コメントは日本語"),
        ("長い説明は苦手です", "dislike", "長い説明"),
    ],
)
def test_likes_and_dislikes_of_other_languages_are_read(text: str, kind: str, thing: str) -> None:
    found = [one.statement for one in find_wishes(text, detect_language(text))]
    assert [(one.kind, one.content) for one in found] == [("dislike" if kind == "dislike" else "preference", thing)]


@pytest.mark.parametrize(
    "text", ["我不喜欢这个方案", "これは好きじゃない", "der Build kann das nicht ab", "ich kann das nicht ab"]
)
def test_an_opinion_about_one_thing_at_hand_is_not_read(text: str) -> None:
    assert not find_wishes(text, detect_language(text))


@pytest.mark.parametrize(
    "text",
    [
        "don't touch the ci config for this session",
        "hands off the ci config though, only for this session",
        "never push, but only in this session",
        "no new dependencies, just for today",
        "only edit src/, this session only",
        "for this session only: never touch the database",
        "don't run migrations, at least for the next hour",
        "in dieser Sitzung keine Migrationen ausführen",
        "fass die CI-Config nicht an, nur für diese Sitzung",
        "pour cette session, ne touche pas au dossier legacy",
        "en esta sesión no toques la carpeta legacy",
        "nesta sessão não mexa na pasta legacy",
        "这次会话里不要跑集成测试",
        "このセッションではマイグレーションを実行しないでください",
    ],
)
def test_a_limit_of_the_session_is_not_permanent(text: str) -> None:
    assert [one.term for one in find_limits(text)] == ["task"]


def test_a_limit_about_sessions_is_permanent() -> None:
    assert [one.term for one in find_limits("never log the session id")] == ["lasting"]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("do not ever delete anything in /mnt/raw ok?", "do not ever delete anything in /mnt/raw"),
        ("never push to main, understood?", "never push to main"),
        ("please never push to main, alright?", "never push to main"),
        ("never push to main, right?", "never push to main"),
        ("pushe nie auf main, ok?", "pushe nie auf main"),
        ("ne pousse jamais sur main, d'accord ?", "ne pousse jamais sur main"),
        ("nunca hagas push a main, ¿vale?", "nunca hagas push a main"),
        ("永远不要推送到main，好吗？", "永远不要推送到main"),
    ],
)
def test_an_order_that_ends_with_a_question_tag_is_a_limit(text: str, content: str) -> None:
    assert [(one.content, one.term) for one in find_limits(text)] == [(content, "lasting")]


@pytest.mark.parametrize(
    "text",
    [
        "we never push to main, right?",
        "is that ok?",
        "never mind, ok?",
        "don't worry, ok?",
        "do we never push to main?",
    ],
)
def test_a_question_is_no_limit(text: str) -> None:
    assert find_limits(text) == ()


@pytest.mark.parametrize(
    "fact",
    [
        "the us warehouse closes at 18:00",
        "ward A sends hl7 v2",
        "the parser rejects tabs",
        "the free plan allows 3 projects",
        "the x86 backend spills with slots of 8 bytes",
        "bob approves releases",
    ],
)
def test_a_request_to_remember_needs_no_that(fact: str) -> None:
    assert [(one.kind, one.content, one.certain) for one in find_preferences(f"remember {fact}")] == [
        ("fact", fact, True)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "remember the login tests i wrote",
        "remember the settings page",
        "remember the project goals for Q3",
        "remember the tests failing yesterday",
        "remember our api tests",
        "remember the meeting notes from monday",
        "remember the error messages in the log",
    ],
)
def test_a_request_to_think_of_something_states_no_fact(text: str) -> None:
    assert find_preferences(text) == ()


def test_an_initial_does_not_end_a_sentence() -> None:
    [(code, part)] = list_foreign_texts("retiens que Camille D. gère la paie")
    assert [one.content for one in read_requests(part, code)] == ["Camille D. gère la paie"]


@pytest.mark.parametrize(
    "text",
    [
        "user names are unique and never change",
        "the release is out",
        "version 2.3 is out, please update the changelog",
        "logs are kept for 30 days now",
        "never forget that we deploy on Mondays",
        "always remember that the invoices table is huge",
        "our logs only go back 14 days",
        "I was wrong about Jira, the project key is ORD",
        "the project lead is Anna",
    ],
)
def test_a_fact_is_no_limit(text: str) -> None:
    assert find_limits(text) == ()


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("only Priya can deploy to prod", "project"),
        ("never modify the vendor folder", "project"),
        ("ne modifie jamais le dossier vendor", "project"),
        ("本番では絶対にマイグレーションを実行しないで", "project"),
        ("never use emojis", "user"),
        ("no emojis in commits, ever", "user"),
    ],
)
def test_a_limit_about_one_project_is_saved_there(text: str, scope: str) -> None:
    assert [(one.scope, one.term) for one in find_limits(text)] == [(scope, "lasting")]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("never forget that we deploy on Mondays", "we deploy on Mondays"),
        ("always remember that the invoices table is huge", "the invoices table is huge"),
        ("remember that Maria designed the website", "Maria designed the website"),
        ("please remember Ken wrote the queue", "Ken wrote the queue"),
    ],
)
def test_what_somebody_did_and_what_is_never_to_be_forgotten_are_facts(text: str, fact: str) -> None:
    assert [(one.kind, one.content, one.certain) for one in find_preferences(text)] == [("fact", fact, True)]


def test_opinions_that_are_to_be_remembered_are_preferences() -> None:
    found = find_preferences("remember that I like short answers and hate emojis")
    assert [(one.kind, one.content, one.certain) for one in found] == [
        ("preference", "short answers", True),
        ("dislike", "emojis", True),
    ]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I love small pull requests", "small pull requests"),
        ("i really like early returns", "early returns"),
        ("I enjoy names without abbreviations", "names without abbreviations"),
        ("I'm a fan of dataclasses", "dataclasses"),
    ],
)
def test_a_liking_for_several_things_is_saved_at_once_as_a_dislike_is(text: str, content: str) -> None:
    assert [(one.content, one.certain) for one in find_preferences(text)] == [(content, True)]


@pytest.mark.parametrize(
    "text",
    ["I like both options", "I like Anna's results", "I like these tests", "I like option 2", "I love your tests"],
)
def test_a_liking_for_certain_things_is_not_saved_at_once(text: str) -> None:
    assert not any(one.certain for one in find_preferences(text))


@pytest.mark.parametrize(
    "text", ["I like how you did that", "I like how you fixed the parser", "I love how you named it"]
)
def test_praise_for_what_was_just_done_is_no_lasting_preference(text: str) -> None:
    assert find_preferences(text) == ()


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("always write docstrings, please and thank you", "rule always write docstrings"),
        ("always use uv, thank you very much", "rule always use uv"),
        ("always use uv, as I said", "rule always use uv"),
        ("never use eval, to be clear", "rule never use eval"),
        ("I prefer merge commits, honestly", "preference prefer merge commits"),
        ("I prefer merge commits, actually", "preference prefer merge commits"),
        ("I prefer merge commits, to be fair", "preference prefer merge commits"),
        ("always answer honestly", "rule always answer honestly"),
        ("always say please and thank you", "rule always say please and thank you"),
        ("I prefer short answers, really short", "preference prefer short answers, really short"),
    ],
)
def test_a_courtesy_or_remark_at_the_end_is_no_part_of_a_statement(text: str, stated: str) -> None:
    assert [f"{one.kind} {one.content}" for one in find_preferences(text)] == [stated]
