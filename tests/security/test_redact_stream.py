"""Redacting piece by piece equals redacting the whole text, wherever the pieces end."""

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.security.redaction.assignments import find_name
from clio.security.redaction.finder import SecretFinder, SignTest
from clio.security.redaction.redactor import SLICE_CHARS, Redactor
from clio.security.redaction.secret_patterns import ANY_WORD, NAME_END, WORDS, can_be_secret_name, is_secret_name
from tests.security.secret_corpus import placed
from tests.security.secrets_table import HARMLESS, drawn, in_context, keys
from tests.support.examples import examples, sample

VALUES = ("correct-horse-battery", "with a space 77")
PLAIN = Redactor()
FULL = Redactor(patterns=(r"ACME-\d+", r"project \w+"), env_secrets=VALUES)

secrets = [text for _, text in keys()] + [text for _, text, _ in in_context()] + [*VALUES, "ACME-77", "project blue"]
pieces = st.one_of(
    st.sampled_from(secrets),
    st.sampled_from(HARMLESS),
    st.sampled_from(
        [
            "password = " * 250,
            "word " * 500,
            "password",
            "token: ",
            'api_key = "',
            "Bearer ",
            "--password ",
            "-----BEGIN ",
            "://u:",
            "=",
            ": ",
            "str = ",
        ]
    ),
    st.sampled_from([" ", "\n", '"', "'", ",", "=", "&", "\t", "", "\u00a0", "."]),
    st.text(max_size=12),
)
texts = st.lists(pieces, max_size=12).map("".join)


def streamed(redactor: Redactor, text: str, cuts: list[int]) -> str:
    stream = redactor.stream()
    places = sorted({0, *(cut % (len(text) + 1) for cut in cuts), len(text)})
    parts = [stream.feed(text[start:end]) for start, end in pairwise(places)]
    return "".join(parts) + stream.finish()


@pytest.mark.parametrize("redactor", [PLAIN, FULL], ids=["plain", "full"])
@given(text=texts, cuts=st.lists(st.integers(0, 10_000), max_size=30))
@examples(100)
def test_any_split_gives_the_result_of_the_whole(redactor: Redactor, text: str, cuts: list[int]) -> None:
    assert streamed(redactor, text, cuts) == redactor.redact(text).text


@pytest.mark.parametrize(
    "sentence",
    [
        "Das Datenbankkennwort lautet {}",
        "merk dir: das WLAN-Passwort ist {} im Büro",
        "Das Kennwort der Datenbank lautet {}",
        "das Passwort vom Admin heißt jetzt {}",
        "merk dir, dass das Passwort für staging {} lautet",
        "weil das Kennwort der alten Datenbank jetzt {} ist, und so weiter",
        "ich habe das Passwort auf {} gesetzt",
        "a senha do banco é {}",
        "le mot de passe de la base est {}",
        "Der Zugangscode für den Serverraum lautet {}",
        "API-Schlüssel: {}",
        "der geheime Schlüssel der Anwendung ist {} und bleibt so",
        "Das Zugriffstoken heißt jetzt {}",
        "Die Zugangsdaten sind admin / {}",
        "le code d'accès du portail est {}",
        "La clé API est {}",
        "la clave secreta del bot es {}",
        "a chave de API do robô é {}",
        "el código de acceso es {}",
    ],
)
def test_a_secret_in_a_sentence_of_another_language_is_found_wherever_it_is_cut(sentence: str) -> None:
    for secret in ("Sommer2024!", "xK9f3LqPz7"):
        text = sentence.format(secret)
        whole = PLAIN.redact(text).text
        assert secret not in whole
        assert all(streamed(PLAIN, text, [cut]) == whole for cut in range(1, len(text)))


