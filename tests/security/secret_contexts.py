"""Random secrets in contexts that identify them: every kind of file, command, header and sentence, by seed.

A case consists of a value, a name if the context has one, and a frame; small differences in spacing, quotation marks,
indentation, line endings and surroundings are chosen by the same seed. Values are random letters and digits, sometimes
with symbols, sometimes only lower-case letters; some are like those that users choose.
"""

# ruff: noqa: E501 - a table of expressions and frames reads better with one a line

import base64
import json
import random
import string
from collections.abc import Callable, Iterator

from tests.security.secret_corpus import Placed

ALNUM = string.ascii_letters + string.digits
SMALL = string.ascii_lowercase + string.digits
CHOSEN = (
    "hunter2 correct-horse-battery Summer2024! Tr0ub4dor&3 letmein99 dragon-fire-77 P@ssw0rd1! qwerty12345 monkey1987"
    " Winter#2023 il0vey0u iloveyou2 blue-tiger-river S3cretSauce! abc123xyz football7 Passw0rd!23 sunshine_42"
).split()
PASSWORD_NAMES = (
    "password DB_PASSWORD db_password spring.datasource.password passwd db_passwd PGPASSWORD passphrase pwd userPassword"
    " MYSQL_ROOT_PASSWORD smtp_pass ansible_ssh_pass ansible_become_password passwort db-password SMTP_PASSWD"
    " mot_de_passe contrasena ADMIN_PASSWORD redis.password mailPassword keystorePassword POSTGRES_PASSWORD_PROD dbPass"
    " kennwort senha admin_pwd FTP_PASS root_password passcode login.password ldap_bind_password wpa_passphrase"
).split()
SECRET_NAMES = (
    "api_key API_KEY apiKey x-api-key clientSecret client_secret AWS_SECRET_ACCESS_KEY aws_secret_access_key secret_key"
    " SECRET_KEY access_token ACCESS_TOKEN accessToken auth_token AUTH_TOKEN refresh_token GITHUB_TOKEN jwt_secret"
    " JWT_SECRET ENCRYPTION_KEY encryption_key STRIPE_SECRET webhook_secret app.security.jwt-secret SECRET_KEY_BASE token"
    " secret private_key session_secret cookieSecret bot_token BOT_TOKEN consumer_secret authToken SLACK_TOKEN"
    " master_key signing_key APP_SECRET oauth_token azure.client-secret api-token"
).split()
NAMES = (*PASSWORD_NAMES, *SECRET_NAMES)


def identifier(name: str) -> str:
    """Return the name as a program may have it."""
    return name.replace(".", "_").replace("-", "_")


class Chance(random.Random):
    """A random source with the values that cases need."""

    def value(self, symbols: str = "") -> str:
        """Return a secret of 8 to 20 letters and digits, or with symbols, or one like those that users choose."""
        sort = self.random()
        if symbols and sort < 0.3:
            size = self.randint(8, 20)
            body = self.choices(ALNUM, k=size - 2)
            return self.choice(ALNUM) + "".join(body[:-1]) + self.choice(symbols) + body[-1] + self.choice(ALNUM)
        if sort < 0.4:
            return self.choice([each for each in CHOSEN if all(c.isalnum() or c in symbols + "-_" for c in each)])
        letters = SMALL if sort < 0.55 else ALNUM
        return "".join(self.choices(letters, k=self.randint(8, 20)))

    def name(self) -> str:
        """Return the name of a secret."""
        return self.choice(NAMES)

    def host(self) -> str:
        """Return the address of a server."""
        return self.choice(["db.example.com", "localhost", "10.0.0.5", "prod-db-1.internal"])

    def user(self) -> str:
        """Return the name of a user."""
        return self.choice(["app", "root", "admin", "bob", "svc_deploy", "alice@example.com"])


SAFE = "-_"
SOME = "!#%^*_~?-+@"
Case = tuple[str, str]
Maker = Callable[[Chance], Case]


def _frames(symbols: str, *frames: str, names: tuple[str, ...] = NAMES, program: bool = False) -> Maker:
    def make(chance: Chance) -> Case:
        secret, name = chance.value(symbols), chance.choice(names)
        name = identifier(name) if program else name
        frame = chance.choice(frames)
        return frame.format(
            s=secret,
            n=name,
            N=identifier(name).upper(),
            f=name.replace("_", "-").replace(".", "-").lower(),
            c=identifier(name),
            i=" " * chance.choice([0, 2, 4, 8]),
            g=chance.choice([" ", "  ", ""]),
            u=chance.user(),
            q=chance.choice("\"'"),
            e=chance.choice(["\n", "\r\n"]),
            h=chance.host(),
            U=chance.user().partition("@")[0],
        ), secret

    return make


