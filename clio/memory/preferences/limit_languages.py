"""Limits in German, French and Spanish, in their commonest forms."""

import re

from clio.memory.preferences.limit_clause import Clause, Strength, strength_of
from clio.text.lazy_regex import LazyRegex

_OTHER_LANGUAGES = LazyRegex(
    r"(?:bitte )?(?:niemals|nie|nie wieder|nie mehr)\b|(?:verwende|nutze|benutze|mach|mache|schreib|schreibe|fass"
    r"|rühr|ändere|lösche|lege|füge|committe|pushe"
    r"|nimm|installiere|importiere)\b.*\b(?:nie|niemals|nicht|kein|keine|keinen|nur|immer|ohne)\b"
    r"|(?:bitte )?(?:keine?n?|kein)\s+(?!ahnung|problem|plan|idee|sorge|stress|zeit|lust|fehler|ding)\w+"
    r"|.*\bkein(?:e|en)? \w+ sondern\b|(?:immer|nur) \w+|frage? mich\b|.*\b(?:ist|sind) (?:tabu|verboten|gesperrt"
    r"|eingefroren)\b|(?:in \w+ \w+ )?(?:wir (?:nutzen|verwenden|benutzen|schreiben|machen)|(?:nutzen|verwenden"
    r"|benutzen"
    r"|schreiben|machen) wir)\b.*\b(?:kein|nicht|nur|sondern)"
    r"|.*\b(?:darf|dürfen|darfst|sollst|soll) (?:\w+ ){0,6}?(?:nicht|nie|niemals|kein)\b|lass .*\b(?:in ruhe"
    r"|unverändert)|(?:commit-nachrichten|kommentare|antworten?)\b.*\bauf (?:deutsch|englisch)"
    r"|(?:ne|n')\s?\S+ (?:jamais|pas)\b|n'\w+ (?:pas|jamais)\b|ne (?:jamais|pas) \w+|jamais \w+|toujours \w+"
    r"|pas de \w+|sans \w+er\b|on n'utilise|n'utilise\w*"
    r"|nunca \w+|siempre \w+|no (?:hagas|uses|toques|cambies|modifiques|borres|edites|escribas|añadas|instales"
    r"|ejecutes|hagáis|subas)\b|evita \w+|nada de \w+|usa siempre|solo usa"
)


def judge_other_language(clause: Clause) -> Strength | None:
    """The commonest forms in German, French and Spanish."""
    line = clause.line
    if _OTHER_LANGUAGES.match(line) is None or re.match(r"no (?:hay|funciona|se|es)\b", line):
        return None
    if re.search(r"\b(?:niemals|nie|immer|nur|jamais|toujours|nunca|siempre|frage?|wir|tabu|verboten)\b", line):
        return "policy"
    return strength_of(clause)
