"""Facts that users state in passing in languages other than English."""

from pathlib import Path

import pytest

from clio.memory.consolidation.stated_facts import read_lasting_statements
from tests.memory.consolidation.test_learned_once import learn

LEARNED, NOT_LEARNED = (
    block.splitlines()[1:]
    for block in (Path(__file__).parent / "data" / "foreign_facts.txt").read_text(encoding="utf-8").split("\n\n")
)


@pytest.mark.parametrize("words", LEARNED)
def test_a_plain_statement_with_a_value_is_a_fact(words: str) -> None:
    found = list(read_lasting_statements(words))
    assert found
    assert all(kind == "fact" and text in words for kind, text, *_ in found)


@pytest.mark.parametrize("words", NOT_LEARNED)
def test_other_sentences_are_no_facts(words: str) -> None:
    assert list(read_lasting_statements(words)) == []


def test_introductions_and_denied_values_are_left_out_and_joined_statements_separated() -> None:
    text = "Übrigens, die API läuft auf Port 8080 und der Cache läuft auf redis-2, nicht auf redis-1."
    assert [text for _, text, *_ in read_lasting_statements(text)] == [
        "die API läuft auf Port 8080",
        "der Cache läuft auf redis-2",
    ]


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (("Die Testdatenbank liegt auf db-7", "nein, auf db-9"), ["project fact: Die Testdatenbank liegt auf db-9"]),
        (("La base de staging est sur db-9",), ["project fact: La base de staging est sur db-9"]),
        (("Wir nutzen pnpm, nicht npm",), ["project preference: Wir nutzen pnpm, nicht npm"]),
    ],
)
def test_whole_sessions_in_other_languages_teach_facts(
    tmp_path: Path, messages: tuple[str, ...], kept: list[str]
) -> None:
    assert learn(tmp_path, *messages) == kept


@pytest.mark.parametrize(
    ("words", "learned"),
    [
        ("Ich heiße Jonas und ich arbeite im Zahlungsteam.", ["Ich heiße Jonas", "ich arbeite im Zahlungsteam"]),
        ("Ich heiße Jonas und arbeite im Zahlungsteam", ["Ich heiße Jonas und arbeite im Zahlungsteam"]),
        ("Übrigens, mein Name ist Jonas Kern", ["mein Name ist Jonas Kern"]),
        ("Ich arbeite aus Lissabon", ["Ich arbeite aus Lissabon"]),
        ("Ich bin Backend-Entwicklerin", ["Ich bin Backend-Entwicklerin"]),
        (
            "Je m'appelle Camille et je travaille dans l'équipe paiements",
            ["Je m'appelle Camille", "je travaille dans l'équipe paiements"],
        ),
        ("J'habite à Lyon", ["J'habite à Lyon"]),
        ("Je suis développeuse", ["Je suis développeuse"]),
        ("Me llamo Lucía y trabajo en el equipo de pagos", ["Me llamo Lucía", "trabajo en el equipo de pagos"]),
        ("Vivo en Madrid", ["Vivo en Madrid"]),
        ("Soy ingeniera de datos", ["Soy ingeniera de datos"]),
        ("Meu nome é João e trabalho na equipe de pagamentos", ["Meu nome é João", "trabalho na equipe de pagamentos"]),
        ("Eu moro em Recife", ["Eu moro em Recife"]),
        ("Sou desenvolvedor backend", ["Sou desenvolvedor backend"]),
        ("我叫李雷，我在支付团队工作", ["我叫李雷", "我在支付团队工作"]),
        ("我住在上海。", ["我住在上海"]),
        ("我是后端工程师", ["我是后端工程师"]),
        ("私の名前は田中です", ["私の名前は田中です"]),
        ("決済チームに所属しています。", ["決済チームに所属しています"]),
        ("私は東京に住んでいます", ["私は東京に住んでいます"]),
    ],
)
def test_what_users_say_about_themselves_is_learned_for_all_projects(
    tmp_path: Path, words: str, learned: list[str]
) -> None:
    assert sorted(learn(tmp_path, words)) == sorted(f"user fact: {one}" for one in learned)


@pytest.mark.parametrize(
    "words",
    [
        "Ich heiße dich willkommen",
        "Ich bin im Moment am Testen",
        "Ich bin der Meinung, dass das falsch ist",
        "Ich arbeite in main.py",
        "Heißt das Team Zahlung?",
        "Je suis en train de tester",
        "Je travaille sur le parser",
        "Me llama la atención el error",
        "Trabajo en el error de ayer",
        "Estou na linha 40",
        "Eu acho que está errado",
        "我在测试这个接口",
        "我是说这个不对",
        "我叫什么名字？",
        "私はテストしています",
        "田中さんは東京で働いています",
    ],
)
def test_what_users_are_doing_now_or_say_of_others_is_no_fact_about_them(words: str) -> None:
    assert list(read_lasting_statements(words)) == []


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ("merk dir, dass ich Jonas heiße", "ich Jonas heiße"),
        ("retiens que je m'appelle Camille", "je m'appelle Camille"),
        ("recuerda que me llamo Lucía", "me llamo Lucía"),
        ("lembra que eu moro em Recife", "eu moro em Recife"),
        ("记住我住在上海", "我住在上海"),
    ],
)
def test_what_users_ask_to_remember_of_themselves_is_saved_for_all_projects(
    tmp_path: Path, asked: str, fact: str
) -> None:
    assert learn(tmp_path, asked) == [f"user fact: {fact}"]