def _kubernetes(chance: Chance) -> Case:
    secret = chance.value(SOME)
    name = chance.choice(["password", "db", "credentials.txt", "config", "value", "connection", "ca", "x"])
    encoded = base64.b64encode(secret.encode()).decode()
    head = ["apiVersion: v1", "kind: Secret", "metadata:\n  name: app", "type: Opaque"]
    form = chance.randrange(5)
    if form == 0:
        return "\n".join(
            [*head, "data:", f"  user: {base64.b64encode(b'app').decode()}", f"  {name}: {encoded}"]
        ) + "\n", encoded
    if form == 1:
        return "\n".join([head[0], "data:", f"  {name}: {encoded}", *head[1:]]) + "\n", encoded
    if form == 2:
        return "\n".join(
            [*head, "stringData:", f"  {name}: {chance.choice(['{}', chr(34) + '{}' + chr(34)]).format(secret)}"]
        ) + "\n", secret
    if form == 3:
        return "\n".join(
            [*head, "stringData:", f"  {name}: |", f"    user = x\n    {secret}\n    end"]
        ) + "\n---\nkind: Service\n", secret
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {name: encoded}}
    return json.dumps(body, indent=chance.choice([None, 2])) + "\n", encoded


def _encoded_lines(chance: Chance) -> Case:
    secret = chance.value(SOME)
    lines = f"{chance.choice(['DB_HOST=db', 'PORT=5432', '# env'])}\n{identifier(chance.name()).upper()}={secret}\n"
    encoded = base64.b64encode(lines.encode()).decode()
    return chance.choice(["echo {} | base64 -d\n", "config: {}\n", '{{"payload": "{}"}}\n', "{}\n"]).format(
        encoded
    ), encoded.rstrip("=")


def _encoded_key(chance: Chance) -> Case:
    body = "\n".join(base64.b64encode(chance.randbytes(48)).decode() for _ in range(6))
    name = chance.choice(["", "RSA ", "OPENSSH ", "EC "])
    block = f"-----BEGIN {name}PRIVATE KEY-----\n{body}\n-----END {name}PRIVATE KEY-----\n"
    encoded = base64.b64encode(block.encode()).decode()
    frame = chance.choice(
        ["client-key-data: {}\n", "key: {}\n", '{{"blob": "{}"}}\n', "{}\n", "    client-key-data: {}\n    token: x\n"]
    )
    return frame.format(encoded), encoded.rstrip("=")


def _key_forms(chance: Chance) -> Case:
    lines = [base64.b64encode(chance.randbytes(48)).decode() for _ in range(5)]
    form = chance.randrange(5)
    if form == 0:
        return "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + "\n".join(
            lines
        ) + "\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----\n", lines[2]
    if form == 1:
        return '"private_key": "-----BEGIN PRIVATE KEY-----\\n' + "\\n".join(
            lines
        ) + '\\n-----END PRIVATE KEY-----\\n",\n', lines[1]
    if form == 2:
        return "key: |\n" + "".join(
            f"      {x}\n" for x in ("-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----")
        ), lines[3]
    if form == 3:
        return (
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAAC3Nz\nPrivate-Lines: 2\n"
            + "\n".join(lines[:2])
            + "\nPrivate-MAC: "
            + "ab" * 32
            + "\n",
            lines[1],
        )
    return "-----BEGIN OPENSSH PRIVATE KEY-----\r\n" + "\r\n".join(
        lines
    ) + "\r\n-----END OPENSSH PRIVATE KEY-----\r\n", lines[0]


_SEED_WORDS = (
    "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve acid"
    " ladder lady lake lamp language laptop large later latin laugh laundry lava zebra zero zone zoo velvet vendor venture"
).split()


def _mnemonic(chance: Chance) -> Case:
    words = " ".join(chance.choices(_SEED_WORDS, k=chance.choice([12, 15, 18, 24])))
    frame = chance.choice(
        [
            "mnemonic: {}\n",
            'MNEMONIC="{}"\n',
            "The seed phrase is: {}\n",
            "Recovery phrase: {}\n",
            'const mnemonic = "{}";\n',
            "seed phrase = {}\n",
        ]
    )
    return frame.format(words), words


def _backup_codes(chance: Chance) -> Case:
    codes = ["-".join("".join(chance.choices(SMALL, k=5)) for _ in range(2)) for _ in range(6)]
    frame = chance.choice(["Backup codes:\n{}\n", "recovery codes:\n{}\n", "Your 2FA recovery codes:\n{}\n"])
    return frame.format("\n".join(codes)), codes[chance.randrange(6)]