@pytest.mark.parametrize(
    "text",
    [
        "Das Passwort-Feld ist leer",
        "merk dir, dass das Passwort für staging abgelaufen ist",
        "weil das Passwort für den Dienst user-service wichtig ist",
        "ob das Kennwort der Datenbank zu kurz war",
        "dass das Passwort in der Datei config/prod.yaml steht",
        "das Passwort auf dem Server ändern",
        "passwortlos ist besser",
        "das Kennwort der Nutzer ist gehasht",
        "Der Schlüssel ist user_id42",
        "Der Zugangscode wird per SMS verschickt",
        "Der API-Schlüssel ist abgelaufen",
        "Das Geheimnis ist gelüftet",
        "La clé est dans le coffre",
        "la clave primaria es customer_id2",
    ],
)
def test_a_sentence_about_a_secret_without_its_value_is_unchanged(text: str) -> None:
    assert PLAIN.redact(text).text == text


@pytest.mark.sampled
@pytest.mark.parametrize("redactor", [PLAIN, FULL], ids=["plain", "full"])
def test_every_split_of_every_secret(redactor: Redactor) -> None:
    for secret in secrets:
        text = f"see {secret} there"
        whole = redactor.redact(text).text
        for cut in sample(range(len(text) + 1), 10, secret):
            assert streamed(redactor, text, [cut]) == whole
        assert streamed(redactor, text, list(range(len(text)))) == whole


@pytest.mark.sampled
@pytest.mark.parametrize("redactor", [PLAIN, FULL], ids=["plain", "full"])
def test_a_secret_where_a_large_piece_is_sliced_is_found(redactor: Redactor) -> None:
    for secret in secrets:
        for before in sample(range(len(secret) + 12), 3, secret):
            text = f"{'a word ' * 200}"[: SLICE_CHARS - before - 1] + f" {secret} and {'more words ' * 20}"
            assert streamed(redactor, text, []) == redactor.redact(text).text


def test_every_possible_name_of_a_secret_passes_the_quick_check() -> None:
    """The quick check knows parts of names; `ANY_WORD` has them whole, and the finder begins with `WORDS`."""
    named, sign = re.compile(rf"{ANY_WORD}{NAME_END}[:=]"), SignTest(()).judge
    seen = set[str]()
    rare = ["DB_PWD=Xk3vQ9zTm2LpR7wB", "aws_credential: 'Xk3vQ9zTm2LpR7wB'"]
    rare += [f"{name}=Xk3vQ9zTm2LpR7wB" for name in ("db_pw", "PSK", "kennwort", "contrasena", "geheimnis", "senha")]
    rare += [f"{name}='Xk3vQ9zTm2LpR7wB'" for name in ("wachtwoord", "pin_code")]
    for text in rare:
        assert streamed(PLAIN, text, list(range(len(text)))) == PLAIN.redact(text).text != text
    for text in [*rare, *(case.text for case in placed())]:
        for match in named.finditer(text.lower()):
            seen.update(word for word in WORDS if word in match[0])
            name, start = find_name(text, match.start())
            if is_secret_name(name) or can_be_secret_name(name):
                assert sign("", text[start : match.end()]) < 0, match[0]
    assert seen == set(WORDS)


@given(text=texts)
@examples(100)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = PLAIN.redact(text).text
    assert PLAIN.redact(once).text == once


@pytest.mark.parametrize("redactor", [PLAIN, FULL], ids=["plain", "full"])
def test_long_words_and_lines_are_redacted(redactor: Redactor) -> None:
    secret = keys()[0][1]
    for fill in ("a" * 30_000, "ab," * 10_000, "word " * 6_000, f"{secret}," * 300):
        text = f"x {fill}{secret}{fill} y\n"
        whole = redactor.redact(text).text
        for size in (1, 7, 1000, 8191, 8192, 8193):
            stream = redactor.stream()
            parts = [stream.feed(text[place : place + size]) for place in range(0, len(text), size)] if size > 1 else []
            if parts:
                assert "".join(parts) + stream.finish() == whole


def test_ordinary_words_are_passed_on_at_once() -> None:
    stream = PLAIN.stream()
    assert stream.feed("The quick brown fox jum") == "The quick brown fox "
    assert stream.feed("ps over the token ") == "jumps over the token "
    assert stream.feed("counter and ") == "counter and "
    assert stream.feed("the password ") == "the password "
    assert stream.feed("= ") == ""
    assert stream.feed("none, ") == "= none, "
    assert stream.feed("no more") == "no "
    assert stream.finish() == "more"


