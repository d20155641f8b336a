"""Sentences for the user, in the user's language.

Each sentence is marked in the code that makes it: `tr("can't open {path}: {reason}", path=path, reason=reason)`. The
English text is the key of the catalogue `clio/locale/`; without a translation `tr` is `str.format`. Text for the model
is not marked and stays English; `english` returns the English wording of a sentence that both read.

In English nothing is imported or read. A translation is its `.po` file, read once at the start.
"""

import os

TYPE_CHECKING = False  # same effect as typing's, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

ENGLISH = "en"
AUTO = "auto"
FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "locale")  # noqa: PTH118, PTH120, PTH100 pathlib is not needed otherwise
_LANGUAGE_VARIABLES = ("CLIO_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


class Catalog:
    """The translations into one language.

    Attributes:
        sentences: by the English text.
        forms: all forms of a number with its noun, by the English singular.
        select_form: returns the index of the form for a number.
        thousands: the separator of thousands.
    """

    def __init__(
        self,
        language: str,
        sentences: "Mapping[str, str]",
        forms: "Mapping[str, tuple[str, ...]]",
        select_form: "Callable[[int], int]",
        thousands: str = ",",
    ) -> None:
        self.language = language
        self.sentences = sentences
        self.forms = forms
        self.select_form = select_form
        self.thousands = thousands

    def fill(self, template: str, values: "Mapping[str, object]") -> str:
        """Return the template with its values; numbers get this language's separators."""
        if self.thousands != "," and ":," in template:
            for name, value in values.items():
                if isinstance(value, int):
                    template = template.replace(f"{{{name}:,}}", f"{value:,}".replace(",", self.thousands))
        return template.format_map(values)


_catalog: Catalog | None = None
_originals: dict[str, str] = {}
"""The English wording of the last translated sentences. A type of its own would not pass msgspec's encoders."""
_MAX_ORIGINALS = 10_000


def tr(message: str, /, **values: "Any") -> str:
    """Return the sentence in the user's language.

    Args:
        message: the English sentence, as a literal; with values a template of `str.format`.
        values: replace the names in braces; braces in a value have no meaning.
    """
    if _catalog is None:
        return message.format_map(values) if values else message
    translated = _catalog.sentences.get(message, message)
    if not values:
        return _keep_original(translated, english(message))
    plain = {name: english(value) for name, value in values.items()}
    return _keep_original(_catalog.fill(translated, values), message.format_map(plain))


def mark(message: str) -> str:
    """Return the sentence unchanged: marks an entry of a table, which is translated with `tr` when it is shown."""
    return message


Phrase = tuple[str, "dict[str, Any]"]
"""An English sentence for `tr` and its values, to be translated when it is shown: its language may be another then."""


def tr_phrases(phrases: "Iterable[Phrase]", say: "Callable[..., str]" = tr) -> str:
    """Return the phrases as one text in the user's language. say: `str.format` for the English text."""
    return "".join(say(text, **values) for text, values in phrases)


def tr_count(number: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun in the user's language: "1 file", "2,000 files"; see `format_count`."""
    one, other = make_count_forms(noun, plural)
    template = one if number == 1 else other
    text = template.format(count=number)
    if _catalog is None:
        return text
    forms = _catalog.forms.get(one)
    if forms is None:
        return text
    return _keep_original(_catalog.fill(forms[_catalog.select_form(number)], {"count": number}), text)


def make_count_forms(noun: str, plural: str = "") -> tuple[str, str]:
    """Return the English templates for one and for several, such as "{count:,} entry" and "{count:,} entries"."""
    if not plural and noun.endswith("y") and noun[-2:-1] not in "aeiou":
        plural = f"{noun[:-1]}ies"
    plural = plural or noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
    return f"{{count:,}} {noun}", f"{{count:,}} {plural}"


def english(value: "Any") -> "Any":
    """Return the English wording of a sentence, or of an error with one; any other value as it is."""
    if _catalog is None:
        return value
    if isinstance(value, BaseException):
        return _originals.get(str(value), value)
    return _originals.get(value, value) if isinstance(value, str) else value


def _keep_original(text: str, original: str) -> str:
    if text != original:
        while len(_originals) >= _MAX_ORIGINALS:
            del _originals[next(iter(_originals))]
        _originals[text] = original
    return text


def get_language() -> str:
    """Return the language of the sentences, such as "de"."""
    return ENGLISH if _catalog is None else _catalog.language


def set_catalog(catalog: Catalog | None) -> None:
    """Translate with this catalogue from now on; None is English."""
    global _catalog
    _catalog = catalog


def choose_language(env: "Mapping[str, str]", setting: str = AUTO) -> None:
    """Speak the language of the setting, or with "auto" that of the environment; English if it has no translation.

    setting: "auto", a language such as "de", or the path of a .po file, with which a translation can be tried.
    """
    name = setting
    if setting == AUTO:
        name = next((env[variable] for variable in _LANGUAGE_VARIABLES if env.get(variable)), ENGLISH)
    if name.endswith(".po"):
        set_catalog(load_catalog(name, name))
        return
    name = name.split(".")[0].replace("-", "_")
    if name[:2].lower() == ENGLISH or name in ("C", "POSIX"):
        set_catalog(None)
        return
    found = next((one for one in (name, name.split("_")[0].lower()) if has_translation(one)), ENGLISH)
    if found != get_language():
        set_catalog(None if found == ENGLISH else load_catalog(found, get_catalog_path(found)))


def has_translation(language: str) -> bool:
    """Whether there is a translation into this language; English needs none."""
    return language == ENGLISH or (language.isidentifier() and os.path.isfile(get_catalog_path(language)))  # noqa: PTH113


def list_languages() -> tuple[str, ...]:
    """Return the languages of the setting `language`: English and all translations."""
    try:
        names = sorted(name.removesuffix(".po") for name in os.listdir(FOLDER) if name.endswith(".po"))  # noqa: PTH208
    except OSError:
        names = []
    return (ENGLISH, *names)


def get_catalog_path(language: str) -> str:
    """Return the path of a translation."""
    return os.path.join(FOLDER, f"{language}.po")  # noqa: PTH118


def load_catalog(language: str, path: str) -> Catalog:
    """Read a translation. Raises OSError or ValueError if the file cannot be read."""
    from clio.text.po_file import parse_translation

    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        found = parse_translation(file.read())
    return Catalog(language, found.sentences, found.forms, found.select_form, found.thousands)