def _joined(chance: Chance) -> Case:
    secret = "".join(chance.choices(ALNUM, k=chance.randint(10, 20)))
    cut = chance.randint(4, len(secret) - 4)
    a, b, n = secret[:cut], secret[cut:], identifier(chance.name())
    frame = chance.choice(
        [
            '{n} = "{a}" + "{b}"\n',
            "{n} = '{a}' + '{b}';\n",
            '{n} = ("{a}"\n    "{b}")\n',
            '{n} = "{a}" \\\n    "{b}"\n',
            "${n} = '{a}' . '{b}';\n",
            'const {n} = "{a}".concat("{b}");\n',
            'String {n} = "{a}"\n    + "{b}";\n',
            '{n} = "{a}" & "{b}"\n',
        ]
    )
    return frame.format(n=n, a=a, b=b), a if len(a) >= len(b) else b


def _arrays(chance: Chance) -> Case:
    secret, other, n = (
        chance.value(SAFE),
        chance.value(SAFE),
        chance.choice(["passwords", "api_keys", "tokens", "secrets", "access_tokens", "API_KEYS", "client_secrets"]),
    )
    frame = chance.choice(
        [
            '{n} = ["{o}", "{s}"]\n',
            '"{n}": ["{o}", "{s}"],\n',
            "{n}:\n  - {o}\n  - {s}\nport: 1\n",
            '{n}:\n  - "{o}"\n  - "{s}"\n',
            '"{n}": [\n    "{o}",\n    "{s}"\n  ]\n',
            "{n}: [{o}, {s}]\n",
        ]
    )
    return frame.format(n=n, s=secret, o=other), secret


def _block_scalar(chance: Chance) -> Case:
    secret, n = chance.value(SOME), chance.name()
    frame = chance.choice(["{n}: |\n  {s}\nport: 1\n", "{n}: >-\n    {s}\n", "a:\n  {n}: |-\n    {s}\n  b: c\n"])
    return frame.format(n=n, s=secret), secret


def _encoded_login(chance: Chance) -> Case:
    encoded = base64.b64encode(f"{chance.user()}:{chance.value(SOME)}".encode()).decode()
    frame = chance.choice(
        [
            '{{"auths": {{"r.example": {{"auth": "{}"}}}}}}\n',
            '{{\n  "auths": {{\n    "https://index.docker.io/v1/": {{\n      "auth": "{}"\n    }}\n  }}\n}}\n',
            "//registry.example/:_auth={}\n",
            "_auth={}\n",
            "Authorization: Basic {}\n",
            "Proxy-Authorization: Basic {}\r\n",
            "curl -H 'Authorization: Basic {}' https://x\n",
        ]
    )
    return frame.format(encoded), encoded.rstrip("=")


SYNTAXES: dict[str, Maker] = {
    "markdown": _frames(
        SAFE,
        "**Password:** {s}\n",
        "- **Password:** `{s}`\n",
        "Password:\n```\n{s}\n```\n",
        "| user | password |\n|---|---|\n| {U} | {s} |\n",
    ),
    "fallback": _frames(
        SAFE,
        "x = process.env.DB_PASSWORD || '{s}'\n",
        'x = process.env.API_KEY ?? "{s}"\n',
        'DB_PASS="${{DB_PASS:-{s}}}"\n',
        '@Value("${{db.password:{s}}}")\n',
        "$p = getenv('DB_PASSWORD') ?: '{s}';\n",
    ),
    "arguments": _frames(SAFE, '["--password", "{s}"]\n', "args:\n  - --password\n  - {s}\n"),
    "calls": _frames(
        SAFE,
        'ds.setPassword("{s}");\n',
        'x.password("{s}")\n',
        'req.SetBasicAuth("bob", "{s}")\n',
        '.basic_auth("bob", Some("{s}"))\n',
        "auth=('bob', '{s}')\n",
        'new NetworkCredential("bob", "{s}")\n',
        "new PDO('mysql:host=h', 'bob', '{s}')\n",
        'DriverManager.getConnection(url, "bob", "{s}");\n',
        'setattr(c, "password", "{s}")\n',
    ),
    "comparisons": _frames(
        SAFE, 'if password == "{s}":\n', 'if (password !== "{s}") {{\n', 'strcmp(password, "{s}")\n'
    ),
    "directives": _frames(SAFE, 'LDAPBindPassword "{s}"\n', "masterauth {s}\n", "bindpw {s}\n", "requirepass {s}\n"),
    "columns": _frames(
        SAFE,
        "name,password\nbob,{s}\n",
        "url,username,password\nhttps://x,bob,{s}\n",
        "INSERT INTO users (name, password) VALUES ('bob', '{s}');\n",
    ),
    "declarations": _frames(
        SAFE,
        'public string ApiKey {{ get; set; }} = "{s}";\n',
        'password!: string = "{s}"\n',
        'password <- "{s}"\n',
        '(def password "{s}")\n',
        "$ENV{{DB_PASSWORD}} = q({s});\n",
    ),
    "escaped": _frames(SAFE, "%22password%22%3A%22{s}%22\n", "&quot;password&quot;:&quot;{s}&quot;\n"),
}


