"""Word tables by which `clio.memory.subjects` parses a statement into topic, predicate and value. Data only."""

CHANGE_PHRASES = (
    r"now|no longer|any ?more|any longer|instead|from now on|going forward|as of|these days|nowadays|"
    r"since (?:today|yesterday|monday|tuesday|wednesday|thursday|friday|saturday|sunday|last|this|v?\d)|"
    r"has become|became|correction|actually|wait|update|used to|rather than|in place of|in favou?r of|"
    r"(?:was|were|is|are|got|have been|has been|have|has|we|i|they) (?:moved|changed|switched|migrated|renamed|"
    r"replaced|bumped|upgraded|downgraded|raised|lowered|increased|decreased|reduced|swapped|dropped)|"
    r"(?:moved|changed|switched|migrated|renamed|bumped|upgraded|raised|lowered) (?:to|from)|"
    r"jetzt|nun|ab sofort|stattdessen|nicht mehr|maintenant|désormais|ahora|ya no|agora|já não"
)
"""Phrases that announce that something has changed."""

LEADS = (
    r"(?:actually|wait|correction|update|fyi|note(?: that)?|remember(?: that)?|heads up|sorry|no(?=[,.!—–-])|"
    r"oh|ok(?:ay)?|"
    r"so|well|"
    r"btw|by the way|for the record|from now on|going forward|hmm|yes|important|please|always|reminder|as i said|"
    r"change of plans?|(?:so )?(?:we|i|the team) (?:have )?(?:decided|agreed)(?: [^,.]{0,40}?)? that|decision|"
    r"turns out(?: that)?|"
    r"just so you know|(?:since|after) the (?:rewrite|move|migration|merge|upgrade|switch|release)|übrigens|"
    r"à propos|por cierto)\b[\s,:;.!–—-]*"
)
"""Introductions that are not part of a statement."""

TAILS = (
    r"[\s,]*\b(?:now|these days|nowadays|from now on|going forward|today|any ?more|any longer|instead|at the moment|"
    r"currently|again|as well|too|by the way|please|jetzt|nun)$"
)
"""Endings that are not part of a statement."""

CHANGE_VERBS = (
    "moved|changed|switched|migrated|renamed|bumped|upgraded|downgraded|updated|raised|lowered|increased|decreased|"
    "reduced|converted|transitioned|ported|went|set|scaled|grew|shrank|extended|shortened|cut|switching|moving"
)

REVOKED = (
    r"revoked|removed|dropped|retired|deleted|abolished|lifted|discontinued|scrapped|shut down|turned off|switched off|"
    r"disabled|withdrawn|decommissioned|gone|got rid of|stopped using|abgeschafft|entfernt|supprimé|eliminado|removido"
)
"""Participles that say that something no longer exists."""

ADDING_VERBS = frozenset(
    "have contain hold include support accept allow handle need require depend import add cover".split()
)
"""Verbs with which "now" announces an additional value, not another one: "the build now includes docs"."""

PREPOSITIONS = frozenset(
    "in on at to under over for from with by via through when if during while within after before unless until per "
    "every as behind inside without between against into of than that which auf in bei für unter mit nach vor".split()
)
LOCATIVE = frozenset("in on at to under behind inside into from auf bei unter as".split())
AGENTIVE = frozenset("by via through with mit".split())

STOP_WORDS = frozenset(
    "a an the this that these those our my your their its it he she they we you us them there here is are was were be "
    "been being am do does did has have had will would can could should must may might shall not no never only just "
    "also still always usually generally normally typically currently already now then so and or but exactly about "
    "around approximately roughly at least most more less than up all any each both same new der die das ein eine "
    "den dem des unser unsere el la los las un una le les une o os as um uma".split()
)
"""Words that do not distinguish subjects."""

GENERIC_NOUNS = frozenset(
    "server service app application setting value option port host whole entire full current module project repo "
    "repository team thing config version system tool file number url address name default step time minutes".split()
)
"""Nouns that only one of two statements about the same subject may contain."""