def test_the_delayed_text_has_a_size_limit() -> None:
    key_lines = "\n".join(drawn(64, seed=seed) for seed in range(250))
    endless = [
        "-----BEGIN PRIVATE KEY-----\n" + key_lines,
        "a" * 20_000,
        "Bearer " * 1_500,
        "password = " * 2_000,
        "with a space 7" * 1_500,
        "ACME " * 3_000,
    ]
    for text in endless:
        for redactor in (PLAIN, FULL):
            stream = redactor.stream()
            given_out = 0
            for place in range(0, len(text), 128):
                given_out = max(given_out, len(stream.feed(text[place : place + 128])))
                assert stream.held <= 8192 + 1024
    assert given_out > 0


def test_a_name_already_passed_on_is_remembered() -> None:
    """However a stream is cut between a name and its value, and whatever blanks are there."""
    value = "Zk3vQ9wLr4NcZ8pHs3Jd"
    for name in ("password", "api_key", "api--key", '"token"'):
        for gap in (" = ", "=", "\n    value: ", "     =  ", "\t: ", " " * 12 + "= ", ' = "'):
            text = f"the {name}{gap}{value} there "
            whole = PLAIN.redact(text).text
            assert value not in whole
            for size in (1, 2, 5, 9):
                cuts = list(range(0, len(text), size))
                assert streamed(PLAIN, text, cuts) == whole == streamed(FULL, text, cuts)


def test_most_pieces_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """This makes a stream cheap: in source and prose, about one word in a hundred is checked closely."""
    looks: list[str] = []
    real = SecretFinder.find_cut
    monkeypatch.setattr(
        SecretFinder, "find_cut", lambda self, text, places: looks.append(text) or real(self, text, places)
    )
    text = Path(__file__).read_text(encoding="utf-8").partition("VALUES =")[0] * 20
    for redactor in (PLAIN, Redactor(env_secrets=[drawn(30, seed=seed) for seed in range(20)])):
        stream = redactor.stream()
        parts = [stream.feed(text[place : place + 24]) for place in range(0, len(text), 24)]
        assert "".join(parts) + stream.finish() == text
    assert len(looks) <= len(text) // 24 // 50


def test_counts_of_a_stream_equal_those_of_the_whole() -> None:
    redactor = Redactor()
    stream = redactor.stream()
    stream.feed(keys()[0][1] + " ")
    stream.feed(in_context()[0][1])
    stream.finish()
    assert stream.counts == redactor.counts == {"openai-key": 1, "password": 1}


@pytest.mark.parametrize(
    "text",
    [
        "the token is XkQzvWrTbnMp for now\n",
        "The api key for staging is now qZrTvBnMkWpL.\n",
        "le mot de passe est NMJxsIRprzGbQ\n",
        "Use hunter2again! as the password\n",
    ],
)
def test_a_sentence_in_pieces_reveals_no_letters_of_its_secret(text: str) -> None:
    for size in (1, 5, 24):
        assert streamed(PLAIN, text, list(range(0, len(text), size))) == PLAIN.redact(text).text != text


HOSTILE = (
    *("password = ", "secrets:\n a: ", "recovery codes: ", "recovery codes: abcd1234 efgh5678 ", "echo "),
    *("mnemonic word word ", "key key key ", "kind: Secret\ndata:\n a: b\n", "curl -u a:", "Cookie: a=", "-----BEGIN "),
    *("insert into x (password) values (", "| password | x |\n", "a,password,c\n", "password: [\n"),
)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", HOSTILE)
def test_the_work_of_a_stream_is_linear_in_its_length(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that stays open is not checked again and again."""
    looks: list[int] = []
    real = SecretFinder.find_cut
    monkeypatch.setattr(
        SecretFinder, "find_cut", lambda self, text, places: looks.append(len(text)) or real(self, text, places)
    )
    whole = (text * 30_000)[:30_000]
    sizes, stream, place = random.Random(1), PLAIN.stream(), 0
    while place < len(whole):
        size = sizes.randint(3, 20)
        stream.feed(whole[place : place + size])
        place += size
        assert stream.held <= 8192 + 1024
    assert sum(looks) <= 8 * len(whole)
    assert len(looks) <= len(whole) // 64
