"""Words developers use for one another, as stems: what a question says may be said otherwise in a memory."""

from functools import cache

from clio.algorithms.lexical import stem

_GROUPS = """
db database postgres postgresql
repo repository
config configuration setting settings
env environment
auth authentication login signin
authz authorization permission permissions
prod production
dev development
staging stage
deps dependency dependencies
dir directory folder
docs documentation doc
deploy deployment deploys ship
test tests testing suite
fn func function
param parameter argument
var variable
msg message
err error failure
perf performance
impl implement implementation
ci pipeline
k8s kubernetes
url address endpoint
pwd password passphrase
boss manager lead
colleague coworker teammate
delete remove erase
create make add
fix repair mend
fast quick
begin start launch
stop end halt
choose pick select
like prefer favour favor love enjoy
dislike hate avoid
name called named
host server machine
"""

# Only for what is asked: vectors are made with the groups above, and are kept.
_ALSO = """
vacation holiday leave
migrate migration migrations
configure configuration
authenticate authentication
authorize authorization
install installation setup
validate validation validator
generate generation generator
integrate integration
translate translation translations i18n localisation localization
accessibility a11y
licence license licensing
colour color
behaviour behavior
initialise initialize initialisation initialization
optimise optimize optimisation optimization
observe observability monitoring telemetry
meeting call appointment
live lives home
job employer company
email mail
picture photo image
allocate allocation alloc
certify certification certificate cert
expire expiry expiration
encrypt encryption
compress compression
sign signed signature
ship shipped shipping
retry retries retrying
queue broker
ticket issue
"""
_WIDER = _GROUPS + _ALSO
# What a kind of thing is asked for, and what it is called where it stands; the other way round says nothing.
_KINDS = """
database: postgres postgresql mysql mariadb sqlite mongodb oracle cockroachdb dynamodb
cache: redis memcached
queue: kafka rabbitmq sqs nats celery
editor: vim neovim nvim emacs vscode helix intellij pycharm sublime zed
shell: bash zsh fish powershell nushell
linter: ruff eslint flake8 pylint clippy rubocop biome
formatter: black prettier gofmt rustfmt
framework: django flask fastapi rails react vue svelte angular spring express
frontend: react vue svelte angular
styling: css tailwind sass
ci: jenkins buildkite circleci travis
cloud: aws azure gcp cloudflare
container: docker podman kubernetes
browser: safari firefox chrome chromium
tracker: jira linear
laptop: macbook thinkpad
computer: laptop macbook thinkpad
"""


@cache
def _table(groups: str) -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in groups.strip().splitlines():
        group = frozenset(stem(word) for word in line.split())
        for word in group:
            table[word] = table.get(word, frozenset()) | group
    return table


@cache
def _kinds() -> dict[str, frozenset[str]]:
    lines = (line.split(":") for line in _KINDS.strip().splitlines())
    return {stem(kind): frozenset(stem(word) for word in members.split()) for kind, members in lines}


SYNONYMS = _table(_GROUPS)


def expanded(word: str) -> frozenset[str]:
    """The stem and the stems of what it may also be called."""
    return SYNONYMS.get(word, frozenset((word,)))


def other_words(word: str) -> frozenset[str]:
    """The stem and the stems of other words for what a question calls so; more of them than `expanded` knows."""
    return _table(_WIDER).get(word, frozenset((word,)))


def of_its_kind(word: str) -> frozenset[str]:
    """The stems of things that are one of what a question calls so, as Vim is an editor; none for most words."""
    return frozenset[str]().union(*(_kinds().get(one, frozenset()) for one in other_words(word)))


def canonical(word: str) -> str:
    """The one stem that stands for all of a word's group, the first there; a stem of no group stands for itself."""
    return _first_words().get(word, word)


@cache
def _first_words() -> dict[str, str]:
    first: dict[str, str] = {}
    for line in _GROUPS.strip().splitlines():
        stems = [stem(word) for word in line.split()]
        for word in stems:
            first.setdefault(word, stems[0])
    return first
