"""The catalogue of sentences and its translations."""

import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.errors import ToolRetry, UserError
from clio.text.po_file import Entry, format_po, parse_po
from clio.text.translation import (
    FOLDER,
    choose_language,
    english,
    get_catalog_path,
    get_language,
    list_languages,
    make_count_forms,
    set_catalog,
    tr,
    tr_count,
)

ROOT = Path(__file__).parent.parent.parent
TRANSLATIONS = sorted(Path(FOLDER).glob("*.po"))
HEADER = "Language: xx\nPlural-Forms: nplurals=2; plural=(n != 1);\nX-Thousands: .\n"


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    set_catalog(None)
    yield
    set_catalog(None)


def speak(folder: Path, *entries: Entry, header: str = HEADER) -> None:
    path = folder / "xx.po"
    path.write_text(format_po(header, entries), "utf-8")
    choose_language({}, str(path))


def fields_of(text: str) -> list[str]:
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:  # braces that are text
        return []
    return sorted({f"{name}!{conversion}:{form}" for _, name, form, conversion in parts if name})


@pytest.mark.fast
def test_in_english_a_sentence_is_its_template() -> None:
    assert tr("{count:,} of {name!r}", count=2000, name="{x}") == "2,000 of '{x}'"
    assert tr("models: {id: {images: true}}") == "models: {id: {images: true}}"
    assert (tr_count(1, "memory"), tr_count(2000, "match"), tr_count(2, "x", "y")) == (
        "1 memory",
        "2,000 matches",
        "2 y",
    )


@pytest.mark.fast
def test_a_translation_can_reorder_values_and_separate_thousands_in_its_own_way(tmp_path: Path) -> None:
    one, other = make_count_forms("file")
    speak(
        tmp_path,
        Entry(message="{count:,} of {name}", translations=("{name}: {count:,}",)),
        Entry(message=one, plural=other, translations=("{count:,} Datei", "{count:,} Dateien")),
    )
    assert tr("{count:,} of {name}", count=12345, name="{count}") == "{count}: 12.345"
    assert (tr_count(1, "file"), tr_count(12345, "file")) == ("1 Datei", "12.345 Dateien")
    assert tr("not translated {x}", x=1) == "not translated 1"
    assert tr_count(2, "unknown thing") == "2 unknown things"


@pytest.mark.fast
def test_other_plural_rules_work_as_in_gettext(tmp_path: Path) -> None:
    one, other = make_count_forms("file")
    rule = "Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"
    forms = ("{count:,} plik", "{count:,} pliki", "{count:,} plików")
    speak(tmp_path, Entry(message=one, plural=other, translations=forms), header=rule)
    assert [tr_count(number, "file") for number in (1, 3, 5)] == ["1 plik", "3 pliki", "5 plików"]


@pytest.mark.fast
def test_the_model_gets_english_whatever_the_users_language(tmp_path: Path) -> None:
    speak(
        tmp_path,
        Entry(message="no {thing}", translations=("kein {thing}",)),
        Entry(message="file", translations=("Datei",)),
        Entry(message="{error}; stop", translations=("{error}; Halt",)),
    )
    error = UserError(tr("no {thing}", thing=tr("file")))
    assert (str(error), error.for_model) == ("kein Datei", "no file")
    outer = UserError(tr("{error}; stop", error=error))
    assert (str(outer), outer.for_model) == ("kein Datei; Halt", "no file; stop")
    retry = ToolRetry(tr("no {thing}", thing=tr("file")), "look again")
    assert (str(retry), retry.for_user) == ("no file; look again", "kein Datei")
    assert english("said by the user") == "said by the user"


@pytest.mark.fast
def test_the_language_is_that_of_the_setting_or_the_environment() -> None:
    for env, setting, language in (
        ({"LANG": "de_DE.UTF-8"}, "auto", "de"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8"}, "auto", "en"),
        ({"LANG": "de_AT"}, "auto", "de"),
        ({"LANG": "xx_XX.UTF-8"}, "auto", "en"),
        ({"LANG": "de_DE.UTF-8"}, "en", "en"),
        ({"CLIO_LANGUAGE": "de", "LANG": "C"}, "auto", "de"),
        ({}, "de", "de"),
        ({"LANG": "../../etc"}, "auto", "en"),
        ({}, "auto", "en"),
    ):
        choose_language(env, setting)
        assert get_language() == language, (env, setting)


@pytest.mark.fast
def test_a_written_file_is_read_back() -> None:
    entries = [
        Entry(message='a "b"\\ \n c', translations=("ä\t\n",), files=("x.py", "y.py"), comments=("Where",)),
        Entry(message="{count:,} x", plural="{count:,} xs", translations=("1", "2")),
        Entry(message="long " * 60, translations=("lang " * 60,), is_fuzzy=True),
        Entry(message="open"),
    ]
    text = format_po(HEADER, entries)
    assert list(parse_po(text)) == [Entry(message="", translations=(HEADER,)), *entries]


def test_the_catalogue_matches_the_code() -> None:
    made = subprocess.run(
        [sys.executable, "docs/make_messages.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.stderr == ""


@pytest.mark.parametrize("path", TRANSLATIONS, ids=lambda path: path.stem)
def test_a_translation_has_the_placeholders_of_each_message(path: Path) -> None:
    wrong: list[str] = []
    for entry in list(parse_po(path.read_text("utf-8")))[1:]:
        for text in entry.translations:
            same_ends = (text[0].isspace(), text[-1].isspace()) == (
                entry.message[0].isspace(),
                entry.message[-1].isspace(),
            )
            if fields_of(text) != fields_of(entry.message) or not same_ends:
                wrong.append(f"{entry.message!r}: {text!r}")
    assert wrong == []


def test_german_is_complete() -> None:
    assert "de" in list_languages()
    entries = list(parse_po(Path(get_catalog_path("de")).read_text("utf-8")))[1:]
    assert [entry.message for entry in entries if not entry.translations or entry.is_fuzzy] == []
