"""Secrets in every file, command, header and sentence are replaced, but no references and labels."""

from itertools import pairwise

import pytest

from clio.security.redaction.redactor import Redactor
from tests.security.secret_contexts import CHOSEN, CONTEXTS, FORMS, SYNTAXES, Chance, in_contexts, leaks
from tests.support.rows import each_row

SEEDS = range(7_000, 7_008)


def cut_by_lot(text: str) -> list[int]:
    chance = Chance(text)
    return sorted({0, len(text), *(chance.randrange(len(text)) for _ in range(8))})


def test_nearly_all_secrets_in_context_are_replaced() -> None:
    redactor = Redactor()
    cases = list(in_contexts(SEEDS))
    missed = [f"{case.kind}: {case.text!r}" for case in cases if leaks(redactor.redact(case.text).text, case)]
    assert len({case.kind for case in cases}) == len(CONTEXTS) >= 40
    assert len(missed) <= len(cases) // 100, missed


def test_nearly_all_secrets_with_a_name_by_syntax_are_replaced() -> None:
    redactor = Redactor()
    cases = list(in_contexts(SEEDS, makers=SYNTAXES))
    missed = [f"{case.kind}: {case.text!r}" for case in cases if leaks(redactor.redact(case.text).text, case)]
    assert {case.kind for case in cases} == set(SYNTAXES)
    assert len(missed) <= len(cases) // 25, missed


def test_secrets_in_further_forms_are_replaced() -> None:
    redactor = Redactor()
    cases = [
        case
        for case in in_contexts(SEEDS, each=8, makers=FORMS)
        if any(map(str.isdigit, case.secret)) and case.secret not in CHOSEN
    ]
    missed = [f"{case.kind}: {case.text!r}" for case in cases if leaks(redactor.redact(case.text).text, case)]
    assert {case.kind for case in cases} == set(FORMS)
    assert len(missed) <= len(cases) // 50, missed


@pytest.mark.parametrize("size", [1, 7, 24, 0])
def test_a_stream_replaces_the_same_as_the_whole(size: int) -> None:
    """Split in pieces of one size, or randomly: 0."""
    redactor = Redactor()
    different: list[str] = []
    for case in in_contexts(range(7_000, 7_002), each=2, makers=CONTEXTS | SYNTAXES | FORMS):
        text = f"see\n{case.text}"
        stream = redactor.stream()
        cuts = [*range(0, len(text), size), len(text)] if size else cut_by_lot(text)
        streamed = "".join(stream.feed(text[start:end]) for start, end in pairwise(cuts)) + stream.finish()
        if streamed != redactor.redact(text).text:
            different.append(f"{case.kind}: {text!r}")
    assert len(different) <= 2, different


@each_row(
    "text",
    [
        "password = get_password()",
        "password = self.password",
        "token = self.token",
        'password = getpass("Password: ")',
        "password: str,",
        "token: Optional[str] = None",
        "password = os.environ['DB_PASSWORD']",
        "const password = process.env.DB_PASSWORD;",
        "password: ${DB_PASSWORD}",
        "password: {{ vault_password }}",
        "password: !vault |",
        "password: <your password>",
        "password: changeme",
        "PASSWORD=xxxxxx",
        'password = ""',
        "password: true",
        "password: null",
        "max_tokens: 4096",
        "token_count = 123456",
        "password_file: /run/secrets/db",
        "the password is required",
        "the password is hashed with bcrypt",
        "The token is a string that the parser returns.",
        '"password": "Enter your password"',
        '"password": "Must be at least 8 characters"',
        "curl -u $USER:$PASSWORD https://example.com",
        "curl -u user:password https://example.com",
        "docker run -p 8080:80 nginx",
        "mysql -u root -p mydb",
        "ssh -p 2222 host",
        "kind: ConfigMap\ndata:\n  key: value123abc\n",
        "sha256sum of the token file",
        "Authorization: Bearer $TOKEN",
        "Cookie: theme=dark; lang=en",
        "key: value",
        "api_key=settings.api_key,",
        "docker run -u 1000 -p 8080:80 nginx",
        "python -u train.py -p model_v2",
        "sudo -u www-data mkdir -p /var/www2",
        'hmac.new(key, message, "sha256")',
        'jwt.encode(claims, secret_key, algorithm="HS256")',
        'jwt.decode(token, "secret", algorithms=["HS256"])',
        'server.login(user, "password")',
        '["token", "sha256", "password"]',
        '"password", "username"',
        "nextPageToken: c2VjcmV0MTIz",
        "secrets:\n  db: ${DB_SECRET_1}\n",
        "auth: http://host8:8080",
        "credentials: user:password",
        "the password is the same",
        "echo hello1 | grep -c x",
        "пароль обязателен",
        'def render(tokens: "Sequence[Token]") -> None:',
        '_token("kind", "GL-", r"GL-[A-Z]{20}")',
        "secretKeyRef:\n  name: db\n  key: password\n",
    ],
)
def test_references_labels_and_placeholders_are_kept(text: str) -> None:
    assert Redactor().redact(text).text == text


def test_a_secret_is_recognized_again_without_its_name() -> None:
    redactor = Redactor()
    assert "k7Qz9vLm" not in redactor.message("DB_PASSWORD=k7Qz9vLm\n").text
    assert redactor.message("it says k7Qz9vLm, twice: (k7Qz9vLm)").text == (
        "it says [REDACTED:repeated], twice: ([REDACTED:repeated])"
    )
    assert redactor.message("another one is xk7Qz9vLmx").text == "another one is xk7Qz9vLmx"