ATTRIBUTES = frozenset(
    "branch port host hostname url uri path folder directory file name version command owner maintainer manager lead "
    "database queue broker cache registry bucket region zone domain endpoint license licence language framework "
    "linter formatter runner compiler channel topic prefix suffix limit timeout ttl threshold budget day date time "
    "key user account remote upstream tracker theme editor shell os platform currency locale timezone encoding format "
    "default minimum maximum size length level mode style backend frontend provider store proxy ids entrypoint point "
    "address id schema convention cluster namespace environment indentation target status state color colour".split()
)
"""Attributes that have one value at a time, so that another word after "is" is a new value."""

EXCLUSIVE_ROLES = frozenset(
    "default main primary minimum maximum current latest lowest highest only official preferred canonical base "
    "production staging oldest newest".split()
)
"""Adjectives of roles that only one thing has at a time: "Node 20 is the minimum version"."""

SYNONYMS = {
    "db": "database",
    "dev": "development",
    "prod": "production",
    "repo": "repository",
    "min": "minute",
    "mins": "minute",
    "sec": "second",
    "secs": "second",
    "s": "second",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "ms": "millisecond",
    "config": "configuration",
    "docs": "documentation",
    "env": "environment",
    "max": "maximum",
    "app": "application",
    "auth": "authentication",
    "pr": "pull",
    "js": "javascript",
    "ts": "typescript",
}

OPPOSITES = (
    ("enabled", "disabled"),
    ("on", "off"),
    ("slow", "fast"),
    ("allowed", "forbidden"),
    ("allowed", "disallowed"),
    ("required", "optional"),
    ("mandatory", "optional"),
    ("public", "private"),
    ("open", "closed"),
    ("green", "red"),
    ("stable", "unstable"),
    ("supported", "unsupported"),
    ("supported", "deprecated"),
    ("true", "false"),
    ("up", "down"),
    ("synchronous", "asynchronous"),
    ("sync", "async"),
    ("strict", "lenient"),
    ("online", "offline"),
    ("encrypted", "unencrypted"),
    ("tabs", "spaces"),
)

NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
} | {"twenty": "20", "thirty": "30", "sixty": "60", "ninety": "90", "hundred": "100", "once": "1", "twice": "2"}

SINGLE_VERBS = frozenset(
    "listen live lie sit reside stay go point deploy host locate store keep save mean take last cost expire default "
    "equal weigh start end begin prefer target happen rotate pin sign pay measure average retry name own maintain "
    "manage lead belong run write send publish upload redirect resolve inherit return raise log report license "
    "mount land speak close open cap limit give throw respond serve charge ship release merge sleep wait block expose "
    "läuft liegt heißt kostet dauert".split()
)
"""Verbs with one value at a time."""

MULTIPLE_VERBS = frozenset(
    "use contain hold have include depend rely need require import call provide export read parse set fix add "
    "drop cover build push break create mock work know like want see change touch test generate send "
    "copy load format lint bundle package compile monitor track review authenticate debug search validate define "
    "implement describe consume emit render own".split()
)
"""Verbs with several values at a time; the number in one value may still change."""

ADDITIVE_VERBS = frozenset("support accept allow handle affect fail cover work reject recognize understand".split())
"""Verbs with which another number is another case: "supports TLS 1.2", "supports TLS 1.3"."""

IRREGULAR = {
    "written": "write",
    "built": "build",
    "kept": "keep",
    "sent": "send",
    "held": "hold",
    "found": "locate",
    "located": "locate",
    "set": "set",
    "run": "run",
    "made": "make",
    "led": "lead",
    "paid": "pay",
    "meant": "mean",
    "begun": "begin",
    "has": "have",
    "goes": "go",
    "rewritten": "write",
    "rewrote": "write",
    "kicks": "begin",
    "kick": "begin",
    "does": "do",
    "lies": "lie",
    "called": "name",
    "put": "store",
    "defined": "locate",
    "stored": "store",
    "based": "base",
    "hidden": "hide",
    "shown": "show",
    "given": "give",
    "spoken": "speak",
    "stehen": "liegt",
    "steht": "liegt",
    "heisst": "heißt",
}

