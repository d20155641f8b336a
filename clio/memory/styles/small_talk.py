"""Greetings, thanks and short answers: what a person says that wants nothing done."""

from collections.abc import Sequence

_MOST_WORDS = 9
_CORE = """
hello hi hey hiya yo morning evening afternoon night tomorrow thanks thank thx ty cheers bye goodbye ok okay k yes yeah
yep yup no nope sure great good awesome nice cool perfect excellent lovely amazing brilliant wow lol haha sorry welcome
congrats right alright fine nevermind mind understood agreed exactly correct
hallo moin tschüss danke ja nein gut super merci bonjour salut oui non gracias hola adiós sí vale
"""
_AROUND = """
there how are you so much very a lot for the your help day see later it is its that s was all again really work job
well done today never too me i m back guys everyone friend buddy mate clio please this just and to my of have weekend
what up sup got one dir sehr vielen guten tag morgen beaucoup bien ça va qué tal muchas buenos días
"""
_POLITE = frozenset(
    "hello hi hey haha lol thanks thank thx ty cheers bye sorry wow danke merci gracias hallo salut hola".split()
)
_CORES = frozenset(_CORE.split())
_ALL = _CORES | frozenset(_AROUND.split())


def is_small_talk(said: Sequence[str]) -> bool:
    """Whether the words of a message are nothing but a greeting, thanks or a short answer."""
    return 0 < len(said) <= _MOST_WORDS and _ALL.issuperset(said) and not _CORES.isdisjoint(said)


def is_polite(said: Sequence[str]) -> bool:
    """Whether they are few, with a greeting, thanks or an apology among them."""
    return len(said) <= _MOST_WORDS and not _POLITE.isdisjoint(said)
