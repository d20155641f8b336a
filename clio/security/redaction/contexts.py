"""Recognize secrets by the file, header or sentence around them: `.netrc`, cookies, "the password is …". Pure."""

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from clio.security.redaction.commands_and_calls import (
    COOKIE,
    MAX_LINE_CHARS,
    POSITIONAL,
    PROGRAMS,
    find_call_spans,
    find_command_spans,
    find_kubernetes_spans,
    find_line_start,
    find_open_manifest,
    find_program,
)
from clio.security.redaction.secret_patterns import (
    CHAIN_STOP,
    FILE_NAME,
    REPETITION,
    Span,
    can_be_secret,
    has_digit,
    is_measure,
    is_passphrase,
    is_random_stretch,
    is_secret_name,
    is_wordlike,
)
from clio.security.redaction.secret_values import is_secret_value
from clio.text.lazy_regex import LazyRegex

# ruff: noqa: E501 - a table of expressions and frames reads better with one a line
# An example shows a text with a match; `…` is a secret value, `\n` a line break.


_LETTERS = bytes(code if chr(code).isascii() and chr(code).isalpha() else 32 for code in range(256))
_FEW_PLACES = 24
"""Largest number of start positions at which a pattern is matched one by one. `search` would also try later positions."""

_ECHOED = r"(?:echo|printf)[ \t]+(?:-[neE]{1,2}[ \t]+|[\"']%s(?:\\n)?[\"'][ \t]+)*(?P<q>[\"']?)(?P<v>[^\s\"'|$]{4,200})(?P=q)[ \t]*"
# Example: echo … | docker login --password-stdin
_PIPED = LazyRegex(
    rf"{_ECHOED}\|[ \t]*(?:sudo[ \t]+(?:-\w+[ \t]+)*?"
    r"(?:-S|--stdin|chpasswd)|chpasswd|(?:sudo[ \t]+)?(?:su|kinit|passwd|smbpasswd|vncpasswd|cryptsetup)[ \t]|passwd[ \t]+--stdin"
    r"|(?:docker|podman)[ \t]+secret[ \t]+create|[^\n|]{1,40}[ \t]secrets?[ \t]+(?:put|create|versions)"
    r"|[^\n|]{1,80}(?:--password-stdin|--passwd-on-stdin|--with-token|--passphrase-fd|-passin stdin))"
)
# Example: echo … > password.txt
_WRITTEN = LazyRegex(
    rf"{_ECHOED}>{{1,2}}[ \t]*[\"']?[^\s\"']{{0,120}}(?:pass|secret|token|key|pwd|credential)[^\s\"']{{0,40}}",
    re.IGNORECASE,
)
# Example: cat > password.txt <<EOF\n…\nEOF
_WRITTEN_DOCUMENT = LazyRegex(
    r"[\w./-]{1,40}[\"']?[ \t]{0,4}<<[-~]?[ \t]?[\"']?(?P<end>\w{1,20})[\"']?\r?\n[ \t]{0,40}(?P<v>[^\s]{4,400})[ \t]{0,8}\r?\n[ \t]{0,40}(?P=end)"
)
# Example: auth: admin:…
_LOGIN_PAIR = LazyRegex(
    r"(?:(?<![a-z])(?:auth|creds?|credentials?|logins?|userpwd|user_pass|accounts?)|http_basic|basic[_-]auth|basicauth|authident|auth_basic_user|stats auth)[\"'`\])]{0,2}[ \t]*(?:[:=]|=>|,|[ \t](?=\w+:\S*\d))"
    r"[ \t]*(?:\r?\n[ \t]*-[ \t]+)?[\[(]?[\"'`]?(?!https?:|[a-z]+://)[A-Za-z][\w.@+-]{1,40}:(?P<v>[^\s\"'`:,;/@][^\s\"'`:,;]{4,120})(?=[\"'`\]),;]{0,3}(?:\s|\Z))",
    re.IGNORECASE,
)
# Example: recovery code: …
_ANSWER = LazyRegex(
    r"(?:security|recovery|backup|access|unlock|activation|pairing|auth|otp|totp|scratch|device)[ _-]?(?:answer|code|seed)s?[\"'`]?[ \t]*(?:[:=]|is|->|→|[ \t](?=[\w-]*\d))[ \t]*(?:\r?\n[ \t]*-[ \t]+)?"
    r"[\"'`]?(?P<v>[^\s\"'`,;<>(){}\[\]]{4,120})(?=[\"'`,;.]{0,2}(?:\s|\Z))",
    re.IGNORECASE,
)
# Example: heslo: …
_OTHER_LANGUAGES = LazyRegex(
    r"(?:mdp|clave|contrase[ñn]a|token de acceso|parola(?: d'ordine)?|password|has[łl]o|heslo|l[öo]senord(?:et)?|adgangskoden?|passordet?|salasana"
    r"|парол[ьяюе]|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|şifre(?:si|niz|m)?|jelsz[óo]|κωδικός|mật khẩu|كلمة المرور|كلمة السر|סיסמה|kata sandi|รหัสผ่าน|पासवर्ड)"
    r"(?:[ \t]+(?:de|der|för|для|del|für|per|pour|do|na)[ \t]+[\w.@-]{1,40}){0,2}(?:[ \t]*[:：=＝—–-]|[ \t]*(?:是|为|為|は|는|은|이|을)|[ \t]+(?:est|es|è|é|to|je|är|er|on|ist|is|là|هي|היא)(?=[ \t]))?[ \t]*[\"'`«「“]?"
    r"(?P<v>[A-Za-z0-9!#$%&*+/=?@^_~.-]{5,120})",
    re.IGNORECASE,
)
# The only word of such a command, and an optional pipe. Output of several words is not piped as a secret.
_PIPED_WORD = r"(?:-[neE]{1,2}[ \t]+|[\"']%s(?:\\n)?[\"'][ \t]+)*(?:[^\s\"'|%][^\s\"'|]{3,200}|\"[^\s\"'|%][^\s\"'|]{3,200}\"|'[^\s\"'|%][^\s\"'|]{3,200}')[ \t]*"
# Example: openssl rsa -passin pass:…
_OPENSSL = LazyRegex(r"(?:-pass(?:in|out)?[ \t]+[\"']?|[ \t\"'])pass:(?P<v>[^\s\"'<>]{4,200})")

