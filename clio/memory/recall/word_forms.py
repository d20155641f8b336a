"""Forms of English words that no stemmer finds: a question says "go", the answer "went"; one "repository", one "repo".

Only what is the same word, long and short or in another tense: things that are merely alike find too much. Pure.
"""

from collections.abc import Mapping

_IRREGULAR = """
arise arose arisen|awake awoke|bear bore born|beat beaten|become became|begin began begun|bend bent|bind bound
bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt
buy bought|catch caught|choose chose chosen|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|know knew known
lay laid|lead led|learn learnt|leave left|lend lent|lie lay lain|light lit|lose lost|make made|mean meant|meet met
pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent
sew sewn|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat
sleep slept|slide slid|speak spoke spoken|speed sped|spell spelt|spend spent|spin spun|spring sprang sprung|stand stood
steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung
take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|understand understood
wake woke woken|wear wore worn|weep wept|win won|wind wound|write wrote written
overwrite overwrote overwritten|rebuild rebuilt
child children|foot feet|goose geese|half halves|knife knives|leaf leaves|life lives|man men|mouse mice|person people
shelf shelves|thief thieves|tooth teeth|wife wives|wolf wolves|woman women|index indices|matrix matrices|vertex vertices
criterion criteria|good better best|bad worse worst|analysis analyses|hypothesis hypotheses
"""

_SHORT = """
admin administrator|app application|async asynchronous|auth authentication|bike bicycle|cert certificate|cmd command
config configuration|dad father|db database|dep dependency|dir directory|env environment|fridge refrigerator
fn func function|impl implementation|k8s kubernetes|kid child children|lib library|mom mum mother|msg message
param parameter|perf performance|photo photograph|pkg package|repo repository|tmp temp temporary|tv television
"""


def _table() -> dict[str, tuple[str, ...]]:
    lines = [*_IRREGULAR.strip().splitlines(), *_SHORT.strip().splitlines()]
    groups = [tuple(group.split()) for line in lines for group in line.split("|")]
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for word in group:
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *(other for other in group if other != word))))
    return found


_FORMS: Mapping[str, tuple[str, ...]] = _table()


def other_forms(word: str) -> tuple[str, ...]:
    """Other forms of a lower-case word: of "gone" "go" and "went"; of "buying", as of "buy", "bought"."""
    for known in (word, word.removesuffix("s"), word.removesuffix("ing"), word.removesuffix("ing") + "e"):
        if known in _FORMS:
            return _FORMS[known]
    return ()
