"""Made-up secrets, joined from pieces when the tests run, so that none is in the repository."""

import random
import string

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"


def drawn(size: int, letters: str = ALNUM, seed: int = 1) -> str:
    """Return random letters with at least one digit, capital and lower-case letter if the alphabet has them."""
    chance = random.Random(f"{seed}/{size}/{letters}")
    body = "".join(chance.choices(letters, k=size - 3))
    kinds = [
        [c for c in letters if c.isdigit()],
        [c for c in letters if c.isupper()],
        [c for c in letters if c.islower()],
    ]
    return body + "".join(chance.choice(kind or letters) for kind in kinds)


def keys() -> list[tuple[str, str]]:
    """Return keys recognized by their own form: kind and text."""
    capitals = string.ascii_uppercase + "234567"
    return [
        ("openai-key", "sk" + "-" + drawn(48)),
        ("openai-key", "sk" + "-proj-" + drawn(100, URLSAFE)),
        ("openai-key", "sk" + "-svcacct-" + drawn(60, URLSAFE)),
        ("openai-key", "sk" + "-" + drawn(32, HEX)),
        ("anthropic-key", "sk" + "-ant-api03-" + drawn(93, URLSAFE)),
        ("openrouter-key", "sk" + "-or-v1-" + drawn(64, HEX)),
        ("groq-key", "gsk" + "_" + drawn(52)),
        ("google-key", "AI" + "za" + drawn(35, URLSAFE)),
        ("google-secret", "GOC" + "SPX-" + drawn(28, URLSAFE)),
        ("google-token", "ya" + "29." + drawn(60, URLSAFE)),
        ("aws-key-id", "AK" + "IA" + drawn(16, capitals)),
        ("aws-key-id", "AS" + "IA" + drawn(16, capitals)),
        ("github-token", "gh" + "p_" + drawn(36)),
        ("github-token", "gh" + "o_" + drawn(36)),
        ("github-token", "github" + "_pat_" + drawn(22) + "_" + drawn(59)),
        ("gitlab-token", "gl" + "pat-" + drawn(20, URLSAFE)),
        ("slack-token", "xo" + "xb-" + drawn(12, "0123456789") + "-" + drawn(24)),
        ("slack-token", "xo" + "xp-" + drawn(12, "0123456789") + "-" + drawn(32, HEX)),
        ("slack-webhook", "https://hooks." + "slack.com/services/T" + drawn(8, capitals) + "/B0/" + drawn(24)),
        ("stripe-key", "sk" + "_live_" + drawn(24)),
        ("stripe-key", "rk" + "_test_" + drawn(24)),
        ("huggingface-token", "hf" + "_" + drawn(34)),
        ("npm-token", "npm" + "_" + drawn(36)),
        ("pypi-token", "py" + "pi-" + drawn(150, URLSAFE)),
        ("sendgrid-key", "SG" + "." + drawn(22, URLSAFE) + "." + drawn(43, URLSAFE)),
        ("twilio-key", "SK" + drawn(32, HEX)),
        ("telegram-token", drawn(9, "123456789") + ":AA" + drawn(33, URLSAFE)),
        ("discord-token", "M" + drawn(23, ALNUM) + "." + drawn(6, ALNUM) + "." + drawn(38, URLSAFE)),
        (
            "discord-webhook",
            "https://dis" + "cord.com/api/webhooks/" + drawn(18, "123456789") + "/" + drawn(60, URLSAFE),
        ),
        ("digitalocean-token", "do" + "p_v1_" + drawn(64, HEX)),
        ("azure-key", "Account" + "Key=" + drawn(86, BASE64) + "=="),
        ("replicate-token", "r8" + "_" + drawn(37)),
        ("perplexity-key", "pp" + "lx-" + drawn(48)),
        ("databricks-token", "da" + "pi" + drawn(32, HEX)),
        ("docker-token", "dckr" + "_pat_" + drawn(27, URLSAFE)),
        ("vault-token", "hv" + "s." + drawn(90, URLSAFE)),
        ("shopify-token", "shp" + "at_" + drawn(32, HEX)),
        ("jwt", "ey" + "J" + drawn(33) + "." + "ey" + "J" + drawn(60) + "." + drawn(43, URLSAFE)),
    ]