_SENTENCE_NAME = (
    r"(?:pass(?:word|wd|phrase|code|wort)s?|pwd?|secret[ _-]key|api[ _-](?:key|token|secret)|access[ _-](?:key|token)|secret|token"
    r"|mot de passe|contraseña|contrasena|kennwort|senha|wachtwoord)"
)
_VERB = r"(?:(?:has been |was |is |be )?(?:re)?(?:set|changed) to|is (?:now|still|actually|currently|just|simply|probably|always|apparently)|used to be|would be|is:|is|was|are|will be|should be|must be|to be|(?:lautet|heißt|heisst|ist)(?: (?:jetzt|nun|aktuell|immer noch))?|est|es|è|é|becomes|equals|=>|=|:|[-=]>|→|—|–)"
SECRET_OF = "for|of|to|on|at|in|für|fürs|der|des|vom|von|zum|pour|de|du|des|para|del|da|do"
"""Words between the name of a secret and what it is for: "the password for staging", "das Kennwort der Datenbank"."""
_BETWEEN = rf"(?:[ \t]+(?:{SECRET_OF})(?:[ \t]+(?:[\w.@'/-]+|'[^'\n]{{1,80}}'|\"[^\"\n]{{1,80}}\")){{1,4}}?)?"
_STATED_VALUE = (
    r"(?:(?P<q>[\"'`“‘«]|\*\*|\*\*`)(?P<qv>[^\s\"'`“”‘’«»*]{4,120})(?=[\"'`”’»*])|(?P<v>[^\s\"'`“”‘’«»<>(\[{]{5,120}))"
)
# Example: the password for staging is …
_SENTENCE = LazyRegex(rf"{_SENTENCE_NAME}[\"'`]?{_BETWEEN}[ \t]*{_VERB}[ \t]+{_STATED_VALUE}", re.IGNORECASE)
_VERB_LAST_BEFORE = rf"(?:pass|kenn)wort[\"'`]?{_BETWEEN}(?:[ \t]+(?:jetzt|nun|aktuell|wurde|wird|auf))*"
# Example: dass das Passwort für staging … lautet
VERB_LAST = LazyRegex(
    rf"{_VERB_LAST_BEFORE}[ \t]+{_STATED_VALUE}[\"'`”’»*]{{0,3}}[ \t]+(?:jetzt[ \t]+|nun[ \t]+)?"
    r"(?:lautete?t?|ist|heißt|heisst|war|gesetzt|geändert|geaendert|setzen|ändern|aendern)(?!\w)",
    re.IGNORECASE,
)
# Example: dass das Passwort für staging …
_OPEN_VERB_LAST = LazyRegex(
    rf"{_VERB_LAST_BEFORE}[ \t]*(?:[^\s<>(\[{{]{{1,120}}(?:[ \t]+\w{{0,9}}){{0,2}})?\Z", re.IGNORECASE
)
# Example: der Zugangscode lautet …
_FOREIGN_KEY = LazyRegex(
    r"(?:(?P<exact>(?:zugangs|zugriffs|sicherheits|freischalt|entsperr|aktivierungs)[ -]?codes?|(?:zugangs|zugriffs)[ -]?tokens?"
    r"|(?:api|geheim|zugangs|zugriffs)[ -]?schl(?:ü|ue)ssel|geheime[rn]?[ \t]+schl(?:ü|ue)ssel|code d['’]acc[eè]s|c[oó]digo de acc?es[so]o?"
    r"|cl[eé](?: d['’]| )?(?:api|secr[eè]te|acc[eè]s|priv[eé]e)|(?:clave|chave)(?: de(?: la)?| da)? (?:api|acc?es[so]o|secreta|privada))"
    rf"|schl(?:ü|ue)ssel|geheimnis){_BETWEEN}[ \t]*{_VERB}[ \t]+{_STATED_VALUE}",
    re.IGNORECASE,
)
# Example: … is the new password
VALUE_BEFORE_NAME = LazyRegex(
    rf"is[ \t]+(?:the|my|your|our|his|her|their)[ \t]+(?:new[ \t]+|old[ \t]+)?(?:[\w-]+[ \t]+){{0,2}}?{_SENTENCE_NAME}",
    re.IGNORECASE,
)
_LAST_WORD = LazyRegex(r"(?P<q>[\"'`]?)(?<![^\s\"'`])(?P<v>[^\s\"'`]{6,120})(?P=q)[ \t]+\Z")
# Example: log in with password …
_WITH = LazyRegex(
    rf"(?:password|passphrase|pwd|passwd|passcode|(?:api|access|secret)[ _-]key|token|secret)[ \t]+{_STATED_VALUE}",
    re.IGNORECASE,
)
_WITH_BEFORE = LazyRegex(
    r"(?i:\b(?:with|using|and|the|use|try|/|,|login [\w.@-]+|user(?:name)? [\w.@-]+|account [\w.@-]+)[ \t]+"
    r"(?:(?:the|my|your|this|that|new|old|api|access|client|secret|auth)[ \t]+){0,3})\Z"
)
# Example: use … as the password
_AS = LazyRegex(
    r"(?:\buse|\btry|\btype|\benter|\bset)[ \t]+(?P<q>[\"'`]?)(?P<v>[^\s\"'`]{5,120})(?P=q)[ \t]+(?:as|for)[ \t]+"
    rf"(?:the[ \t]+|your[ \t]+|my[ \t]+|a[ \t]+)?(?:\w+[ \t]+)?{_SENTENCE_NAME}",
    re.IGNORECASE,
)
# Example: credentials: admin / …
_CREDENTIALS = LazyRegex(
    r"(?:credentials|creds|logins?|zugangsdaten|identifiants|credenciales|(?:user(?:name)?|login|u)/(?:pass(?:word|wd)?|pw|p))[ \t]*(?:are|is|sind|sont|son|:|[ \t])[ \t]*(?:user[ \t]+)?[\w.@+-]{2,60}[ \t]*[/:][ \t]*"
    r"(?P<v>[^\s\"'`/]{5,120})",
    re.IGNORECASE,
)
# Example: user: admin, pass: …
_USER_AND_PASSWORD = LazyRegex(
    r"(?:\b(?:u|user|login):?[ \t]+[\w.@+-]{2,60},?[ \t]+(?:p|pw|pass):?[ \t]+)(?P<v>[^\s\"'`]{5,120})", re.IGNORECASE
)
# Example: the password is
_OPEN_SENTENCE = LazyRegex(
    rf"{_SENTENCE_NAME}[\"'`]?(?:[ \t]+(?:{SECRET_OF})(?:[ \t]+[\w.@'/-]+){{1,4}}?)?[ \t]*"
    rf"(?:{_VERB}|should|must|will|to|has(?:[ \t]+been)?(?:[ \t]+(?:re)?(?:set|changed))?|(?:was|is|be)[ \t]+(?:re)?(?:set|changed|now))[ \t]*(?:[\"'`“‘«*]{{1,3}})?\Z"
    r"|(?:credentials|logins?)[ \t]*(?:are|is|:)[ \t]+[\w.@+-]{0,60}[ \t]*[/:,]?[ \t]*\Z",
    re.IGNORECASE,
)
# Example: log in with the password
_OPEN_WITH = LazyRegex(
    r"(?:with|using|and|the|/|,|use|try|login [\w.@-]+|user(?:name)? [\w.@-]+|account [\w.@-]+)[ \t]+(?:(?:the|my|your|this|that|new|old|api|access|client|secret|auth)[ \t]+){0,3}"
    r"(?:password|passphrase|pwd|passwd|passcode|(?:api|access|secret)[ _-]key|token|secret)[ \t]+\Z",
    re.IGNORECASE,
)
# Example: use … as the
OPEN_OFFER = LazyRegex(
    r"(?:\buse|\btry|\btype|\benter|\bset)[ \t]+(?=\S{0,120}[0-9!#$%^&*?@-])\S{5,120}(?:[ \t]+(?:as|for)(?:[ \t]+\w+){0,2})?\s*\Z",
    re.IGNORECASE,
)
# Example: CREATE USER admin IDENTIFIED BY '…'
_SQL = LazyRegex(
    r"(?:identified[ \t]+(?:with[ \t]+\S{1,40}[ \t]+)?by(?:[ \t]+(?:password|values))?|(?:with|login|role[ \t]+\w+|user[ \t]+\S+|encrypted|superuser)[ \t]+"
    r"(?:encrypted[ \t]+|unencrypted[ \t]+)?password|set[ \t]+password[^\n]{0,80}?=[ \t]*(?:password\()?)[ \t]{0,4}=?[ \t]{0,4}N?(?P<q>['\"])(?P<v>(?:(?!(?P=q))[^\n\\]|\\[^\n]){3,200})(?P=q)",
    re.IGNORECASE,
)
# Example: identified by …;
_SQL_BARE = LazyRegex(r"identified[ \t]+by[ \t]+(?P<v>[^\s\"'`;,()<>]{5,120})(?=;|[ \t]|\s*\Z)", re.IGNORECASE)
# Example: Authorization: Bearer …
_HEADER = LazyRegex(
    r"(?:proxy-)?authorization[\"']?\]?[ \t]*(?:(?::|=>|=|,)[ \t]*(?:[a-z](?=[\"'`]))?|(?=\"))[\"'`]?(?:(?:bearer|basic|token|apikey|api-key|key|digest|negotiate|oauth|jwt|hawk|aws4-hmac-sha256"
    r"|bot|ghtoken|splunk|genie-?key|ssws)[ \t:=]+)?(?:token=)?[\"']?(?P<v>[^\s\"'`,;]{5,4000})",
    re.IGNORECASE,
)
# Example: machine example.com login admin password …
_LOGIN = LazyRegex(
    r"logins?(?:[ \t]*(?:are|is|:)[ \t]+[\w.@+-]{2,60}[ \t]*[/:,][ \t]*(?P<v>[^\s\"'`]{5,120})|[ \t]+\S{1,200}\s{1,40}(?:account[ \t]+\S{1,200}\s{1,40})?password[ \t]+(?P<qv>\S{1,200}))"
)
# Example: machine example.com login admin password
_OPEN_NETRC = LazyRegex(
    r"\blogin(?:[ \t]+\S{0,200}(?:\s{1,40}(?:a?c?c?o?u?n?t?[ \t]*\S{0,200}\s{1,40})?(?:p[a-z]{0,7}[ \t]{0,4}\S{0,200})?)?)?\Z"
)
# Example: localhost:5432:app:admin:…
_PGPASS = LazyRegex(
    r"(?<![^\n])(?:[\w.-]{1,120}|\*):(?:\d{4,5}|\*):(?:[\w.-]{1,60}|\*):(?:[\w.@-]{1,60}|\*):(?P<v>[^\s:]{4,200})(?=\r?(?:\n|\Z))"
)
# Example: ConvertTo-SecureString "…"
_SECURE_STRING = LazyRegex(r"(?i:ConvertTo-SecureString)[ \t]+(?:-String[ \t]+)?[\"'](?P<v>[^\"'\n]{4,200})[\"']")
# Example: WIFI:S:home;T:WPA;P:…;
_WIFI = LazyRegex(r"WIFI:[^\s\"']{0,120}?;P:(?P<v>(?:[^;\s\\]|\\.){4,100});")
# Example: form-data; name="password"\n\n…
_FORM = LazyRegex(
    r"form-data; name=\"[\w.-]{0,40}(?:password|passwd|secret|token|api_?key)\"\r?\n(?:[\w-]+:[^\n]*\n)?\r?\n(?P<v>[^\s]{4,200})"
)
_USER = r"[\"'][^\"'\n]{0,120}[\"']"
# Example: HTTPBasicAuth("admin", "…")
_CALL_WITH_LOGIN = LazyRegex(
    r"(?:(?:set_?|http_?|request_?)?basic_?auth(?:entication|orization)?|auth|networkcredential|digest_?auth|usernamepasswordcredentials?(?:token)?"
    r"|passwordauthentication|password_?authenticator|credentials)"
    rf"(?:[ \t]{{0,2}}=[ \t]{{0,2}})?(?:\([ \t]{{0,4}}|[ \t]{{1,4}})(?:&|String::from\()?{_USER}\)?[ \t]{{0,4}},\s{{0,40}}"
    r"(?:Some\(|String::from\(|&)?[@$]?[\"'](?P<v>[^\"'\n]{4,200})[\"']"
    rf"|(?:mysqli?_(?:p?connect|real_connect)|new[ \t]+(?:mysqli|pdo)|pg_connect|odbc_p?connect|oci_p?connect|ldap_bind|ftp_login|ssh2_auth_password"
    r"|drivermanager\.getconnection|dbi[ \t]*->[ \t]*connect|pymysql\.connect|mysqldb\.connect)[ \t]*"
    rf"\((?:[^,()\"'\n]{{0,80}}|{_USER}),\s{{0,40}}(?:{_USER},\s{{0,40}})?(?:{_USER}),\s{{0,40}}[\"'](?P<qv>[^\"'\n]{{4,200}})[\"']"
    rf"|(?:mysqli?_(?:p?connect|real_connect)|new[ \t]+mysqli|drivermanager\.getconnection|dbi[ \t]*->[ \t]*connect|new[ \t]+pdo|oci_p?connect|odbc_p?connect)[ \t]*"
    r"\([^,()\"'\n]{1,80},\s{0,40}[$\w]{1,40},\s{0,40}[\"'](?P<w>[^\"'\n]{4,200})[\"']",
    re.IGNORECASE,
)
# Example: requirepass …
_SETTING = LazyRegex(
    r"(?:requirepass|masterauth|bindpw|rootbindpw|rootpw(?:[ \t]+--(?:plaintext|iscrypted|allow-ssh))*|crypto[ \t]+(?:isakmp|ikev[12])[ \t]+key|SQLConnectInfo[ \t]+\S+[ \t]+\S+|snmp-server[ \t]+community|wpa-psk|tls-auth-pass|rocommunity6?|rwcommunity6?|userPassword:?|ldapbindpassword|key-string)[ \t]+"
    r"(?:[057][ \t]+)?[\"']?(?P<v>[^\s\"']{4,200})[\"']?(?=[ \t]*\r?(?:\n|\Z)|[ \t]+r[ow]\b|[ \t]+\d+\b|[ \t]+(?:address|hostname)\b)",
    re.IGNORECASE,
)
# Example: jdbc:oracle:thin:admin/…@host
_ORACLE = LazyRegex(r"jdbc:oracle:(?:thin|oci8?):[\w.$-]{1,60}/(?P<v>[^\s@\"'/]{3,120})@", re.IGNORECASE)
# Example: example.com\tTRUE\t/\tTRUE\t0\tsessionid\t…
_COOKIE_LINE = LazyRegex(
    r"\t(?:TRUE|FALSE)\t/[^\t\n]{0,200}\t(?:TRUE|FALSE)\t\d{1,20}\t[\w.%-]{0,60}(?:sess|sid|auth|token|jwt|login|csrf)[\w.%-]{0,60}\t(?P<v>[^\s]{6,2000})",
    re.IGNORECASE,
)
# Example: connect.sid=…
_COOKIE_VALUE = LazyRegex(r"connect\.sid=(?P<v>[^\s;,\"'&]{6,2000})", re.IGNORECASE)
# Example: --from-literal=password=…
_FROM_LITERAL = LazyRegex(r"--from-literal[= ][\"']?[\w.-]{1,100}=(?P<v>[^\s\"']{4,1000})")
# Example: winrs -r:host -u:admin -p:…
_WINRS = LazyRegex(
    r"\bwinrs(?:\.exe)?[ \t][^\n]{0,200}?[ \t][-/]p(?:assword)?:[\"']?(?P<v>[^\s\"']{4,200})", re.IGNORECASE
)
# Example: set the password to …
_SET_TO = LazyRegex(
    rf"\b(?:re)?(?:set|chang(?:e|ed|ing)|updated?)[ \t]+(?:the|my|your|our|its|his|her|their)?[ \t]*(?:\w+[ \t]+){{0,2}}?{_SENTENCE_NAME}(?:[ \t]+(?:for|of|on|from)(?:[ \t]+[\w.@'/-]+){{1,4}}?)?"
    rf"[ \t]+to[ \t]+{_STATED_VALUE}",
    re.IGNORECASE,
)
# Example: log in as admin / …
_LOG_IN_AS = LazyRegex(
    r"\b(?:log(?:ged)?[ -]?in|sign(?:ed)?[ -]?in|connect|authenticate)[ \t]+(?:as|with|using)[ \t]+[\w.@+-]{2,60}[ \t]*/[ \t]*(?P<v>[^\s\"'`]{5,120})",
    re.IGNORECASE,
)
# Example: send "…\\r"
_SENT = LazyRegex(
    r"\b(?:send|exp_send|sendline|send_line|send_password)[ \t]*(?:\([ \t]*|[ \t](?:--[ \t]+)?)[bru]?[\"'](?P<v>(?:[^\s\"'$\\]|\\[^rn\s]){4,200})(?:\\[rn]){0,2}[\"']"
)
# Example: expect "password:"\n
_PASSWORD_PROMPT = LazyRegex(r"(?i:assword|assphrase|passcode|PIN\b)[^\n]{0,120}(?:\n[^\n]{0,80}){0,3}\Z")
# Example: : PSK "…"
_IPSEC = LazyRegex(r":[ \t]+(?:PSK|EAP|XAUTH|NTLM|PIN)[ \t]+[\"'](?P<v>[^\"'\n]{4,200})[\"']", re.IGNORECASE)
# Example: <auth-user-pass>\nadmin\n…\n
_INLINE_LOGIN = LazyRegex(r"<auth-user-pass>[ \t]*\r?\n[^\n]{1,120}\n[ \t]*(?P<v>[^\s<][^\n<]{3,200}?)[ \t]*\r?\n")
# Example: chpasswd:\n  list: |\n    admin:…
_CHPASSWD = LazyRegex(
    r"chpasswd:[ \t]*\r?\n(?:[ \t]{1,20}(?:expire|list)[^\n]{0,60}\n){0,3}[ \t]{1,20}(?:-[ \t]+)?[\"']?[\w.-]{1,40}:(?P<v>[^\s\"']{4,200})"
)
# Example: ["curl", "-u", "admin:…"]
_LISTED_LOGIN = LazyRegex(
    r"[\"'](?:-u|-U|--user|--proxy-user|-a|--auth)[\"'],\s{0,20}[fbru]?[\"'][\w.@+-]{1,60}:(?P<v>[^\s\"'{}$]{4,200})[\"']"
)
# Example: user = "admin:…"
_LOGIN_SETTING = LazyRegex(r"(?:proxy-)?user[ \t]{0,4}[=:][ \t]{0,4}\"[\w.@+-]{1,60}:(?P<v>[^\s\"]{4,200})\"")
# Example: passwd/root-password password …
_PRESEED = LazyRegex(
    r"(?:root-|user-)?password(?:-again|-crypted)?[ \t]+password[ \t]+(?P<v>[^\s]{4,200})(?=[ \t]*\r?(?:\n|\Z))"
)
# Example: /msg NickServ IDENTIFY …
_IDENTIFY = LazyRegex(r"nickserv[ \t]+:?identify[ \t]+(?:[\w-]{1,40}[ \t]+(?=\S))?(?P<v>[^\s]{4,120})", re.IGNORECASE)
# Example: {"value": "…", "name": "DB_PASSWORD"}
_VALUE_FIRST = LazyRegex(
    r"\s?\\{0,2}[\"']?\bvalue\\{0,2}[\"']?[ \t]{0,2}[:=][ \t]{0,4}(?P<q>\\{0,2}[\"'])(?P<v>[^\"'\n\\]{4,400})(?P=q),?\s{1,40}\\{0,2}[\"']?(?:name|key|id)\\{0,2}[\"']?"
    r"[ \t]{0,2}[:=][ \t]{0,4}\\{0,2}[\"'](?P<name>[\w.:-]{2,100})\\{0,2}[\"']",
    re.IGNORECASE,
)
# Example: https://example.com/?sig=…
_SIGNATURE = LazyRegex(r"[?&]sig=(?P<v>[^\s&\"'#]{8,400})")
_PPK = LazyRegex(r"Private-Lines:[ \t]*\d+\r?\n(?P<v>(?:[A-Za-z0-9+/=]{1,80}\r?\n){1,80})")
_SEED = LazyRegex(
    r"(?:mnemonic|(?:seed|recovery|backup|secret)[ _-]?(?:phrase|words))[\w]{0,12}[\"'`]?(?:[ \t]+(?:is|are|was))?[ \t]*[:=]?[ \t]*\n?[ \t]*[\"'`]?"
    r"(?P<v>[a-z]{3,8}(?:[ \t]{1,4}[a-z]{3,8}){11,23})(?![ \t]*[a-z])",
    re.IGNORECASE,
)
_CODES = LazyRegex(
    r"(?:backup|recovery|scratch|2fa|rescue)[ _-](?:[a-z]+[ _-])?codes?\b[^\n]{0,40}[:=][ \t]*(?P<v>(?:\n?[ \t]*(?:[-*•]|\d{1,2}[.)])?[ \t]*[\"'`]?"
    r"(?=[a-z0-9]{0,20}[0-9]|[a-z0-9]{4,10}-)[a-z0-9]{4,40}+(?:-[a-z0-9]{4,40}+){0,4}[\"'`]?,?){2,20})",
    re.IGNORECASE,
)


