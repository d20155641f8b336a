"""The plain command words of German, French and Spanish, by which a message is told to want something."""

_FIX = (
    (
        4,
        r"\b(?:behebe\w*|beheben|korrigiere|repariere|schlägt fehl|schlagen fehl|funktioniert (?:\w+ )?nicht"
        r"|geht (?:\w+ )?nicht|stürzt)\b",
    ),
    (3, r"\b(?:kaputt|fehler|absturz|erreur|plante|error en|fallo)\b"),
    (4.5, r"^(?:corrige[rz]?|répare|résous|arregla\w*|soluciona\w*|depura)\b"),
    (
        4,
        r"\bne (?:marche|fonctionne|compile) (?:pas|plus)\b|\bno (?:funciona|compila|arranca)\b"
        r"|\bsigue fallando\b",
    ),
)
_BUILD = (
    (
        4.5,
        r"^(?:füge|implementier\w*|erstell\w*|benenn\w*|ersetz\w*|entfern\w*|änder\w*|ergänz\w*|verschieb\w*"
        r"|bau\w*|lösch\w*|nutze|verwende)\b",
    ),
    (
        4.5,
        r"^(?:ajout\w+|implément\w+|cré(?:e|er|ez)|renomm\w+|remplac\w+|supprim\w+|déplac\w+|modifi\w+|chang\w+"
        r"|utilis\w+)\b",
    ),
    (
        4.5,
        r"^(?:añad\w+|agreg\w+|implement(?:a|ar|e)|cre(?:a|ar)|renombr\w+|reemplaz\w+|elimin\w+|quita\w*|mueve"
        r"|mover|cambi\w+|usa)\b",
    ),
)
_REVIEW = (
    (4.5, r"^(?:über)?prüf\w*\b"),
    (4.5, r"\bschau dir\b.{0,40}\ban\b|\b(?:code-?)?review\b.{0,10}\bbitte\b"),
    (4.5, r"^(?:relis|relire|vérifi\w+|fais une (?:revue|relecture)|revis[ae]\w*|examin\w+)\b"),
)
_PLAN = (
    (
        5,
        r"\b(?:mach\w*|erstell\w*|schreib\w*) .{0,12}\bplan\b|\bsollten wir\b|\bwie (?:sollten|könnten) wir\b"
        r"|\bvergleich\w*\b|\bentwirf\b",
    ),
    (
        6,
        r"\bmeilleure (?:approche|façon|solution)\b|\bpropose\w*\b.{0,15}\b(?:plan|approche)\b|\b(?:fais"
        r"|faire) un plan\b|\bdevrait-on\b|\bplanifi\w+\b",
    ),
    (5, r"\bmejor (?:manera|forma|enfoque|opción)\b|\bhaz un plan\b|\bplanifica\b|\bdeberíamos\b|\bcompara\b"),
)
_WRITE = (
    (
        5,
        r"\b(?:dokumentier\w*|übersetz\w*|formulier\w*)\b|\bschreib\w*\b.{0,30}\b(?:anleitung|doku\w*|mail"
        r"|nachricht|text|readme|kommentar\w*|hilfe)\b",
    ),
    (
        5,
        r"\b(?:rédig\w+|document(?:e|er|ez) |tradui\w+|reformul\w+)\b|\b(?:écri\w+)\b.{0,30}\b(?:doc\w*|message"
        r"|mail|texte|guide)\b",
    ),
    (5, r"\b(?:redact\w+|documenta |traduc\w+)\b|\bescrib\w+\b.{0,30}\b(?:doc\w*|mensaje|correo|texto|guía)\b"),
)
_RUN = (
    (
        5,
        r"^führ\w*\b.{0,40}\baus\b|^(?:starte\w*|installier\w*|commit(?:te)?|pushe?|lass .{0,20} laufen"
        r"|mach weiter|weiter)\b",
    ),
    (5, r"^(?:lance\w*|exécut\w+|démarr\w+|installe\w*|déploi\w+|committe|continue\w*|vas-y)\b"),
    (
        5,
        r"^(?:ejecut\w+|corre|lanza\w*|arranca\w*|instala\w*|despliega\w*|haz (?:un )?commit|sigue|continúa"
        r"|adelante)\b",
    ),
)
_EXPLAIN = (
    (5, r"\b(?:erklär|expliqu|explic)\w*\b"),
    (5, r"^(?:warum|wieso|weshalb|wie)\b(?! (?:viele?|oft|lange|groß)\b)"),
    (5, r"^(?:pourquoi|comment)\b"),
    (5, r"^(?:por qué|cómo)\b"),
)
_QUESTION = (
    (4.5, r"^(?:wo|was|welche[rsnm]?|wer|wann|wie viele?|gibt es|ist|sind|hat|haben|zeig\w*|zeige)\b"),
    (4.5, r"^(?:où|quel(?:le)?s?|qui|quand|combien|est-ce|y a-t-il|qu'est-ce|montre)\b"),
    (4.5, r"^(?:dónde|qué|cuál(?:es)?|quién|cuándo|cuánt[oa]s?|hay|muéstra\w*)\b"),
)
ABROAD: dict[str, tuple[tuple[float, str], ...]] = {
    "fix": _FIX,
    "build": _BUILD,
    "review": _REVIEW,
    "plan": _PLAN,
    "write": _WRITE,
    "run": _RUN,
    "explain": _EXPLAIN,
    "question": _QUESTION,
}
"""By intent, the cues; `clio.memory.styles.intents` compiles them."""