def in_context() -> list[tuple[str, str, str]]:
    """Return secrets recognized by their context: kind, complete text, and the part that must be removed."""
    password, token, hexed = "tr0ub4dor" + "&" + drawn(6), drawn(40), drawn(40, HEX)
    block = "\n".join(drawn(64, BASE64, seed) for seed in range(12))
    pem = f"-----BEGIN {'RSA '}PRIVATE KEY-----\n{block}\n-----END {'RSA '}PRIVATE KEY-----"
    quoted = pem.replace("\n", "\\n")
    return [
        ("password", f"DB_PASSWORD={password}\n", password),
        ("password", f"export PGPASSWORD='{password}'", password),
        ("password", f'  password: "{password}"  # the database', password),
        ("password", f"password = {password};", password),
        ("password", f'{{"user": "x", "password": "{password}"}}', password),
        ("password", "SMTP_PASSWORD=" + "horsestaple", "horsestaple"),
        ("password", f"mysql --password={password} db", password),
        ("password", f"tool --password {password} run", password),
        ("password", f"'password' => '{password}',", password),
        ("secret", f"aws_secret_access_key = {drawn(40, BASE64)}", drawn(40, BASE64)),
        ("secret", f"const clientSecret = '{token}'", token),
        ("secret", f'API_KEY: str = "{token}"', token),
        ("secret", f"SECRET_KEY_BASE={drawn(128, HEX)}", drawn(128, HEX)),
        ("secret", f"X-Api-Key: {token}", token),
        ("secret", f"https://example.com/?api_key={token}&page=2", token),
        ("secret", f"MISTRAL_API_KEY={drawn(32)}", drawn(32)),
        ("token", f'\\"token\\": \\"{token}\\"', token),
        ("token", f"auth_token: {hexed}", hexed),
        ("token", f"TWILIO_AUTH_TOKEN={drawn(32, HEX)}", drawn(32, HEX)),
        ("authorization", f"Authorization: Bearer {token}", token),
        ("authorization", f'-H "Authorization: Basic {drawn(24, ALNUM)}=="', drawn(24, ALNUM)),
        ("authorization", f"authorization: token {token}", token),
        (
            "url-password",
            f"postgres://app:{password.replace('&', 'x')}@db.example:5432/app",
            password.replace("&", "x"),
        ),
        ("url-password", f"git clone https://me:{token}@example.com/x.git", token),
        ("private-key", pem, block),
        ("private-key", f'"key": "{quoted}"', drawn(64, BASE64, 3)),
        ("private-key", f"-----BEGIN PRIVATE KEY-----\n{block}\n(cut off)", block),
        ("private-key", pem.replace("RSA ", "OPENSSH "), block),
    ]


HARMLESS = [
    "commit 3f2a" + "9c1d" * 9,
    "sha256:" + "0f" * 32,
    "id = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'",
    "integrity: sha512-" + "Ab3/" * 20 + "==",
    "data:image/png;base64," + "iVBORw0KGgo" + "AAAANSUhEUgAA" * 40,
    "password = os.environ['DB_PASSWORD']",
    'password = os.environ.get("DB_PASSWORD", "")',
    "token = get_token(user)",
    "token = self.tokens[i]",
    "self.token = token",
    "api_key=settings.OPENAI_API_KEY",
    "api_key = config.get('api_key')",
    "password: ${DB_PASSWORD}",
    "PASSWORD=$1",
    "PASSWORD=${PASSWORD:?}",
    "PASSWORD=changeme",
    "API_KEY=<your key>",
    "API_KEY=your-api-key-here",
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "password: str",
    "password: Optional[str] = None",
    "max_tokens = 4096",
    "total_tokens: 123456789012",
    "next_token = 'page-2-of-12'",
    "token_count = 12",
    'secret_name = "my-app/prod/database"',
    "password=password",
    "postgres://user:password@localhost/db",
    "https://example.com:8080/path@2",
    "Bearer authentication is described below",
    "Basic understanding of the matter",
    "class sk-loading-spinner-animation-container",
    "the secret: everything is a file",
    "passwd:x:0:0:root:/root:/bin/bash",
    "-----BEGIN CERTIFICATE-----\n" + ("MIIB" * 16 + "\n") * 3 + "-----END CERTIFICATE-----",
    'header = "-----BEGIN RSA PRIVATE KEY-----"',
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "b3" * 20 + " me@host",
    "arn:aws:iam::123456789012:role/AKIAROLE",
    "token = 'refresh_token'",
    "SECRET_NAME=my-secret-name",
    "PRIVATE_KEY_PATH=/etc/ssl/private/key.pem",
    "TOKEN_URL=https://example.com/oauth/token",
]