def find_context_spans(text: str, lowered: str, names: Iterable[tuple[int, str]]) -> Iterator[Span]:
    """Yield the secrets recognized by the command, call, sentence, header or document around them.

    Args:
        lowered: the text in lower case, with every character at the same position.
        names: the result of `assignments.find_name_places` for the text.
    """
    words = split_words(lowered)
    yield from find_command_spans(text, words)
    yield from find_call_spans(text, lowered, words)
    if not words.isdisjoint(("password", "passphrase", "passwort", "token", "secret", "key", "pwd")):
        yield from _find_spans_before_name(text, lowered)
    for place, word in names:
        for form, before in _FORMS_OF_NAMES.get(word, ()):
            if (
                place < before
                or (form.words and words.isdisjoint(form.words))
                or not lowered.startswith(form.needles, place - before)
            ):
                continue
            needle = next((each for each in form.needles if lowered.startswith(each, place - before)), None)
            if needle is not None and (
                not form.behind
                or lowered[place - before + len(needle) : place - before + len(needle) + 1] in form.behind
            ):
                yield from _find_form(text, lowered, form, place - before, place - before + len(needle))
    for form in OTHER_FORMS if text.isascii() else (*OTHER_FORMS, *FOREIGN_FORMS):
        if form.words and words.isdisjoint(form.words):
            continue
        for needle in form.needles:
            place = lowered.find(needle)
            while place >= 0:
                yield from _find_form(text, lowered, form, place, place + len(needle))
                place = lowered.find(needle, place + len(needle))
    if "Secret" in text and "kind" in text:
        yield from find_kubernetes_spans(text)
    if "cookie" in lowered:
        yield from _find_cookie_spans(text, lowered)


