"""Secrets in the forms of files, commands, logs and sentences, each with every kind of value that people choose."""

# ruff: noqa: E501 - a table of forms reads better with several a line

import base64
import random
import string
from collections.abc import Iterator
from typing import NamedTuple

_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_WORDS = (
    "correct horse battery staple purple monkey dishwasher river stone autumn tiger coffee guitar silver planet rocket banana"
    " forest dragon orange winter summer garden ocean thunder castle pepper velvet lemon cactus marble saddle falcon"
).split()
_ALGORITHMS = ("aes", "rsa", "sha", "md5", "hmac", "ecdsa", "bcrypt", "argon", "base64", "tls", "oauth", "jwt")
NAMES = (
    "password passwd db_password DB_PASSWORD dbPassword db-password secret client_secret clientSecret api_key apiKey API_KEY"
    " token auth_token accessToken refresh_token secret_key SECRET_KEY passphrase MYSQL_ROOT_PASSWORD SMTP_PASS jwt_secret"
    " webhook_secret bot_token GITHUB_TOKEN encryption_key master_key private_key shared_secret keystorePassword"
    " ansible_ssh_pass ansible_become_pass psk wpa_passphrase AWS_SECRET_ACCESS_KEY VAULT_TOKEN account_key"
).split()


class SecretForm(NamedTuple):
    """A text with a secret: the form of the text, the family of the value, and what must not remain."""

    form: str
    family: str
    text: str
    secret: str


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def draw_random(chance: random.Random) -> str:
    """Return 8 to 20 letters and digits, both present."""
    while not _is_mixed(value := "".join(chance.choices(_LETTERS_AND_DIGITS, k=chance.randint(8, 20)))):
        pass
    return value


def _draw_hex(chance: random.Random) -> str:
    return f"{chance.getrandbits(128):032x}"


def _draw_base64(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(chance.choice((15, 18, 24)))).decode()


def _draw_capitals(chance: random.Random) -> str:
    return "".join(word.title() for word in chance.sample(_WORDS, 3))


def _draw_dashes(chance: random.Random) -> str:
    return "-".join(chance.sample(_WORDS, 4))


def _draw_algorithm(chance: random.Random) -> str:
    tail = "".join(chance.choices(string.ascii_lowercase + string.digits, k=9))
    return f"{chance.choice(_ALGORITHMS)}{tail}{chance.randint(0, 9)}"


FAMILIES = {
    "random": draw_random,
    "hex": _draw_hex,
    "base64": _draw_base64,
    "CapitalWords": _draw_capitals,
    "dashed-words": _draw_dashes,
    "like an algorithm": _draw_algorithm,
}

# {n}: the name unchanged; {i}: as an identifier; {N}: in capitals; {v}: the value.
NAMED_FORMS = (
    "server:\n  host: db\n  {n}: {v}\n  port: 1\n", 'db:\n  {n}: "{v}"\n', "- {n}: {v}\n", "{n}:\n  {v}\nuser: app\n",
    "{n}: |\n  {v}\nuser: app\n", "env:\n  - name: {N}\n    value: {v}\n", "environment:\n  - {N}={v}\n", "# {n}: {v}\n",
    '[db]\n{i} = "{v}"\n', '{i} = """\n{v}"""\n', "[db]\n{n} = {v}\n", ";{n}={v}\n", "app.{n}={v}\n", "A=1\n{N}={v}\nB=2\n",
    "export {N}='{v}'\n", '{{"user": "a", "{n}": "{v}"}}', '{{"name": "{N}", "value": "{v}"}}', '{{"value": "{v}", "name": "{N}"}}',
    '{{"args": ["--token", "{v}"]}}', "<db>\n  <{n}>{v}</{n}>\n</db>\n", '<add key="{n}" value="{v}"/>\n', '<add value="{v}" key="{n}"/>\n',
    "{N}={v} ./run.sh\n", "docker run -e {N}={v} img\n", "tool login --api-key {v}\n", "tool --password='{v}' --force\n",
    "java -D{n}={v} -jar x.jar\n", "{N}=${{{N}:-{v}}}\n", '{i}: str = "{v}"\n', "connect(host='h', {i}='{v}')\n",
    "os.environ.get('{N}', '{v}')\n", '{i}: str = Field(default="{v}")\n', "{i} = os.getenv('X') or '{v}'\n", '{i} = (\n    "{v}"\n)\n',
    "const x = process.env.{N} || '{v}';\n", '{i} := "{v}"\n', 'private static final String {N} = "{v}";\n', "config.{i} = '{v}'\n",
    "ENV.fetch('{N}', '{v}')\n", 'let {i} = "{v}";\n', '#define {N} "{v}"\n', 'Dim {i} As String = "{v}"\n', "ENV {N}={v}\n", "ARG {N}={v}\n",
    'variable "{i}" {{\n  default = "{v}"\n}}\n', '  ~ {i} = "old" -> "{v}"\n', "env:\n  {N}: {v}\n", "user,{i}\nbob,{v}\n",
    "# user,{i}\n# bob,{v}\n", "| name | {i} |\n|---|---|\n| bob | {v} |\n", "INFO login user=bob {n}={v} ok=1\n", "login failed ({n}={v})\n",
    "use user=bob, {n}={v}, and go on\n", "Log in as bob ({n}={v}).\n", "app/.env:12:{N}={v}\n", "+{N}={v}\n", "12\t{N}={v}\n",
)  # fmt: skip
OTHER_FORMS = (
    "curl -u admin:{v} https://h/\n", "curl -su admin:{v} https://h/\n", "curl -fsSLku admin:{v} https://h/\n", "curl --user 'admin:{v}' https://h/\n",
    "subprocess.run(['curl', '-u', 'admin:{v}', url])\n", "Authorization: Bearer {v}\n", "curl -H 'Authorization: token {v}' https://h/\n",
    "sshpass -p {v} ssh u@h\n", "sshpass -p'{v}' ssh u@h\n", "mysql -uroot -p{v} db\n", "mysqldump -u root -p'{v}' db > x\n",
    "db.local:5432:app:bob:{v}\n", "machine h.io login bob password {v}\n", "machine h.io\n  login bob\n  password {v}\n",
    "Cookie: theme=dark; session={v}; lang=en\n", "Set-Cookie: sid={v}; Path=/\n", "h.io\tFALSE\t/\tTRUE\t1893456000\tsessionid\t{v}\n",
    "users:\n- name: admin\n  user:\n    token: {v}\n", "kind: Secret\nstringData:\n  blob: {v}\n", "kind: Secret\nstringData: {{ blob: {v} }}\n",
    "stringData:\n  user: u\n  blob: {v}\nkind: Secret\n", "ssid=Home\nwpa_passphrase={v}\n", '%any %any : PSK "{v}"\n', 'bob : XAUTH "{v}"\n',
    "[wifi-security]\npsk={v}\n", "<auth-user-pass>\nbob\n{v}\n</auth-user-pass>\n", 'expect "assword:"\nsend "{v}\\r"\n',
    'expect {{\n  "*password:*" {{ send -- "{v}\\r" }}\n}}\n', "tool7 --user app -p {v}\n", "echo {v} | docker login --password-stdin r.io\n",
    "pipe it into --password-stdin, the password is {v}\n", "redis-cli -a {v} ping\n", "docker login -u app -p {v} r.io\n",
    "The password is {v}.\n", 'The passphrase is "{v}", please log in.\n', "I set the password to {v} yesterday.\n", "Password:\n{v}\n",
    "The password for the staging box is `{v}` now.\n", "connect as root with password {v}\n", "<li>Password: <b>{v}</b></li>\n",
    "**Password:** `{v}`\n", "ssh root@h (pw: {v})\n", "CREATE USER app WITH PASSWORD '{v}';\n",
    "CREATE USER 'a'@'%' IDENTIFIED BY '{v}';\n",
)  # fmt: skip

