"""Lasting wishes in everyday words, in seven languages: what shows that they last, and what looks like them."""

import asyncio
from pathlib import Path

import pytest

from clio.memory.preferences.foreign_statements import detect_language, list_foreign_texts
from clio.memory.preferences.lasting_wishes import find_wishes
from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness, make_harness

__all__ = ["make_harness"]


def read(message: str) -> list[str]:
    parts = list_foreign_texts(message) if detect_language(message) else [("", message), *list_foreign_texts(message)]
    return [f"{one.kind} {one.content}" for language, part in parts for one in find_wishes(part, language)]


EFFECT_ON_USER = [
    ("huge stack traces overwhelm me", ["dislike huge stack traces"]),
    ("ok merged. btw short snippets help me more than prose", ["preference short snippets"]),
    ("monospace tables are way easier on my eyes", ["preference monospace tables"]),
    ("diagrams make it easier for me", ["preference diagrams"]),
    ("i get lost in long explanations", ["dislike long explanations"]),
    ("all these emojis distract me", ["dislike all these emojis"]),
    ("lange texte ermüden mich", ["dislike lange texte"]),
    ("mit stichpunkten komm ich besser klar", ["preference stichpunkten"]),
    ("les réponses longues m'endorment", ["dislike les réponses longues"]),
    ("avec des exemples je comprends mieux", ["preference des exemples"]),
    ("las respuestas largas me aburren", ["dislike las respuestas largas"]),
    ("con ejemplos entiendo mejor", ["preference ejemplos"]),
    ("textos longos me cansam", ["dislike textos longos"]),
    ("com tabelas eu entendo melhor", ["preference tabelas"]),
    ("太长的解释我看不进去", ["dislike 太长的解释我看不进去"]),
    ("表格对我来说更清楚", ["preference 表格对我来说更清楚"]),
    ("長文だと頭に入ってこない", ["dislike 長文だと頭に入ってこない"]),
    ("例があると理解しやすいです", ["preference 例があると理解しやすいです"]),
]
CHOICE_IN_PRINCIPLE = [
    ("i'd take a boring loop over a clever comprehension any day", None),
    ("readability over cleverness, always", ["preference readability over cleverness"]),
    ("emacs person here", ["preference emacs person here"]),
    ("i'd rather get one command than three options", ["preference one command than three options"]),
    ("as a rule, small prs", ["preference small prs"]),
    ("ich bin eher der typ für kleine commits", None),
    ("je suis plutôt team petites fonctions", ["preference petites fonctions"]),
    ("soy más de funciones cortas", ["preference funciones cortas"]),
    ("sou mais de funções pequenas", ["preference funções pequenas"]),
    ("我更喜欢小函数", ["preference 我更喜欢小函数"]),
    ("早期リターン派です", ["preference 早期リターン派です"]),
]
REASON_OR_PRAISE_BEHIND = [
    ("reasons first, that's how i understand things", ["preference reasons first, that's how i understand things"]),
    ("skip the intro, i never read those paragraphs", ["preference skip the intro, i never read those paragraphs"]),
    ("that summary at the end? always do that", ["preference that summary at the end? always do that"]),
    ("good that you asked before touching the schema. keep doing that", None),
    ("d'abord le résultat, ça m'aide", ["preference d'abord le résultat, ça m'aide"]),
    ("primeiro o resultado, assim eu entendo melhor", None),
    ("先给结论，这样我看得快", ["preference 先给结论，这样我看得快"]),
]
HOW_TO_TALK = [
    ("call me sam please", ["preference call me sam please"]),
    ("celsius and kilometres in anything you show me", ["preference celsius and kilometres"]),
    ("red bitte immer deutsch mit mir", ["preference red bitte immer deutsch mit mir"]),
    ("variablennamen auf englisch bitte", ["preference variablennamen auf englisch bitte"]),
    ("tutoie-moi stp", ["preference tutoie-moi stp"]),
    ("háblame siempre en español", ["preference háblame siempre en español"]),
    ("me chama de bia", ["preference me chama de bia"]),
    ("提交信息用中文", ["preference 提交信息用中文"]),
    ("タメ口で話してくれると楽", ["preference タメ口で話してくれると楽"]),
]


@pytest.mark.parametrize(
    ("message", "wishes"), [*EFFECT_ON_USER, *CHOICE_IN_PRINCIPLE, *REASON_OR_PRAISE_BEHIND, *HOW_TO_TALK]
)
def test_a_wish_with_a_sign_that_it_lasts_is_read(message: str, wishes: list[str] | None) -> None:
    assert read(message) == wishes if wishes else len(read(message)) == 1


