"""Words developers use for one another, as stems: what a question says may be said otherwise in a memory."""

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
editor ide
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


def _table() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _GROUPS.strip().splitlines():
        group = frozenset(stem(word) for word in line.split())
        for word in group:
            table[word] = table.get(word, frozenset()) | group
    return table


SYNONYMS = _table()


def expanded(word: str) -> frozenset[str]:
    """The stem and the stems of what it may also be called."""
    return SYNONYMS.get(word, frozenset((word,)))


def canonical(word: str) -> str:
    """The one stem that stands for all of a word's group, the first there; a stem of no group stands for itself."""
    return _CANONICAL.get(word, word)


def _first_words() -> dict[str, str]:
    first: dict[str, str] = {}
    for line in _GROUPS.strip().splitlines():
        stems = [stem(word) for word in line.split()]
        for word in stems:
            first.setdefault(word, stems[0])
    return first


_CANONICAL = _first_words()
