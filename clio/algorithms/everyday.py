"""Words that stand in requests of every kind, as stems: that a memory has one of them says little about what is meant.

Three kinds: what everybody says, what a developer asks for or names whatever the work is about, and how numbers and
times are spoken of.
"""

from functools import cache

from clio.algorithms.lexical import stem

_SAID_BY_ALL = """
able actually again ago ahead almost alone along already always another answer anyone anything apparently around ask
away back bad base become before begin behind believe best better between big bit both bring came case cause certain
check clear close come common compare complete consider contain correct could course day deal decide describe detail
differ different difficult during each early easy either else empty end enough entire even ever every everyone
everything exact example expect explain fact far feel few final find fine first follow form former found full further
general give go good great guess half hand happen hard hear help here high hold hope however idea important inside
instead interest issue keep kind know large last late later least leave left less let like likely little live long
look lot low main many matter may maybe mean mention might mind miss moment more most move much must near necessary
need never new next nice nobody none nothing often ok okay old once one only order other own part past people perhaps
person place plan please point possible pretty probably problem proper put quick quite rather reach read ready real
really reason relevant remember rest right room said same say second see seem sense separate several short show side
similar simple since single small somebody someone something sometimes soon sort special specific start state stay
still stop such suppose sure take talk tell thank thanks thing think third though thought through today together
tomorrow tonight top toward tried try turn two under understand until up upon use used useful user usual value various
very want way well whether which while whole without wonder word work world worth wrong yes yesterday yet above across
after against among below beneath beside besides beyond despite down except hence into minus off onto opposite out
outside over per plus throughout till towards unlike unless via versus whereas within because yourself itself
themselves himself herself ourselves
"""
_ASKED_FOR = """
add adjust allow app application apply argument array block box branch bug build button call change class clean code
column command comment commit convert copy create data default define delete directory display document edit element
empty entry error example exist export extract fail field file filter fix folder format function generate group handle
implement import include input insert item json key library line link list load log loop make map match message method
mode modify module name note number object open option output package page paragraph parse pass path pattern position
print process program project property question read refactor reference remove rename repeat replace report request
response result return review row run save script search section select send set setting sheet size sort source split
step string structure style summarise summarize summary support switch system tab table task template text title tool
translate type undo update validate variable version view write
"""
_COUNTED = """
one two three four five six seven eight nine ten twelve twenty thirty hundred thousand million minute hour day week
month year morning evening night time times date number amount count total
"""
_TELLING_DIGITS = 3


def is_everyday(word: str) -> bool:
    """Whether a stem is one of these words, a single letter, or a number of one or two digits."""
    if not word.isascii():
        return False
    return word in _stems() or len(word) == 1 or (word.isdigit() and len(word) < _TELLING_DIGITS)


@cache
def _stems() -> frozenset[str]:
    return frozenset(stem(word) for word in f"{_SAID_BY_ALL} {_ASKED_FOR} {_COUNTED}".split())