REFERENCES = (
    "${DB_PASSWORD}", "<your-password>", "changeme", "your-password-here", "xxxxxxxx", "********", "null",
    "{{ vault_password }}", "${{ secrets.DB_PASSWORD }}", "REPLACE_ME", "$(cat /run/secrets/db)", "[REDACTED:password]",
)  # fmt: skip


def list_secrets(seed: int, each: int = 2) -> Iterator[SecretForm]:
    """Return every form with values of every family, this many of each."""
    chance = random.Random(seed)
    for form in (*NAMED_FORMS, *OTHER_FORMS):
        for family, draw in FAMILIES.items():
            for _ in range(each):
                yield _write(form, family, draw(chance), chance.choice(NAMES))


def list_random_values(seed: int, number: int) -> Iterator[SecretForm]:
    """Return random letters and digits after a secret's name, in simple assignments of files and shells."""
    chance = random.Random(seed)
    plain = (
        "{n}: {v}\n",
        '"{n}": "{v}"\n',
        "<{n}>{v}</{n}>\n",
        "{N}={v}\n",
        "tool --password {v}\n",
        '{i} = "{v}"\n',
        "{n} = {v}\n",
    )
    for _ in range(number):
        yield _write(chance.choice(plain), "random", draw_random(chance), chance.choice(NAMES))


def list_references() -> Iterator[str]:
    """Return names whose value is a placeholder or a reference."""
    for value in REFERENCES:
        for form in ("{n}: {v}\n", "{N}={v}\n", "{n} = {v}\n"):
            yield form.format(n="db_password", N="DB_PASSWORD", v=value)


def list_encoded(seed: int, number: int) -> Iterator[SecretForm]:
    """Return private keys and environment lines in base64, alone and in files, and Kubernetes data near its kind."""
    chance = random.Random(seed)
    for _ in range(number):
        body = base64.encodebytes(chance.randbytes(400)).decode()
        key = f"-----BEGIN {chance.choice(('RSA ', 'EC ', ''))}PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n"
        lines = f"DEBUG=1\n{chance.choice(('DB_PASSWORD', 'API_KEY'))}={draw_random(chance)}\nPORT=1\n"
        for text in (key, lines):
            for form in ("{v}\n", "client-key-data: {v}\n", "echo {v} | base64 -d\n", '{{"content": "{v}"}}'):
                yield _write(form, "base64 of a text", base64.b64encode(text.encode()).decode(), "x")
        below = "\n".join(f"  k{number}: dmFsdWU{number}" for number in range(40))
        for form in (
            "kind: Secret\ndata:\n  blob: {v}\n",
            "apiVersion: v1\ndata:\n  blob: {v}\nkind: Secret\n",
            f"data:\n  blob: {{v}}\n{below}\nkind: Secret\n",
            "items:\n- apiVersion: v1\n  data:\n    blob: {v}\n  kind: Secret\n",
            '{{"apiVersion": "v1", "kind": "Secret", "data": {{"blob": "{v}"}}}}',
        ):
            yield _write(form, "base64", base64.b64encode(draw_random(chance).encode()).decode(), "x")


def _write(form: str, family: str, value: str, name: str) -> SecretForm:
    bare = name.replace("-", "_")
    return SecretForm(form, family, form.format(n=name, i=bare, N=bare.upper(), v=value), value)