PREDICATE_GROUPS = {
    "live": "place",
    "lie": "place",
    "sit": "place",
    "reside": "place",
    "locate": "place",
    "store": "place",
    "keep": "place",
    "save": "place",
    "stay": "place",
    "go": "place",
    "point": "place",
    "log": "place",
    "set": "place",
    "define": "place",
    "parse": "place",
    "liegt": "place",
    "land": "place",
    "host": "place",
    "deploy": "place",
    "listen": "listen",
    "run": "listen",
    "läuft": "listen",
    "serve": "listen",
    "take": "duration",
    "last": "duration",
    "dauert": "duration",
    "start": "begin",
    "begin": "begin",
    "need": "require",
    "equal": "be",
    "return": "outcome",
    "raise": "outcome",
    "throw": "outcome",
    "give": "outcome",
    "respond": "outcome",
}
"""Groups of verbs with the same meaning in statements."""

EXCLUSIVE_OWNERS = frozenset("own maintain manage lead review approve handle coordinate release".split())
"""Verbs whose object has one subject at a time, if the new statement announces a change: "Tom owns billing now"."""

SOLE_OWNERS = frozenset("own lead chair head".split())
"""Verbs whose object has one subject at a time, even if no change is announced: "Tom owns billing"."""

POSITIONS = frozenset("owner maintainer manager lead contact chair head captain director".split())
"""Positions that one person has at a time, after "the": "Tom is the product owner"."""

PARTICLES = frozenset("out up down off over on back away in through".split())
"""Words that belong to the verb before them: "times out", "backs up"."""

OBJECT_VERBS = frozenset(
    "pin set store keep put deploy host write send save publish push upload run mount log cap limit".split()
)
"""Verbs whose object is the topic if a place or number follows: "pin numpy at 1.26"."""

CORRECTION_FILLERS = frozenset(
    "actually now longer more anymore days nowadays currently today yesterday recently correction wait hold sorry oops "
    "right correct correctly wrong mistake mistaken outdated old new newer latest former meant mean instead of rather "
    "replaced move moved moving change changed changes switch switched switching migrate migrated went go gone bump "
    "bumped raise raised lower lowered increase increased decrease decreased reduce reduced upgrade upgraded update "
    "updated rename renamed set use uses used using run runs running be is value number one what onwards going forward "
    "since last week month morning meanwhile finally over everything "
    "know remember note please fyi yes no ok okay hey thing team decided decision dropped swapped i me as "
    "ported converted extended shortened scaled grew shrank cut got get gets sprint quarter year release these "
    "history dead retired deprecated "
    "dont doesnt didnt isnt arent wasnt werent".split()
)
"""Words of a correction that do not say what it is about."""

ALTERNATIVES = tuple(
    frozenset(family.split())
    for family in (
        "npm pnpm yarn bun",
        "pip uv poetry pdm pipenv conda mamba pixi",
        "tabs spaces",
        "mysql postgres postgresql sqlite mariadb oracle mssql cockroachdb",
        "mongodb couchdb dynamodb cassandra firestore",
        "redis memcached valkey",
        "kafka rabbitmq nats sqs pulsar",
        "jenkins travis circleci buildkite teamcity drone",
        "github gitlab bitbucket gitea codeberg forgejo",
        "pytest unittest nose nose2",
        "jest vitest mocha jasmine ava",
        "cypress playwright selenium puppeteer",
        "heroku fly render vercel netlify railway",
        "aws gcp azure hetzner digitalocean",
        "docker podman",
        "black yapf autopep8 ruff",
        "eslint biome oxlint tslint",
        "flake8 pylint ruff",
        "mypy pyright pyre ty",
        "webpack vite rollup esbuild parcel turbopack",
        "git mercurial svn jujutsu",
        "terraform pulumi opentofu",
        "react vue svelte angular solid",
        "flask django fastapi starlette litestar bottle",
        "express fastify koa hapi hono",
        "celery rq dramatiq huey",
        "graphql grpc rest",
        "master main trunk",
        "slack teams discord mattermost zulip",
        "jira linear asana trello",
        "bash zsh fish nushell",
        "vim neovim emacs vscode helix nano",
        "sphinx mkdocs docusaurus",
        "sentry rollbar bugsnag",
        "grafana datadog kibana",
        "maven gradle bazel ant sbt",
        "nginx apache caddy traefik haproxy",
        "english german french spanish portuguese italian dutch polish japanese chinese",
        "java kotlin scala",
        "monday tuesday wednesday thursday friday saturday sunday",
        "short long",
        "concise brief detailed verbose",
        "light dark",
        "daily weekly biweekly monthly quarterly",
    )
)
"""Names that usually replace each other: "we switched to pnpm" corrects "we use npm"."""