FORMS: dict[str, Maker] = {
    "options": _frames(
        "",
        "mycli -u a -p {s}\n",
        "snmpwalk -v2c -c {s} host\n",
        "tool7 --user {U} -p {s} run\n",
        "redis-server --requirepass {s}\n",
        "ssh-keygen -t rsa -N {s}\n",
        "skopeo copy --src-creds {U}:{s} x y\n",
        "sqlplus {U}/{s}@orcl\n",
        "cargo login {s}\n",
        "zip -eP {s} a.zip b\n",
        'echo "::add-mask::{s}"\n',
        "mongorestore -u=a -p=x{s}\n",
    ),
    "pipes and files": _frames(
        "",
        "echo {s} | kinit bob\n",
        'read -r PASS <<< "{s}"\n',
        "printf '%s' '{s}' > .vault_pass\n",
        "echo {s} | docker secret create db -\n",
        "cat > .token <<EOF\n{s}\nEOF\n",
        "TOKEN=$(echo {s})\n",
    ),
    "functions": _frames(
        "",
        'hmac.new(b"{s}", m)\n',
        'jwt.sign(p, "{s}")\n',
        'jwt.encode(p, "{s}", algorithm="HS256")\n',
        'Fernet("{s}")\n',
        'new SecretKeySpec("{s}".getBytes(), "AES")\n',
        'smtp.login(user, "{s}")\n',
        'token.SignedString([]byte("{s}"))\n',
        'smtp.PlainAuth("", "bob", "{s}", "h")\n',
        'WiFi.begin("home", "{s}");\n',
        "crypto.createHmac('sha256', '{s}')\n",
    ),
    "beside the name": _frames(
        "",
        '"bob","password","{s}"\n',
        '{{"key":"{c}","value":"{s}"}}\n',
        '{{"Name":"{c}","Value":"{s}"}}\n',
        'env("SECRET_KEY", default="{s}")\n',
        '"password" to "{s}"\n',
        "INSERT INTO t VALUES (1, 'api_key', '{s}');\n",
        'resValue "string", "api_key", "{s}"\n',
        'password = """{s}"""\n',
        "<property><name>db.password</name><value>{s}</value></property>\n",
        'const char password[32] = "{s}";\n',
        'std::env::var("API_KEY").unwrap_or("{s}".to_string())\n',
        "passwords:\n  bob: {s}\n  al: x\n",
        'user, password = "bob", "{s}"\n',
    ),
    "a user before it": _frames(
        "",
        'auth = "bob:{s}"\n',
        "http_basic: bob:{s}\n",
        "credentials:\n  - bob:{s}\n",
        "creds: bob:{s}\n",
        "AUTH=bob:{s}\n",
    ),
    "said": _frames(
        "",
        "pw for the server is {s}\n",
        "PIN/password → {s}\n",
        "password -> {s}\n",
        "{s} is the password\n",
        "el token de acceso es {s}\n",
        "le mdp est {s}\n",
        "hasło: {s}\n",
        "пароль: {s}\n",
        "密码是{s}\n",
        "パスワードは {s} です\n",
        "비밀번호: {s}\n",
        "heslo je {s}\n",
        "security_answer: {s}\n",
        "recovery_code: {s}\n",
        "aws_session_token={s}\n",
        "imap_pass={s}\n",
    ),
}
"""Further forms of each class, with random values of letters and digits."""