@pytest.mark.parametrize(
    ("message", "wishes"),
    [
        ("talk to me like a beginner, and no jargon, and examples first", 3),
        ("big fan of small functions. and descriptive names too", 2),
        ("commit-texte auf englisch, aber mit mir bitte deutsch reden", 2),
        ("me ayudan los ejemplos, y primero la conclusión siempre", 2),
        ("descriptive names too", 0),
        ("give me the conclusion at the top", 0),
    ],
)
def test_a_wish_without_a_sign_counts_beside_another(message: str, wishes: int) -> None:
    assert len(read(message)) == wishes


LOOK_ALIKES = Path(__file__).with_name("look_alikes.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("message", LOOK_ALIKES)
def test_what_only_looks_like_a_wish_is_none(message: str) -> None:
    """Tasks, one thing, now only, other people, the product, questions, quotations, jokes."""
    assert read(message) == []


@pytest.mark.parametrize(
    ("message", "preference", "limit"),
    [
        ("answer in simple terms and ask me before dropping tables", "simple terms", "dropping tables"),
        ("your short explanations help me, just never touch the fixtures", "short explanations", "fixtures"),
        ("me gusta que expliques los pasos pero jamás toques la carpeta infra", "pasos", "infra"),
        ("我喜欢简短的函数，但绝对不要动 vendor 目录", "函数", "vendor"),
    ],
)
def test_a_liking_beside_a_limit_is_saved_with_it(
    make_harness: MakeHarness, message: str, preference: str, limit: str
) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        memory = harness.app.memory
        told = [one.record for book in (memory.preferences, memory.project_preferences) for one in book.all()]
        limits = [one.content for one in told if one.is_limit]
        likings = [one.content for one in told if not one.is_limit]
        assert any(limit in one for one in (*limits, *memory.held_limits))
        assert any(preference in one and limit not in one for one in likings)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "later", "stays"),
    [
        ("call me jim", "everyone at home calls me james, so call me james", ["everyone at home calls me james"]),
        (
            "i learn best from detailed explanations",
            "i got sick of it, i am more of a brief replies person now",
            ["brief replies"],
        ),
        ("con explicaciones largas entiendo mejor", "ya no hace falta, con lo esencial me basta", ["esencial"]),
        ("敬語で話してくれると落ち着く", "慣れてきたから、タメ口のほうが楽", ["タメ口"]),
        ("emojis in your summaries help me", "i got sick of it, plain text suits me now", ["plain text"]),
        (
            "detailed commit messages help me",
            "short answers work best for me now",
            ["detailed commit", "short answers"],
        ),
        ("i learn best from detailed examples", "brief replies suit me", ["detailed examples", "brief replies"]),
    ],
)
def test_a_wish_replaces_its_opposite_only_if_the_user_says_that_it_changed(
    make_harness: MakeHarness, first: str, later: str, stays: list[str]
) -> None:
    harness = make_harness([text("Ok."), text("Ok.")])

    async def run() -> None:
        for message in (first, later):
            await harness.turn(message)
        memory = harness.app.memory
        told = [one.record.content for book in (memory.preferences, memory.project_preferences) for one in book.all()]
        await harness.app.close()
        assert len(told) == len(stays)
        assert all(any(part in one for one in told) for part in stays)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("message", "wishes"),
    [
        ("start with the verdict", ["preference start with the verdict"]),
        ("one idea at a time please", ["preference one idea at a time please"]),
        ("less filler please", ["preference less filler please"]),
        ("my train has bad wifi, keep tables narrow", ["preference keep tables narrow"]),
        ("you always lecture. skip the theory", ["preference skip the theory"]),
        ("mention risks before you rename anything", ["preference mention risks before you rename anything"]),
        ("your diagrams are great", ["preference your diagrams"]),
        ("your summaries are too wordy", ["dislike your summaries are too wordy"]),
        ("nested ifs drive me nuts and so does deep nesting", ["dislike nested ifs", "dislike deep nesting"]),
        ("start with the login form", []),
        ("one column at a time in the migration", []),
        ("write the release notes, start with the summary", []),
        ("fix the build. just the diff please", []),
        ("skip the summary email for admins", []),
        ("keep the error messages in the form short", []),
        ("explain this regex with an example", []),
        ("your last answer was great", []),
        ("your plan is good", []),
        ("explain your last answer", []),
        ("i love that you found the leak", []),
        ("the user gets one question at a time", []),
        ("fang bitte mit dem ergebnis an", ["preference fang bitte mit dem ergebnis an"]),
        ("ich steh auf frühe returns", ["preference frühe returns"]),
        ("moins de jargon stp", ["preference moins de jargon stp"]),
        ("explica las cosas con ejemplos", ["preference explica las cosas con ejemplos"]),
        ("gosto quando você usa analogias", ["preference quando você usa analogias"]),
        ("fang mit dem login an", []),
        ("explique ce regex avec un exemple", []),
        ("una columna a la vez en la migración", []),
        ("pula o cabeçalho do csv", []),
    ],
)
def test_a_plain_request_about_the_manner_of_work_lasts_unless_it_is_about_the_task(
    message: str, wishes: list[str]
) -> None:
    assert read(message) == wishes