def split_words(lowered: str) -> frozenset[str]:
    """Return all runs of letters in lower-case text."""
    return frozenset(lowered.encode("latin-1", "replace").translate(_LETTERS).decode("ascii").split())


def _find_spans_before_name(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values that a sentence states before their name: "X is the password"."""
    for needle in (" is the ", " is my ", " is your ", " is our "):
        place = lowered.find(needle)
        while place >= 0:
            if VALUE_BEFORE_NAME.match(text, place + 1) and (
                match := _LAST_WORD.search(text, max(0, place - 130), place + 1)
            ):
                value = match["v"]
                if can_be_stated_value(value) and _is_sentence_secret(value, text, match):
                    yield Span(match.start("v"), match.end("v"), "password", 310)
            place = lowered.find(needle, place + 4)


def can_be_stated_value(word: str) -> bool:
    """Whether a word may be the value in "X is the password"."""
    return (
        6 <= len(word) <= 120
        and (has_digit(word) or word.count("-") > 1 or is_passphrase(word))
        and can_be_secret(word)
        and not is_measure(word)
        and (not is_wordlike(word, digits=True) or (word[0].isalpha() and not any(sign in word for sign in "./:_")))
    )


def _find_form(text: str, lowered: str, form: "Form", place: int, end: int) -> Iterator[Span]:
    """Yield the secret that a form indicates. place, end: span of one of its needles in the text."""
    if form.back:
        at = max(0, place - form.back, text.rfind("\n", max(0, place - form.back), place) + 1)
        if form.needs:
            window = lowered[at:place]
            for group in form.needs:
                if not any(part in window for part in group):
                    return
        limit = min(len(text), end + MAX_LINE_CHARS)
        if place - at <= _FEW_PLACES:
            tried = (form.pattern.match(text, start, limit) for start in range(at, place + 1))
            match = next((each for each in tried if each), None)
        else:
            match = form.pattern.search(text, at, limit)
    else:
        match = form.pattern.match(text, place)
    if match is None:
        return
    groups = match.groupdict()
    name = next(each for each in ("qv", "w", "v") if groups.get(each) or each == "v")
    value = match[name]
    if name == "v" and not form.whole:
        value = value.rstrip(".,;:!?)]}")
    if form.check(value, text, match):
        yield Span(
            match.start(name), match.start(name) + len(value), form.kind, 202 if form.kind == "authorization" else 310
        )


def find_open_context(text: str, end: int) -> int | None:
    """Return where a command, sentence or document begins that may contain a secret after `end`; None for nowhere."""
    begin = max(0, end - MAX_LINE_CHARS)
    line = find_line_start(text, end, begin)
    found: list[int] = []
    tail = text[line:end]
    if not PROGRAMS.keys().isdisjoint(_NAMES.findall(tail)) and (program := find_program(tail)) is not None:
        found.append(line + program)
    low = tail.lower()
    for needle, pattern in _OPEN_LINES:
        place = low.find(needle)
        if place >= 0 and (match := pattern.search(tail)):
            found.append(line + match.start())
    near = max(line, end - _SENTENCE_CHARS)
    for needles, pattern in _OPEN_SENTENCES:
        places = [place for needle in needles if (place := low.find(needle, near - line)) >= 0]
        if places and (match := pattern.search(text, max(near, line + min(places) - _NAME_BEFORE), end)):
            found.append(match.start())
    place = text.rfind("login", max(0, end - 2 * MAX_LINE_CHARS), end)
    if place >= 0 and (match := _OPEN_NETRC.search(text, max(0, place - 12), end)):
        found.append(match.start())
    document = find_open_manifest(text, end)
    if document is not None:
        found.append(document)
    return min(found, default=None)


def has_context_sign(low: str) -> bool:
    """Whether a lower-case line may contain a document, header or other form whose secret follows."""
    return _CONTEXT_SIGN.search(low) is not None


def has_program_sign(line: str, low: str, begun: int) -> bool:
    """Whether a line may contain the name of a program, followed by something that may be its option for a secret."""
    new = low[max(0, begun - 24) :]
    if " -" not in new and "/p" not in new and not any(sign in new for sign in POSITIONAL):
        return False
    words = frozenset(_NAMES.findall(line))
    return any(
        not program.needs or not words.isdisjoint(program.needs) or any(option in words for option in program.login)
        for program in map(PROGRAMS.get, words)
        if program
    )


def is_secret_taking_program(word: str) -> bool:
    """Whether a lower-case word is the name of a program that accepts a secret."""
    bare = word.strip("`'\"$()|;&>").rpartition("/")[2]
    return bare in _BEGINNING_WORDS or (
        len(bare) <= 64 and not bare.isalnum() and _LAST_NAME.sub("", bare) in _BEGINNING_WORDS
    )


CONTEXT_BEGINNINGS = ("apiversion", "kind:", '"kind', "cookie", "data:", "insert", "replace")
"""Beginnings of contexts; the last two only at the end of a word."""
_LAST_NAME = LazyRegex(r".*[\"'`(=\[{$,]")
_BEGINNING_WORDS = frozenset((*PROGRAMS, "echo", "printf"))
_CONTEXT_SIGN = LazyRegex(
    r"apiversion|(?<![a-z0-9_-])kind\\{0,2}[\"']?:|cookies?[\"']?[ \t]*[:=,]|(?:insert|replace)[ \t][^\n]{0,20}into[ \t]+[\w.\"`\[\]]{1,80}[ \t]{0,4}\("
    r"|(?:\A|\n)[ \t-]*(?:data|stringdata|encrypteddata):[ \t]*\r?\n"
)
PIPED_WORD = LazyRegex(rf"(?:\A|[\n;|&$>(`][ \t]*)(?:echo|printf)[ \t]+{_PIPED_WORD}(?:[|>][^\n]{{0,100}}(?:\n|\Z)|\Z)")
"""The only word of a command that may write a secret into a pipe, at the end of lower-case text."""
OPEN_PIPE_COMMAND = LazyRegex(r"(?:echo|printf)[ \t]+(?:-[neE]{1,2}[ \t]+|[\"']%s(?:\\n)?[\"'][ \t]+)*\Z")
_NAMES = LazyRegex(r"[A-Za-z0-9_.-]+")
SENTENCE_AFTER_NAME = rf"(?:words?|wd|phrase|code|wort|[ _-]key|ña|na|e)?[\"'`]?(?:[ \t]+(?:{SECRET_OF})(?:[ \t]+[\w.@'/-]+){{1,4}}?)?[ \t]*(?:{_VERB})(?=[ \t])"
"""What follows the name in a sentence that may state the secret, in lower case."""


def _is_plain_secret(value: str, text: str, match: re.Match[str]) -> bool:
    return can_be_secret(value)


def _is_sentence_secret(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether the value in a sentence is a secret: no ordinary word, unless quoted or three words joined."""
    before = text[max(0, match.start() - 1) : match.start()]
    if (before.isalpha() or before == "-") and match[0][:8].lower() in ("passwort", "kennwort"):
        before = ""  # "Datenbankpasswort", "WLAN-Passwort"
    return not (before.isalnum() or before in ("_", "-", ".", "$")) and _is_stated_secret(value, text, match)


def _is_stated_secret(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether the value in a sentence is a secret, whatever is before its name."""
    if not can_be_secret(value):
        return False
    if value.startswith(("http", "/", "-", "%", "$", "=", "|", ":", "#", "!")) or any(
        sign in value for sign in ("(", "=>", "::", "->", "<")
    ):
        return False
    if value.isdigit() and 6 <= len(value) <= 12 and _A_PASSWORD.search(match[0]):
        return True
    if REPETITION.match(value):
        return False  # the token of a grammar
    quoted = match.groupdict().get("qv") is not None
    if not quoted and text[match.end() : match.end() + 1] in ("(", "["):
        return False  # a function call
    if is_wordlike(value):
        chain = value.split("-")
        return (
            is_passphrase(value)
            or (
                quoted
                and len(value) >= 8
                and value.islower()
                and _PASSWORD_IS.search(match[0]) is not None
                and is_passphrase(f"{value}-abcd", 2)
            )
            or (
                len(chain) >= 3
                and value.islower()
                and all(len(part) >= 4 for part in chain)
                and not CHAIN_STOP.intersection(chain)
            )
        )
    if not is_wordlike(value, digits=True):
        return (
            len(value) >= 6
            and not is_measure(value)
            and value.isascii()
            and (has_digit(value) or _is_random_letters(value) or quoted or _SIGN.search(value[:-1]) is not None)
        )
    return (
        has_digit(value)
        and value[0].isalpha()
        and len(value) >= 6
        and not is_measure(value)
        and not any(sign in value for sign in "./:_")
    )


def _is_random_letters(value: str) -> bool:
    """Whether a value consists of letters and dashes, and is long or contains capitals."""
    return value.replace("-", "").isalpha() and (len(value) >= 8 or not value.islower())


_SIGN = LazyRegex(r"[A-Za-z0-9][!#$%^&*?@~][A-Za-z0-9]")
_A_PASSWORD = LazyRegex(r"(?i:pass|pwd|\bpw\b|kennwort|contrase|senha|wachtwoord)")
_PASSWORD_IS = LazyRegex(
    r"(?i:pass|pwd|pw\b|kennwort|contrase|senha|wachtwoord).*\s(?:is|was|to|be|ist|lautet|est|es)\s"
)


def _find_cookie_spans(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of session cookies in lines with the word "cookie"."""
    place = lowered.find("cookie")
    read = 0  # examined up to here
    while place >= 0:
        end = text.find("\n", place)
        end = min(len(text) if end < 0 else end, place + 4096)
        if lowered[place + 6 : place + 12].lstrip("\"'s ").startswith((":", "=", ",")):
            begin, read = max(place + 6, read), max(end, read)
            for match in COOKIE.finditer(text, begin, end):
                if can_be_secret(match["v"]) and (
                    not is_wordlike(match["v"]) or match["v"].count("-") > 1 or is_passphrase(match["v"])
                ):
                    yield Span(match.start("v"), match.end("v"), "cookie", 311)
        place = lowered.find("cookie", place + 6)


_Check = Callable[[str, str, re.Match[str]], bool]


def _is_header_secret(value: str, text: str, match: re.Match[str]) -> bool:
    before = text[match.start("v") - 1 : match.start("v")]
    if "," in match[0] and _SCHEME.search(match[0]) is None:
        return False  # a list of headers
    if (
        not can_be_secret(value)
        or (is_wordlike(value) and value.count("-") < 2 and not is_passphrase(value))
        or "(" in value
        or value.startswith(("$", "%", "{", "'", "+", "!"))
    ):
        return False
    if is_wordlike(value, digits=True):
        return is_passphrase(value) or (
            len(value) >= 6 and "." not in value and ("_" not in value or (value[-2:].isdigit() and " " in match[0]))
        )
    return (
        before in " \t\"'`:="
        and (has_digit(value) or len(value) >= 8)
        and not any(sign in value for sign in "{}<>()[]")
    )


def _is_login_secret(value: str, text: str, match: re.Match[str]) -> bool:
    return can_be_secret(value) if match["qv"] else _is_sentence_secret(value.rstrip(".,;"), text, match)


def _is_call_secret(value: str, text: str, match: re.Match[str]) -> bool:
    return (
        can_be_secret(value)
        and not any(char.isspace() for char in value)
        and (not is_wordlike(value) or value.count("-") > 1 or is_passphrase(value))
    )


def _is_setting_secret(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether a setting at the start of a line has a secret value, and is not followed by words of a sentence."""
    line = text.rfind("\n", max(0, match.start() - 80), match.start()) + 1
    return (
        can_be_secret(value)
        and not text[line : match.start()].strip()
        and (not is_wordlike(value) or value.count("-") > 1 or is_passphrase(value))
    )


def _is_piped_secret(value: str, text: str, match: re.Match[str]) -> bool:
    return can_be_secret(value.rpartition(":")[2])


def _is_pair_secret(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether the second half of `user:value` is a password."""
    return (
        can_be_secret(value)
        and (
            has_digit(value)
            or value.count("-") > 1
            or (value.isalpha() and not is_wordlike(value))
            or is_passphrase(value)
        )
        and not value.isdigit()
        and "(" not in value
        and not is_measure(value)
    )


def _is_answer_secret(value: str, text: str, match: re.Match[str]) -> bool:
    return (
        can_be_secret(value) and has_digit(value) and not is_measure(value) and not value.isdigit() and "." not in value
    )


def _is_foreign_secret(value: str, text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 1) : match.start()]
    return (
        (has_digit(value) or value.count("-") > 1)
        and (value.isdigit() or _is_sentence_secret(value, text, match))
        and (not before.isascii() or not before.isalnum())
    )


def _is_foreign_key(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether a sentence in another language states a secret key; "Schlüssel" and "Geheimnis" alone need a random one."""
    return _is_stated_secret(value, text, match) and (match["exact"] is not None or is_random_stretch(value))


_SCHEME = LazyRegex(r"bearer|basic|token|key|digest", re.IGNORECASE)


def _is_address_secret(value: str, text: str, match: re.Match[str]) -> bool:
    return can_be_secret(value) and not is_wordlike(value)


def _is_pgpass_secret(value: str, text: str, match: re.Match[str]) -> bool:
    host, port = match[0].split(":")[:2]
    return (
        can_be_secret(value)
        and not FILE_NAME.search(host)
        and (port in ("*", "5432", "5433", "6432") or not is_wordlike(value))
    )


def _is_typed_secret(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether text that a script sends is a secret: any text after a password prompt, otherwise only random-looking text."""
    if not can_be_secret(value) or "/" in value[:2]:
        return False
    if _PASSWORD_PROMPT.search(text, max(0, match.start() - 300), match.start()):
        return value.lower() not in ("yes", "exit", "quit", "enable", "logout", "interact")
    return match[0][-3:-2] == "\\" and is_random_stretch(value) and not is_wordlike(value, digits=True)


def _is_secret_before_name(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether a value written before its name belongs to the name of a secret."""
    return is_secret_name(match["name"]) and is_secret_value(value, match["name"], "quoted", True)


class Form(Struct, frozen=True):
    """One way in which a text indicates that a secret follows.

    Attributes:
        needles: lower-case literals, one of which the form contains.
        pattern: the whole form; its group `qv`, `w` or `v` is the value.
        check: whether the value is a secret.
        kind: shown in place of the secret.
        behind: characters, one of which must follow the needle; empty for any text.
        back: how far before the needle, in characters, the form may begin; 0 if it begins with the needle.
        whole: keep punctuation at the end of the value; otherwise full stops, commas, brackets and the like are cut off.
        needs: groups of lower-case literals; one of each group must precede the needle.
        words: runs of letters, one of which the text must contain; empty for no such test.
    """

    needles: tuple[str, ...]
    pattern: re.Pattern[str] | LazyRegex
    check: _Check
    kind: str = "password"
    behind: tuple[str, ...] = ()
    back: int = 0
    whole: bool = False
    needs: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()


def _is_with_secret(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether "with password X" states a secret: only if X is no ordinary word."""
    before = _WITH_BEFORE.search(text, max(0, match.start() - 60), match.start())
    if before is None or not _is_sentence_secret(value, text, match):
        return False
    if match[0][:1].lower() != "p":  # a token, a secret or a key
        return has_digit(value) and not is_wordlike(value, digits=True) and is_random_stretch(value)
    return not is_wordlike(value) or is_passphrase(value)


def is_unredacted(value: str, text: str, match: re.Match[str]) -> bool:
    """Whether a value has not been redacted already; such a form needs no other test."""
    return "[REDACTED" not in value


_BLANK, _AFTER_NAME = (" ", "\t"), (" ", "\t", "'", '"', "`")
_AFTER_PASSWORD_NAME = (*_AFTER_NAME, ":", "=")
_PASSWORD = Form(
    ("password", "passphrase", "passwd", "passcode", "passwort"),
    _SENTENCE,
    _is_sentence_secret,
    behind=_AFTER_PASSWORD_NAME,
)
_PASSWORT = Form(("passwort", "kennwort"), VERB_LAST, _is_sentence_secret, behind=_AFTER_NAME)
_WITH_IT = Form(("password", "passphrase", "pwd", "passwd", "passcode"), _WITH, _is_with_secret, behind=_BLANK)
_WITH_TOKEN = Form(("token", "secret"), _WITH, _is_with_secret, behind=_BLANK)
_WITH_KEY = Form(("api key", "api-key", "api_key"), _WITH, _is_with_secret, behind=_BLANK)
_AS_IT = Form(
    ("password", "passphrase", "pwd", "token", "secret", "key"),
    _AS,
    _is_sentence_secret,
    back=140,
    whole=True,
    needs=(("use", "try", "type", "enter", "set"), (" as", " for", "\tas", "\tfor")),
)
_PIPED_IN = Form(
    ("passwd", "password-stdin", "token"),
    _PIPED,
    _is_piped_secret,
    back=240,
    whole=True,
    needs=(("echo", "printf"), ("|",)),
)
_WRITTEN_TO = Form(
    ("pass", "token", "secret", "key", "pwd", "credential"),
    _WRITTEN,
    _is_piped_secret,
    back=240,
    whole=True,
    needs=(("echo ", "printf "), (">",)),
    words=("echo", "printf"),
)
_WRITTEN_LINES = Form(
    ("pass", "token", "secret", "key", "pwd", "credential"),
    _WRITTEN_DOCUMENT,
    _is_plain_secret,
    whole=True,
    words=("eof", "eot", "end", "cat", "tee"),
)
_ALL_OF_NAMES = ((_AS_IT, 0), (_WRITTEN_TO, 0), (_WRITTEN_LINES, 0))
_SQL_PASSWORD = Form(
    ("password '", 'password "', "password('", "password = '", "password='"),
    _SQL,
    _is_plain_secret,
    back=90,
    whole=True,
)
# Forms found by a word of `WORDS`, with the number of letters in their needle before it.
_FORMS_OF_NAMES: dict[str, tuple[tuple[Form, int], ...]] = {
    "pass": (
        (_PASSWORD, 0), (_PASSWORT, 0), (_WITH_IT, 0), *_ALL_OF_NAMES, (_SQL_PASSWORD, 0), (_PIPED_IN, 0), (Form(("mot de passe",), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 7),
        (Form((" pass:", '"pass:', "'pass:"), _OPENSSL, _is_plain_secret, back=12, whole=True), 1),
    ),
    "pwd": ((Form(("pwd",), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0), (_WITH_IT, 0), *_ALL_OF_NAMES),
    "secret": ((Form(("secret key", "secret"), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0), (_WITH_TOKEN, 0), *_ALL_OF_NAMES),
    "token": ((Form(("token",), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0), (_WITH_TOKEN, 0), *_ALL_OF_NAMES, (_PIPED_IN, 0),
              (Form(("api token", "api-token", "api_token"), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 4)),
    "pw": ((Form(("pw",), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0),),
    "key": ((Form(("api key", "api-key", "api_key"), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 4), (_WITH_KEY, 4), *_ALL_OF_NAMES,
            (Form(("access key", "secret key"), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 7)),
    "kennwort": ((Form(("kennwort",), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0), (_PASSWORT, 0)),
    "contrase": ((Form(("contraseña", "contrasena"), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0),),
    "senha": ((Form(("senha",), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0),),
    "wachtwoord": ((Form(("wachtwoord",), _SENTENCE, _is_sentence_secret, behind=_AFTER_PASSWORD_NAME), 0),),
    "credential": ((Form(("credentials",), _CREDENTIALS, _is_sentence_secret, behind=(*_BLANK, ":")), 0),),
    "auth": ((Form(("authorization",), _HEADER, _is_header_secret, "authorization", behind=(*_AFTER_NAME, ":", "=", ",")), 0),),
}  # fmt: skip
_FIRST_WORDS = {
    "basic_auth": ("auth",), "auth=(": ("auth",), "auth = (": ("auth",), "networkcredential(": ("networkcredential",),
    "passwordauthentication(": ("passwordauthentication",), "mysqli": ("mysqli",), "mysql_connect": ("mysql",), "mysql_pconnect": ("mysql",),
    "new pdo(": ("pdo",), "getconnection(": ("getconnection",), "->connect(": ("connect",), "oci_connect(": ("oci",), "ldap_bind(": ("ldap",), "ftp_login(": ("ftp",),
}  # fmt: skip
OTHER_FORMS: tuple[Form, ...] = (
    Form(("identified ",), _SQL, _is_plain_secret, back=90, whole=True, words=("identified",)),
    Form(("identified ",), _SQL_BARE, _is_pair_secret, whole=True, words=("identified",)),
    Form(("login",), _LOGIN, _is_login_secret, whole=True, words=("login", "logins",)),
    Form((":5432:", ":6432:", ":*:"), _PGPASS, _is_pgpass_secret, back=200, whole=True),
    Form(("-securestring",), _SECURE_STRING, _is_plain_secret, back=9, whole=True, words=("securestring",)),
    Form(("send ", "sendline(", "send(", "sendline "), _SENT, _is_typed_secret, whole=True, words=("send", "sendline")),
    Form((": psk ", ": eap ", ": xauth ", ": ntlm "), _IPSEC, _is_plain_secret, whole=True, words=("psk", "eap", "xauth", "ntlm")),
    Form(("<auth-user-pass>",), _INLINE_LOGIN, _is_plain_secret, whole=True, words=("auth",)),
    Form(("chpasswd:",), _CHPASSWD, _is_plain_secret, whole=True, words=("chpasswd",)),
    Form(("'-u',", '"-u",', "'--user',", '"--user",', "'--auth',", '"--auth",'), _LISTED_LOGIN, _is_call_secret, whole=True, words=("u", "user", "auth")),
    Form(("user=\"",), _LOGIN_SETTING, _is_pair_secret, back=6, whole=True, words=("user",)),
    Form(("root-password password ", "user-password password ", "password-again password "), _PRESEED, _is_plain_secret, whole=True, words=("password",)),
    Form(("nickserv ",), _IDENTIFY, _is_plain_secret, whole=True, words=("nickserv",)),
    Form(('"value": ', '"value":"', " value=\""), _VALUE_FIRST, _is_secret_before_name, back=1, whole=True, words=("value",)),
    Form(("wifi:",), _WIFI, _is_plain_secret, whole=True, words=("wifi",)),
    Form(("form-data; name=",), _FORM, _is_plain_secret, whole=True, words=("form",)),
    Form(("sig=",), _SIGNATURE, _is_address_secret, "signature", back=1, whole=True, words=("sig",)),
    Form(("private-lines:",), _PPK, is_unredacted, "private-key", whole=True, words=("lines",)),
    Form(("mnemonic", "phrase"), _SEED, is_unredacted, "seed-phrase", back=10, whole=True),
    Form((" codes", "-codes"), _CODES, is_unredacted, "recovery-codes", back=24, whole=True, words=("codes",)),
    *(Form((needle,), _CALL_WITH_LOGIN, _is_call_secret, back=back, whole=True, words=_FIRST_WORDS.get(needle, ()))
      for needle, back in (("basicauth", 12), ("basic_auth", 12), ("auth=(", 1), ("auth = (", 1), ("networkcredential(", 0),
                           ("credentials(", 16), ("passwordauthentication(", 0), ("mysqli", 6), ("mysql_connect", 0), ("mysql_pconnect", 0), ("new pdo(", 0),
                           ("getconnection(", 14), ("->connect(", 6), ("oci_connect(", 0), ("ldap_bind(", 0), ("ftp_login(", 0))),
    Form(("requirepass", "masterauth", "bindpw", "rootpw", "community", "ldapbindpassword", "isakmp key", "sqlconnectinfo"), _SETTING, _is_setting_secret, back=14, whole=True),
    Form(("jdbc:oracle:",), _ORACLE, _is_plain_secret, whole=True, words=("oracle",)),
    Form(("\ttrue\t/", "\tfalse\t/"), _COOKIE_LINE, _is_plain_secret, "cookie", back=1, whole=True),
    Form(("connect.sid=",), _COOKIE_VALUE, _is_plain_secret, "cookie", whole=True, words=("sid",)),
    Form(("--from-literal",), _FROM_LITERAL, _is_plain_secret, whole=True, words=("literal",)),
    Form(("winrs",), _WINRS, _is_plain_secret, whole=True, words=("winrs",)),
    Form((" to ",), _SET_TO, _is_sentence_secret, back=80, needs=(("set ", "chang", "update"), ("pass", "token", "secret", "key", "pwd"))),
    Form(("log in ", "login ", "logged in ", "sign in ", "connect ", "signed in "), _LOG_IN_AS, _is_sentence_secret, words=("log", "login", "logged", "sign", "signed", "connect",)),
    Form(("sudo -s", "| su ", "| kinit", "secret create", "secret put", "secrets create", "| cryptsetup"), _PIPED, _is_piped_secret, back=240, whole=True, words=("sudo", "su", "kinit", "secret", "secrets", "cryptsetup")),
    Form(("security_answer", "security answer", "securityanswer", "recovery_code", "recovery code", "recoverycode", "backup_code", "backup code", "access code",
          "access_code", "unlock code", "auth code", "otp_seed", "totp_seed", "activation code"), _ANSWER, _is_answer_secret, words=("answer", "securityanswer", "code", "recoverycode", "seed")),
    Form(("creds:", "creds is", "zugangsdaten", "identifiants", "credenciales", "/pass", "/pw ", "/pw:", "u/p "), _CREDENTIALS, _is_sentence_secret, back=12, words=("creds", "zugangsdaten", "identifiants", "credenciales", "pass", "password", "pw", "u")),
    Form(("auth", "cred", "login", "userpwd", "user_pass", "account", "http_basic"), _LOGIN_PAIR, _is_pair_secret,
         words=("auth", "creds", "cred", "credential", "credentials", "login", "logins", "userpwd", "basicauth", "npmauthident", "basic", "account", "accounts")),
    Form(("zugangs", "zugriffs", "sicherheitscode", "freischaltcode", "entsperrcode", "aktivierungscode", "schluessel", "geheim", "code d'ac", "codigo de ac", "clave ", "chave "), _FOREIGN_KEY, _is_foreign_key, back=12,
         words=("zugangscode", "zugriffscode", "zugangs", "zugriffs", "zugangstoken", "zugriffstoken", "sicherheitscode", "freischaltcode", "entsperrcode", "aktivierungscode", "apischluessel", "schluessel", "geheimschluessel", "geheimnis", "code", "codigo", "clave", "chave")),
    Form((" pass", " pw ", " pw:", " p: "), _USER_AND_PASSWORD, _is_sentence_secret, back=80, words=("user", "login", "u")),
    Form(("mdp", "clave", "parola", "heslo", "salasana", "adgangskode", "passord", "token de acceso", "losenord", "kata sandi"), _OTHER_LANGUAGES, _is_foreign_secret, words=("mdp", "clave", "parola", "heslo", "salasana", "adgangskode", "adgangskoden", "passord", "passordet", "acceso", "losenord", "sandi")),
)  # fmt: skip
FOREIGN_FORMS = (
    Form(("schlüssel", "clé", "código de ac", "code d’ac"), _FOREIGN_KEY, _is_foreign_key, back=12),
    Form(("hasło", "lösenord", "парол", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "şifre", "jelszó", "κωδικός",
     "mật khẩu", "كلمة", "סיסמה", "รหัสผ่าน", "पासवर्ड", "password è", "contraseña"), _OTHER_LANGUAGES, _is_foreign_secret),
)  # fmt: skip
"""Forms that only texts with non-ASCII letters contain."""
ALL_FORMS = (
    *dict.fromkeys(form for forms in _FORMS_OF_NAMES.values() for form, _ in forms),
    *OTHER_FORMS,
    *FOREIGN_FORMS,
)
"""All forms by which a secret is found; see `open_forms`."""
_OPEN_LINES: tuple[tuple[str, LazyRegex], ...] = (
    ("cookie", LazyRegex(r"cookies?[\"']?[ \t]*(?:[:=,]|\Z)", re.IGNORECASE)),
    ("authorization", LazyRegex(r"authorization[\"']?[ \t]*(?:(?::|=>|=|,)[^\n]{0,60})?\Z", re.IGNORECASE)),
    ("identified", LazyRegex(r"identified[ \t]", re.IGNORECASE)),
    ("echo ", LazyRegex(rf"echo[ \t]+{_PIPED_WORD}(?:[|>][^\n]{{0,100}})?\Z")),
    ("printf ", LazyRegex(rf"printf[ \t]+{_PIPED_WORD}(?:[|>][^\n]{{0,100}})?\Z")),
    ("set password", LazyRegex(r"set[ \t]+password", re.IGNORECASE)),
)  # fmt: skip
_SENTENCE_CHARS = 240
_NAME_BEFORE = 16
_OPEN_SENTENCES: tuple[tuple[tuple[str, ...], LazyRegex], ...] = (
    (("pass", "pwd", "secret", "token", "key", "contrase", "kennwort", "senha", "wachtwoord", "credentials", "login"), _OPEN_SENTENCE),
    (("password ", "passphrase ", "pwd ", "passwd ", "passcode ", "token ", "secret ", "key "), _OPEN_WITH),
    (("passwort", "kennwort"), _OPEN_VERB_LAST),
    (("use ", "try ", "type ", "enter ", "set "), OPEN_OFFER),
)  # fmt: skip