CONTEXTS: dict[str, Maker] = {
    "yaml": _frames(
        SOME,
        "{i}{n}: {s}{e}",
        "a: 1\n{i}{n}: {s}\nb: 2\n",
        '{i}{n}: "{s}"{e}',
        "{i}{n}: '{s}'  # note{e}",
        "- {n}: {s}\n",
        "{i}{n}: {s} # note\n",
    ),
    "json": _frames(
        SOME,
        '{{"{n}":{g}"{s}"}}{e}',
        '{{\n{i}"{n}": "{s}",\n  "x": 1\n}}\n',
        '{{"user": "{u}", "{n}": "{s}", "port": 5432}}\n',
        '{{\\"{n}\\":{g}\\"{s}\\"}}',
    ),
    "ini": _frames(SOME, "[db]\n{n} = {s}{e}", "[db]\n{n}={s}{e}x=1{e}", "{n}:{g}{s}{e}", "{n} = {s}\n"),
    "toml": _frames(SOME, '{n} = "{s}"{e}', "{n} = '{s}'\n", '[a]\n{i}{n} = "{s}" # note\n'),
    "properties": _frames(SOME, "{n}={s}{e}", "a.b=1\n{n}={s}\n", "{n} = {s}\n"),
    "environment": _frames(
        SOME,
        "{N}={s}{e}",
        "A=1\n{N}={s}\nB=2\n",
        'export {N}="{s}"\n',
        "export {N}={s}\n",
        "{N}='{s}'\n",
        "set {N}={s}\r\n",
        '$env:{N} = "{s}"\n',
        "$env:{N}='{s}'\n",
        "setx {N} {s}\r\n",
        "set -gx {N} {s}\n",
        "{N}={s} ./run.sh\n",
        "docker run -e {N}={s} img\n",
        'declare -x {N}="{s}"\n',
        "env {N}={s} python x.py\n",
    ),
    "dockerfile": _frames(SAFE, "ENV {N} {s}\n", "ENV {N}={s}\n", "ARG {N}={s}\n", 'FROM x\nENV A=1 {N}="{s}"\n'),
    "xml": _frames(
        "!-_~",
        "<{c}>{s}</{c}>\n",
        '<add key="{n}" value="{s}"/>\n',
        '<property name="{n}" value="{s}" />\n',
        '<x {c}="{s}" y="1"/>\n',
        "<{c}><![CDATA[{s}]]></{c}>\n",
        "<key>{n}</key>\n\t<string>{s}</string>\n",
        '<entry key="{n}">{s}</entry>\n',
    ),
    "ruby and php": _frames(
        "!-_~",
        "'{n}' => '{s}',\n",
        ":{c} => '{s}'\n",
        "{c}: '{s}',\n",
        "define('{N}', '{s}');\n",
        "${c} = '{s}';\n",
        'config.{c} = "{s}"\n',
        "putenv('{N}={s}');\n",
        "$config['{n}'] = '{s}';\n",
    ),
    "source code": _frames(
        SOME,
        '{c} = "{s}"\n',
        "{i}self.{c} = '{s}'\n",
        'const {c} = "{s}";\n',
        "let {c} = `{s}`;\n",
        'String {c} = "{s}";\n',
        '{c} := "{s}"\n',
        'var {c} string = "{s}"\n',
        'pub const {N}: &str = "{s}";\n',
        '#define {N} "{s}"\n',
        "connect(host='{h}', {c}='{s}')\n",
        '{c}: "{s}",\n',
        'private static final String {N} = "{s}";\n',
        'static const char *{c} = "{s}";\n',
        'std::string {c}("{s}");\n',
        'let {c} = String::from("{s}");\n',
        'Config{{{c}: "{s}"}}\n',
        '{c}: str = "{s}"\n',
        'os.environ["{N}"] = "{s}"\n',
        'props.setProperty("{n}", "{s}");\n',
        "{c} = SecretStr('{s}')\n",
        'process.env.{N} = "{s}";\n',
        'const char {c}[] = "{s}";\n',
        '{c} = b"{s}"\n',
        'if ({c} == "x") {{ {c} = "{s}"; }}\n',
        "d['{n}'] = '{s}'\n",
        'new Client({{ {c}: "{s}" }})\n',
        'val {c}: String = "{s}"\n',
    ),
    "terraform": _frames(
        SOME,
        '{c} = "{s}"\n',
        'variable "{c}" {{\n  default = "{s}"\n  sensitive = true\n}}\n',
        '"{c}": {{\n  "value": "{s}",\n  "type": "string",\n  "sensitive": true\n}}\n',
        '{i}{c}    = "{s}"\n',
    ),
    "flags": _frames(
        SAFE,
        "tool --{f} {s} run\n",
        "tool --{f}={s} run\n",
        "tool --{f}='{s}'\n",
        'tool --{f} "{s}"\n',
        "java -D{n}={s} -jar x\n",
        "wget --password={s} https://x\n",
        "az login -u {U} --password {s}\n",
        "gpg --batch --passphrase {s} -d x\n",
        "keytool -storepass {s} -list\n",
        "./x.ps1 -Password '{s}'\n",
        "mysql -u root --password={s} db\n",
        "cmdkey /add:srv /user:{U} /pass:{s}\r\n",
        "xfreerdp /u:{U} /p:{s} /v:{h}\n",
        "rdesktop -u {U} -p {s} {h}\n",
    ),
    "curl": _frames(
        SAFE,
        "curl -u {U}:{s} https://{h}/\n",
        "curl -su {U}:{s} https://{h}\n",
        "curl -s -X POST --user {U}:{s} -d x https://{h}\n",
        "curl -u '{U}:{s}' x\n",
        "curl --user={U}:{s} x\n",
        'curl -sSu "{U}:{s}" x\n',
        "curl -H 'X-Api-Key: {s}' x\n",
        'curl -H "Authorization: Bearer {s}" x\n',
        "curl -x p:80 -U {U}:{s} x\n",
        "curl -k -u{U}:{s} https://{h}\n",
        "curl -d 'user={U}&password={s}' x\n",
        "http -a {U}:{s} GET x\n",
        "https --auth {U}:{s} x\n",
        "curl -H 'Authorization: Token {s}' x\n",
        "curl -b 'session={s}' x\n",
    ),
    "commands": _frames(
        SAFE,
        "sshpass -p {s} ssh {U}@{h}\n",
        "sshpass -p'{s}' ssh x\n",
        "sshpass -p{s} scp a b\n",
        "mysql -u root -p{s} db\n",
        "mysqldump -h {h} -u {U} -p'{s}' db > x.sql\n",
        "mariadb -p{s}\n",
        'psql "password={s} host={h}"\n',
        "psql 'host={h} user={U} password={s}'\n",
        "redis-cli -h {h} -a {s} ping\n",
        "docker login -u {U} -p {s} registry.example\n",
        "podman login -p {s} -u x r\n",
        "az login --service-principal -u x -p {s} --tenant y\n",
        "openssl rsa -in k.pem -passin pass:{s}\n",
        "openssl enc -aes-256-cbc -k {s} -in x\n",
        "zip -P {s} x.zip f\n",
        "zip -r -P {s} x.zip f\n",
        "unzip -P {s} x.zip\n",
        "7z x -p{s} a.7z\n",
        "smbclient //s/x -U {U}%{s}\n",
        "ldapsearch -x -D cn=admin -w {s} -b dc=x\n",
        "net user {U} {s} /add\r\n",
        "mongo -u {U} -p {s} --host {h}\n",
        "mongodump --host {h} -u {U} -p {s}\n",
        "sqlcmd -S {h} -U {U} -P {s}\n",
        "plink -pw {s} {U}@{h}\n",
        "mosquitto_pub -u {U} -P {s} -t x\n",
        "htpasswd -b .htpasswd {U} {s}\n",
        "helm registry login -u x -p {s} r\n",
        "echo {s} | sudo -S ls\n",
        "echo '{U}:{s}' | chpasswd\n",
        "echo {s} | docker login --password-stdin\n",
        "PGPASSWORD={s} psql -h {h}\n",
        "rabbitmqctl change_password {U} {s}\n",
        "sudo sshpass -p {s} rsync a b\n",
        "MYSQL_PWD={s} mysql\n",
        "aws configure set aws_secret_access_key {s}\n",
        "vault login {s}\n",
        "lftp -u {U},{s} {h}\n",
        "$p = ConvertTo-SecureString '{s}' -AsPlainText -Force\n",
        'ConvertTo-SecureString -String "{s}" -AsPlainText\n',
        "net use z: \\\\srv\\x {s} /user:{U}\r\n",
    ),
    "headers": _frames(
        SAFE,
        "Authorization: Bearer {s}{e}",
        "authorization: bearer {s}{e}",
        "Authorization: Token {s}\n",
        "Authorization: ApiKey {s}\n",
        "Authorization: {s}{e}",
        "Proxy-Authorization: Bearer {s}{e}",
        "X-Api-Key: {s}{e}",
        "X-Auth-Token:{g}{s}{e}",
        'headers = {{"Authorization": "Bearer {s}"}}\n',
        "PRIVATE-TOKEN: {s}{e}",
        "'Authorization': f'Bearer {s}'\n",
        "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {s}\r\n",
        "X-Vault-Token: {s}\n",
        "Authorization: token {s}\n",
        "x-access-token: {s}\r\n",
        "X-CSRF-Token: {s}\r\n",
    ),
    "cookies": _frames(
        SAFE,
        "Cookie: session={s}{e}",
        "Cookie: theme=dark; sessionid={s}; x=1{e}",
        "Set-Cookie: session={s}; Path=/; HttpOnly{e}",
        "Set-Cookie: connect.sid={s}; Path=/\n",
        "Cookie: PHPSESSID={s}\r\n",
        "cookie: JSESSIONID={s}; a=b\n",
        "Set-Cookie: auth_token={s}; Secure\n",
        "Cookie: _myapp_session={s}\n",
        "document.cookie = 'sessionid={s}; path=/'\n",
    ),
    "netrc": _frames(
        SAFE,
        "machine {h} login {U} password {s}\n",
        "machine {h}\n  login {U}\n  password {s}\n",
        "machine {h}\nlogin {U}\npassword {s}\n\nmachine b\n",
        "default login anonymous password {s}\n",
    ),
    "pgpass": _frames(
        SAFE,
        "{h}:5432:app:bob:{s}\n",
        "*:*:*:postgres:{s}\n",
        "# c\nlocalhost:5432:*:app:{s}\n",
        "{h}:6432:prod:svc:{s}\n",
    ),
    "npmrc and pypirc": _frames(
        SAFE,
        "//registry.npmjs.org/:_authToken={s}\n",
        "_password={s}\n",
        '//r.example/:_password="{s}"\n',
        "[pypi]\nusername = __token__\npassword = {s}\n",
        "[server]\nrepository: https://x\npassword: {s}\n",
        "_authToken={s}\n",
        "//npm.pkg.github.com/:_authToken={s}\n",
    ),
    "addresses": _frames(
        "-_!~.",
        "https://{U}:{s}@{h}/x.git\n",
        "postgres://{U}:{s}@{h}:5432/app\n",
        "DATABASE_URL=postgresql://{U}:{s}@{h}/db\n",
        "redis://:{s}@{h}:6379/0\n",
        "amqp://{U}:{s}@{h}//\n",
        "mongodb+srv://{U}:{s}@{h}/x?retryWrites=true\n",
        'url = "mysql://{U}:{s}@{h}/d"\n',
        "jdbc:postgresql://{h}/d?user=x&password={s}&ssl=true\n",
        "https://x.example/a?api_key={s}&page=2\n",
        "https://x.example/cb?access_token={s}\n",
        "GET /x?token={s} HTTP/1.1\n",
        "https://b.example/c?sv=1&sig={s}&se=2\n",
        "ftp://{U}:{s}@{h}/a\n",
        "smtp://{U}:{s}@{h}:587\n",
        "https://oauth2:{s}@gitlab.example/x.git\n",
        "otpauth://totp/x:y?secret={s}&issuer=x\n",
        "https://x?client_secret={s}&a=b\n",
    ),
    "connection strings": _frames(
        SAFE,
        "Server={h};Database=x;User Id=sa;Password={s};\n",
        '"Data Source={h};Pwd={s};Uid=x"\n',
        "DRIVER={{SQL}};SERVER={h};UID=sa;PWD={s}\n",
        "jdbc:sqlserver://{h};user=sa;password={s};encrypt=true\n",
        "Endpoint=sb://x/;SharedAccessKeyName=R;SharedAccessKey={s}\n",
        "AccountName=x;AccountKey={s};EndpointSuffix=core\n",
        "host={h} port=5432 user=x password={s} dbname=y\n",
        "jdbc:oracle:thin:scott/x; password={s}\n",
    ),
    "ci": _frames(
        SOME,
        "env:\n  {N}: {s}\n",
        "env:\n  - name: {N}\n    value: {s}\n",
        'env:\n  - name: {N}\n    value: "{s}"\n',
        "variables:\n  {N}: '{s}'\n",
        '{{"name": "{N}", "value": "{s}"}}\n',
        "    environment:\n      - {N}={s}\n",
        "environment:\n  {N}: {s}\n",
    ),
    "logs": _frames(
        SAFE,
        "INFO login password='{s}' ok\n",
        "pwd=[{s}] user=x\n",
        "DEBUG token={s}, user={U}\n",
        "params: {{password={s}, user=bob}}\n",
        "connecting with password={s}\n",
        'msg="x" api_key="{s}" n=1\n',
        "Using password: {s}\n",
        "{n}={s}; a=b\n",
        "2024-01-01 INFO {n}: '{s}'\n",
        'Started POST "/login" password="{s}"\n',
        "(password={s})\n",
    ),
    "forms": _frames(
        SAFE,
        "username={U}&password={s}&x=1\n",
        "grant_type=x&client_secret={s}\n",
        "password={s}\n",
        "client_id=1&client_secret={s}&code=2\n",
        'Content-Disposition: form-data; name="password"\r\n\r\n{s}\r\n',
    ),
    "sql": _frames(
        SOME,
        "CREATE USER {U} IDENTIFIED BY '{s}';\n",
        "ALTER USER x WITH PASSWORD '{s}';\n",
        "CREATE ROLE x LOGIN PASSWORD '{s}';\n",
        "GRANT ALL ON *.* TO 'x'@'%' IDENTIFIED BY '{s}';\n",
        "SET PASSWORD FOR 'x' = PASSWORD('{s}');\n",
        "CREATE LOGIN x WITH PASSWORD = '{s}';\n",
        'alter user x identified by "{s}";\n',
        "CREATE USER x PASSWORD '{s}'\n",
        "IDENTIFIED WITH mysql_native_password BY '{s}'\n",
        "create user x with encrypted password '{s}';\n",
    ),
    "prose": _frames(
        "!-",
        "The password is {s}.\n",
        "password: {s}\n",
        "My password is {s}, please log in.\n",
        "the pwd is {s}\n",
        "my api key = {s}\n",
        "use {s} as the password\n",
        'The password is "{s}".\n',
        "Password for the server: {s}\n",
        "my token is {s}\n",
        "log in as {U} with password {s}\n",
        "The admin password is `{s}`.\n",
        "API key: {s}\n",
        "The secret key is {s}\n",
        "credentials: {U} / {s}\n",
        "the password was changed to {s}\n",
        "password is '{s}'\n",
        "Das Passwort lautet {s}.\n",
        "le mot de passe est {s}\n",
        "la contraseña es {s}\n",
        "my passphrase is {s}\n",
        "Login: {U}, password: {s}.\n",
        "The DB password should be {s}\n",
    ),
    "wifi": _frames(
        SAFE,
        'psk="{s}"\n',
        "psk={s}\n",
        "wpa_passphrase={s}\n",
        "wpa_passphrase MyNet {s}\n",
        "nmcli dev wifi connect x password {s}\n",
        'network={{\n  ssid="x"\n  psk="{s}"\n}}\n',
        "WIFI:T:WPA;S:net;P:{s};;\n",
    ),
    "ansible": _frames(
        SOME,
        "host1 ansible_user=x ansible_ssh_pass={s}\n",
        "ansible_become_password: {s}\n",
        "ansible_password: '{s}'\n",
        "host ansible_become_pass={s} x=1\n",
        "vault_db_password: {s}\n",
    ),
    "kubeconfig": _frames(
        SAFE,
        "users:\n- name: x\n  user:\n    token: {s}\n",
        "users:\n- name: x\n  user:\n    username: a\n    password: {s}\n",
        "    client-key-data: {s}{s}\n",
    ),
    "here document": _frames(
        SAFE,
        "cat > .env <<EOF\n{N}={s}\nEOF\n",
        "cat <<'EOF' > x.yml\n{n}: {s}\nEOF\n",
        "mysql <<< \"SET PASSWORD = '{s}'\"\n",
    ),
    "spaces and signs": lambda chance: (
        (value := f"{chance.value()} {chance.choice(['and', '#', ';', '@x', '&'])} {chance.value()}"),
        (
            chance.choice(
                ['password = "{}"\n', "password: '{}'\n", 'DB_PASSWORD="{}"\n', '{{"password": "{}"}}\n']
            ).format(value),
            value,
        ),
    )[1],
    "escaped quote": lambda chance: (
        (a := chance.value()),
        (b := chance.value()),
        (
            chance.choice(['password = "{}\\"{}"\n', '{{"password": "{}\\"{}"}}\n', 'DB_PASSWORD="{}\\"{}"\n']).format(
                a, b
            ),
            b,
        ),
    )[2],
    "signs inside": lambda chance: (
        (value := chance.value() + chance.choice("#;,@&!*?|=") + chance.value()),
        (
            chance.choice(
                ['password = "{}"\n', "DB_PASSWORD={}\n", "password: {}\n", "db.password={}\n", '"password": "{}"\n']
            ).format(value),
            value,
        ),
    )[1],
    "kubernetes": _kubernetes,
    "base64 of lines": _encoded_lines,
    "base64 of a key": _encoded_key,
    "key forms": _key_forms,
    "mnemonic": _mnemonic,
    "backup codes": _backup_codes,
    "joined": _joined,
    "arrays": _arrays,
    "block scalar": _block_scalar,
    "base64 of a login": _encoded_login,
}


def in_contexts(seeds: range, each: int = 4, makers: dict[str, Maker] = CONTEXTS) -> Iterator[Placed]:
    """Return this many cases of every context for each seed."""
    for seed in seeds:
        for kind, make in makers.items():
            for number in range(each):
                text, secret = make(Chance(f"{kind}/{seed}/{number}"))
                yield Placed(kind, kind, text, secret)


def leaks(redacted: str, case: Placed) -> bool:
    """Whether six consecutive letters of a secret remain, or all of a shorter one; marks do not count."""
    from clio.security.redaction.secret_patterns import MARKER

    redacted = MARKER.sub("\0", redacted)
    size = min(6, len(case.secret))
    return any(case.secret[at : at + size] in redacted for at in range(len(case.secret) - size + 1))
