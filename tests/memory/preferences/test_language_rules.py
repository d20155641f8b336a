"""Limits, likings and "remember that …" in languages other than English.

The files of tests/memory/preferences/data/languages hold one labelled sentence per line. Every other line is for
development. Those in `blind` were written after the rules, which have not been changed for them since.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from clio.memory.consolidation.forget_requests import find_forget_requests, is_meant
from clio.memory.consolidation.preference_endings import is_ended
from clio.memory.preferences.foreign_statements import (
    LanguageRules,
    detect_language,
    list_foreign_texts,
    read_requests,
)
from clio.memory.preferences.lasting_wishes import find_wishes
from clio.memory.preferences.limits import find_limits
from clio.memory.preferences.rule_files import load_rule_file

DATA = Path(__file__).parent / "data" / "languages"
LANGUAGES = ("de", "es", "fr", "ja", "pt", "zh")
KINDS = ("limit", "remember")


class Line(Struct):
    label: str
    text: str


class Score(Struct):
    """Results for one half. false_lasting: sentences without a limit of which one would be saved without a question."""

    found: int = 0
    wanted: int = 0
    given: int = 0
    false_lasting: int = 0
    missed_limits: int = 0


def lines(path: Path) -> list[Line]:
    found = [Line(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in found if line.label != "correction"]  # the tests of consolidation read these


def score(found: list[Line]) -> Score:
    result = Score()
    for line in found:
        language = detect_language(line.text)
        limits = find_limits(line.text)
        is_stated = any(one.term != "task" for one in limits) or bool(find_wishes(line.text, language))
        kinds = {"limit"} if is_stated else set[str]()
        kinds |= {"remember"} if language and read_requests(line.text, language) else set()
        result.found += line.label in kinds
        result.wanted += line.label in KINDS
        result.given += len(kinds)
        lasting = any(limit.term == "lasting" for limit in limits)
        result.false_lasting += line.label != "limit" and lasting
        result.missed_limits += line.label == "limit" and "limit" not in kinds
    return result


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("half", ["development", "test"])
def test_each_language_is_read_with_few_errors(code: str, half: str) -> None:
    result = score(lines(DATA / f"{code}.txt")[half == "test" :: 2])
    assert result.wanted >= 15
    assert result.found >= 0.85 * result.wanted
    assert result.found >= 0.8 * result.given
    assert result.false_lasting <= 2


def test_of_unseen_sentences_more_are_missed_than_saved_wrongly() -> None:
    results = [score(lines(DATA / "blind" / f"{code}.txt")) for code in LANGUAGES]
    wanted, found = sum(one.wanted for one in results), sum(one.found for one in results)
    assert found >= 0.75 * wanted
    assert found >= 0.9 * sum(one.given for one in results)
    assert sum(one.false_lasting for one in results) < sum(one.missed_limits for one in results)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Verwende niemals Tabs in diesem Projekt.", "de"),
        ("这个项目里不要使用制表符。", "zh"),
        ("タブを使わないでください。", "ja"),
        ("never use tabs in this project", ""),
        ("I'd rather use a set", ""),
        ("add a --no-color flag", ""),
        ("No, a la carte menus are fine", ""),
        ("", ""),
        ("テ", "ja"),
    ],
)
def test_the_language_of_a_message(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_requests_to_remember_and_the_scope_of_a_limit_are_found() -> None:
    [fact] = read_requests("Merk dir bitte, dass die Staging-Datenbank nur lesbar ist.", "de")
    assert fact.content == "die Staging-Datenbank nur lesbar ist"
    [limit] = find_limits("Bitte ändere niemals Dateien in vendor/.")
    assert (limit.content, limit.term, limit.scope) == ("ändere niemals Dateien in vendor/", "lasting", "project")
    [one] = find_limits("Réponds-moi toujours en français.")
    assert (one.term, one.scope) == ("lasting", "user")
    assert [limit.term for limit in find_limits("Mach jetzt bitte noch keinen Commit.")] in ([], ["task"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Bonjour ! Retiens que la base de test s'appelle infl_test.", "la base de test s'appelle infl_test"),
        ("Hola, recuerda que el puerto es 4000.", "el puerto es 4000"),
        ("Bom dia, lembre-se de que a porta é 4000.", "a porta é 4000"),
        ("Moin, merk dir: der Port ist 4000.", "der Port ist 4000"),
    ],
)
def test_a_greeting_before_a_request_to_remember_is_skipped(text: str, what: str) -> None:
    assert [one.content for one in read_requests(text, detect_language(text))] == [what]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Vergiss nicht, die Tests laufen zu lassen.", ""),
        ("Denk daran, vor dem Push die Doku zu aktualisieren!", ""),
        ("Denk dran, dass der Port 9090 ist", "der Port 9090 ist"),
        ("Merke: der Port ist 9090", "der Port ist 9090"),
        ("N'oublie pas de lancer les tests", ""),
        ("N'oublie pas que le port est 9090", "le port est 9090"),
        ("No olvides ejecutar los tests", ""),
        ("Recuerda que el puerto es 9090", "el puerto es 9090"),
        ("Não esqueças de rodar os testes", ""),
        ("Lembre que a porta do servidor é 9090", "a porta do servidor é 9090"),
        ("别忘了跑测试", ""),
        ("别忘了端口是 9090", "端口是 9090"),
        ("テストを実行するのを忘れないでください", ""),
        ("Merk dir das: Prod ist in Frankfurt", "Prod ist in Frankfurt"),
        ("Merk dir, dass Webhooks dreimal versuchen, ok?", "Webhooks dreimal versuchen"),
        ("Kannst du dir merken, dass unsere API Limits hat?", "unsere API Limits hat"),
        ("Kannst du dir merken, wo der Port steht?", ""),
        ("Merk dir, dass der Port 4000 ist, oder?", ""),
        ("Retiens ceci : la prod est à Francfort", "la prod est à Francfort"),
        ("Peux-tu retenir que notre API a des limites ?", "notre API a des limites"),
        ("Recuerda esto: producción está en Fráncfort", "producción está en Fráncfort"),
        ("¿Puedes recordar que el puerto es 4000?", "el puerto es 4000"),
        ("Lembre disto: a produção fica em Frankfurt", "a produção fica em Frankfurt"),
        ("Lembra que nossa API tem limites, tá?", "nossa API tem limites"),
        ("记住这一点：生产环境在法兰克福", "生产环境在法兰克福"),
        ("记住我们的API有限流，好吗？", "我们的API有限流"),
    ],
)
def test_a_reminder_of_a_task_is_not_remembered(text: str, what: str) -> None:
    found = [one.content for one in read_requests(text, detect_language(text))]
    assert found == ([what] if what else [])
    assert find_limits(text) == ()


@pytest.mark.parametrize("line", (DATA.parent / "requests_to_remember.txt").read_text(encoding="utf-8").splitlines())
def test_everyday_requests_to_remember_are_read(line: str) -> None:
    text, _, fact = line.partition("\t")
    found = [one.content for code, part in list_foreign_texts(text) for one in read_requests(part, code)]
    assert found == ([fact] if fact else [])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("merk dir: der Port ist 4000, und erkläre calc.py", "der Port ist 4000"),
        ("merk dir, dass wir uv nutzen, und dann behebe die Tests", "wir uv nutzen"),
        ("merk dir: der Dienst startet um 3 und schreibt die Logs", "der Dienst startet um 3 und schreibt die Logs"),
        ("merk dir: bei Fehlern stoppen wir, und prüfe die Logs immer zuerst",
         "bei Fehlern stoppen wir, und prüfe die Logs immer zuerst"),
        ("retiens que le port est 4000, et explique calc.py", "le port est 4000"),
        ("retiens que le port est 4000 puis corrige les tests", "le port est 4000"),
        ("recuerda que usamos uv y luego arregla las pruebas", "usamos uv"),
        ("recuerda que el bot abre tickets y actualiza la tabla", "el bot abre tickets y actualiza la tabla"),
        ("retiens que le bot ouvre un ticket et corrige la table", "le bot ouvre un ticket et corrige la table"),
        ("lembre que o bot abre tickets e atualiza a tabela", "o bot abre tickets e atualiza a tabela"),
        ("记住服务读取队列，并更新表", "服务读取队列，并更新表"),
        ("lembre que a porta é 4000, e explique calc.py", "a porta é 4000"),
        ("记住端口是4000，然后解释calc.py", "端口是4000"),
    ],
)  # fmt: skip
def test_a_task_after_a_request_to_remember_is_not_part_of_it(text: str, what: str) -> None:
    found = [one.content for one in read_requests(text, detect_language(text))]
    assert found == [what]


@pytest.mark.parametrize(
    ("text", "is_limit"),
    [
        ("fass den Ordner vendor nicht an", True),
        ("Bitte rührt die Migrationen nicht mehr an", True),
        ("fass das nicht falsch auf", False),
        ("nunca mais commite segredos na main", True),
        ("nunca mais funcionou na minha máquina", False),
        ("nunca use sudo", True),
        ("nunca usa sudo", True),
        ("por favor nunca usem sudo", True),
        ("nunca edite setup.py", True),
        ("jamais use sudo", True),
        ("nunca falla", False),
        ("nunca funciona sudo", False),
        ("touche pas à prod.yaml", True),
        ("utilise pas sudo", True),
        ("faites pas de push sur main", True),
        ("pousse jamais sur main", True),
        ("le test touche pas la base", False),
        ("touche pas mal de fichiers", False),
    ],
)
def test_prohibitions_with_separable_verbs_and_of_past_actions(text: str, is_limit: bool) -> None:
    assert bool([one for one in find_limits(text) if one.term != "task"]) is is_limit


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("ich bevorzuge kleine Module, aber verwende nie Metaklassen", "verwende nie Metaklassen"),
        ("j'apprécie les tests, mais n'utilise jamais de mocks", "n'utilise jamais de mocks"),
        ("me encantan los tipos, pero nunca uses Any", "nunca uses Any"),
        ("gosto de tipos, mas nunca use Any", "nunca use Any"),
        ("我喜欢类型标注，但是绝对不要使用Any", "绝对不要使用Any"),
        ("型注釈が好きですが、Anyは絶対に使わないでください", "Anyは絶対に使わないでください"),
        ("mag kurze Funktionen, aber nie mehr als drei Parameter", "nie mehr als drei Parameter"),
        ("ich mag kurze Commits, aber nie mit Emojis", "ich mag kurze Commits, aber nie mit Emojis"),
        (
            "j'aime les commits courts, mais jamais avec des emojis",
            "j'aime les commits courts, mais jamais avec des emojis",
        ),
        ("me gustan los commits cortos, pero nunca con emojis", "me gustan los commits cortos, pero nunca con emojis"),
        ("gosto de commits curtos, mas nunca com emojis", "gosto de commits curtos, mas nunca com emojis"),
    ],
)
def test_a_limit_after_a_preference_is_found(text: str, limit: str) -> None:
    assert [(one.content, one.term) for one in find_limits(text)] == [(limit, "lasting")]


@pytest.mark.parametrize(
    "text",
    [
        "auf Staging läuft das nie",
        "ich sehe nie eine Meldung",
        "mein Account ist gesperrt",
        "le serveur ne répond jamais",
        "mon compte est bloqué",
        "los tests siempre fallan",
        "mi cuenta está bloqueada",
        "o servidor nunca responde",
        "minha conta está bloqueada",
        "服务器一直没有响应",
        "サーバーはいつも落ちる",
    ],
)
def test_a_report_about_a_program_is_no_limit(text: str) -> None:
    assert find_limits(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "auf Produktion nie Migrationen ausführen",
        "auf main niemals force-pushen",
        "en production ne jamais lancer de migrations",
        "en producción nunca ejecutes migraciones",
        "em produção nunca rode migrações",
        "在生产环境永远不要运行迁移",
        "während des Freeze nichts mergen",
    ],
)
def test_a_limit_is_saved_with_its_place_or_not_at_all(text: str) -> None:
    assert all(one.content == text for one in find_limits(text))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("schau dir die Ausnahmen an und merk dir, dass der Job Igel heißt", ["der Job Igel heißt"]),
        ("corrige le test et retiens que le job de nuit s'appelle owl", ["le job de nuit s'appelle owl"]),
        ("corrige el test y recuerda que el job nocturno se llama owl", ["el job nocturno se llama owl"]),
        ("corrija o teste e lembre que o job noturno se chama owl", ["o job noturno se chama owl"]),
        ("修复测试，并且记住夜间任务叫 owl", ["夜间任务叫 owl"]),
        ("er sagte, merk dir, dass alles rot ist", []),
        ("il a dit, retiens que tout est rouge", []),
    ],
)
def test_a_request_to_remember_after_a_task_is_kept(text: str, what: list[str]) -> None:
    assert [one.content for one in read_requests(text, detect_language(text))] == what


@pytest.mark.parametrize(
    ("text", "kind", "thing"),
    [
        ("Ich bevorzuge Tabs gegenüber Leerzeichen.", "liking", "Tabs gegenüber Leerzeichen"),
        ("Ich mag kurze Antworten.", "liking", "kurze Antworten"),
        ("Ich hasse Mocks.", "dislike", "Mocks"),
        ("Ich mag keine langen Funktionen.", "dislike", "langen Funktionen"),
        ("Je préfère les tabulations.", "liking", "les tabulations"),
        ("J'aime les réponses courtes.", "liking", "les réponses courtes"),
        ("Je n'aime pas les longues fonctions.", "dislike", "les longues fonctions"),
        ("Prefiero comillas dobles.", "liking", "comillas dobles"),
        ("Odio los mocks.", "dislike", "los mocks"),
        ("No me gustan los comentarios largos.", "dislike", "los comentarios largos"),
        ("Não gosto de funções longas.", "dislike", "funções longas"),
        ("mir ist lieber, wenn du zuerst Tests schreibst", "liking", "wenn du zuerst Tests schreibst"),
        ("mich nervt es wenn du alles kommentierst", "dislike", "wenn du alles kommentierst"),
        ("j'aime quand tu expliques en deux phrases", "liking", "quand tu expliques en deux phrases"),
        ("ça m'énerve que tu réécrives tout", "dislike", "que tu réécrives tout"),
        ("me gusta cuando explicas con ejemplos", "liking", "cuando explicas con ejemplos"),
        ("me molesta que reescribas archivos enteros", "dislike", "que reescribas archivos enteros"),
        ("gosto quando você mostra diffs", "liking", "quando você mostra diffs"),
        ("odeio quando a resposta é enorme", "dislike", "quando a resposta é enorme"),
        ("我喜欢你用中文回答", "liking", "你用中文回答"),
        ("箇条書きのほうが読みやすい", "liking", "箇条書き"),
        ("短く答えてくれると助かる", "liking", "短く答えてくれる"),
        ("長い前置きは苦手", "dislike", "長い前置き"),
    ],
)
def test_likes_and_dislikes_are_found_and_saved_as_the_thing_itself(text: str, kind: str, thing: str) -> None:
    [found] = [one.statement for one in find_wishes(text, detect_language(text))]
    assert (found.kind, found.content) == ("dislike" if kind == "dislike" else "preference", thing)


@pytest.mark.parametrize(
    "text",
    [
        "Ich mag das nicht.",
        "Ich bevorzuge die zweite Variante.",
        "Ich hasse diesen Bug.",
        "Ich liebe es, wenn Tests grün sind.",
        "Kannst du prüfen, ob ich Tabs bevorzuge?",
        "Mir gefällt das Layout nicht.",
        "Je préfère que tu relances les tests.",
        "Je préfère attendre demain.",
        "J'aime bien ta solution.",
        "Prefiero que lo hagas tú.",
        "Prefiero la primera.",
        "Odio este error.",
        "Ich mag, dass du das gefixt hast.",
        "J'aime quand les tests passent.",
        "J'aime que tu aies corrigé ça.",
        "Me gusta lo que hiciste.",
        "Me gusta cuando los tests pasan.",
        "Gosto que você fez isso.",
        "我喜欢你的方案",
        "この案が好き",
    ],
)
def test_an_opinion_about_the_task_is_no_preference(text: str) -> None:
    assert find_wishes(text, detect_language(text) or "de") == []


@pytest.mark.parametrize(
    ("text", "liked", "limit"),
    [
        ("ich mag kleine Funktionen, aber hör auf mit Einzeilern", "kleine Funktionen", "hör auf mit Einzeilern"),
        ("ich steh auf Typannotationen, aber spar dir die Docstrings", "Typannotationen", "spar dir die Docstrings"),
        ("j'adore tes plans au début, par contre arrête de renommer les variables",
         "tes plans au début", "arrête de renommer les variables"),
        ("j'aime les petits diffs mais évite les abréviations", "les petits diffs", "évite les abréviations"),
        ("me gustan los tests cortos pero deja de añadir logs", "los tests cortos", "deja de añadir logs"),
        ("me encanta que expliques poco, eso sí basta de emojis", "que expliques poco", "basta de emojis"),
        ("gosto de nomes longos mas para de criar pastas novas", "nomes longos", "para de criar pastas novas"),
        ("我喜欢小函数，不过别再写多余的注释", "小函数", "别再写多余的注释"),
        ("短い関数が好き、ただし勝手にリネームするのはやめて", "短い関数", "勝手にリネームするのはやめて"),
    ],
)  # fmt: skip
def test_a_limit_beside_a_liking_is_read_with_it(text: str, liked: str, limit: str) -> None:
    assert [one.content for one in find_limits(text)] == [limit]
    assert [one.statement.content for one in find_wishes(text, detect_language(text))] == [liked]


@pytest.mark.parametrize(
    "text",
    ["hör auf", "der Test hört auf zu laufen", "arrête", "le test s'arrête de tourner", "para", "o build para de rodar",
     "el servidor deja de responder"],
)  # fmt: skip
def test_what_stops_is_no_limit(text: str) -> None:
    assert find_limits(text) == ()


def test_a_preference_alone_is_no_limit() -> None:
    assert find_limits("ich mag kurze Funktionen und klare Namen") == ()
    assert find_limits("me gustan los tests y la documentación") == ()
    assert find_limits("me gusta el diseño, pero nunca funciona") == ()
    assert find_limits("gosto do projeto, mas nunca termina") == ()


@pytest.mark.parametrize(
    "text",
    [
        "Du musst mich nicht mehr fragen, bevor du etwas installierst.",
        "du musst keine Docstrings mehr schreiben",
        "du darfst Dateien jetzt ändern, ohne mich zu fragen",
        "tu peux committer sans me demander maintenant",
        "tu n'as plus besoin de me demander avant de committer",
        "ya no hace falta que me preguntes antes de instalar algo",
        "ça ne marche plus",
    ],
)
def test_a_permission_or_the_end_of_a_duty_is_no_limit(text: str) -> None:
    assert find_limits(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Ne touche plus au dossier legacy",
        "n'utilise plus print",
        "demande-moi avant de committer",
        "pregúntame antes de instalar algo",
        "du darfst nie pushen",
    ],
)
def test_prohibitions_and_duties_to_ask_are_limits(text: str) -> None:
    assert [(one.content, one.term) for one in find_limits(text)] == [(text, "lasting")]


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_data_file_has_all_rules(code: str) -> None:
    rules = load_rule_file(code, LanguageRules)
    assert rules.skip and rules.remember and rules.joint and rules.english


def test_an_english_message_reads_only_the_english_rules() -> None:
    program = (
        "from pathlib import Path\n"
        "read, read_bytes = [], Path.read_bytes\n"
        "Path.read_bytes = lambda path: read.append(path) or read_bytes(path)\n"
        "from clio.memory.preferences.limits import find_limits\n"
        "assert find_limits('never use tabs in this project')\n"
        "print(*sorted(path.name for path in read if path.parent.name == 'languages'))"
    )
    read = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert read == "about_user.json detection.json en.json wishes.json\n"


def test_a_long_message_in_one_language_is_read_quickly() -> None:
    text = "Verwende bitte den Parser und schreib den Test dazu, wenn es geht. " * 2_000
    assert read_requests(text, "de") == ()


@pytest.mark.parametrize(
    "text",
    [
        "the linux build uses clang 17", "the windows build uses msvc 2022", "the plus plan costs 5 euro",
        "job backup-eu ends at 04:00", "the eu shard has the old index", "feature flag new_menu is off",
        "base image of the worker is alpine", "run it as root on staging", "comment lines begin with #",
    ],
)  # fmt: skip
def test_a_word_that_is_also_english_does_not_decide_the_language(text: str) -> None:
    assert detect_language(text) == ""


def test_one_word_unique_to_a_language_decides_it() -> None:
    assert detect_language("nunca uses tabs") == "es"
    assert detect_language("pour les tests, utilise pytest") == "fr"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Fix the bug. Fass niemals prod.yaml an.", "Fass niemals prod.yaml an"),
        ("Fix the parser first. Ne touche jamais à prod.yaml.", "Ne touche jamais à prod.yaml"),
        ("Fix the failing tests in the importer. No toques nunca prod.yaml.", "No toques nunca prod.yaml"),
        ("Please fix the parser bug. 绝不要修改 prod.yaml。", "绝不要修改 prod.yaml"),
        ("Please fix the parser bug. prod.yamlは絶対に変更しないでください。", "prod.yamlは絶対に変更しないでください"),
    ],
)
def test_a_limit_in_another_language_after_an_english_sentence_is_found(text: str, limit: str) -> None:
    assert [one.content for one in find_limits(text)] == [limit]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Für Hotfixes immer einen release branch nehmen, never directly on main.", "hotfixes immer einen release"),
        ("No mocks in den Integration Tests, wir nutzen testcontainers.", "no mocks in den"),
        ("Always 用 pnpm，不要用 npm install。", "always 用 pnpm"),
        ("Prefiero los commits pequeños, pero never hagas force push.", "never hagas force push"),
        ("Danke! Never push to the release branch.", "never push to the release branch"),
        ("The build is green. Bitte niemals auf main pushen.", "niemals auf main pushen"),
    ],
)
def test_a_limit_may_mix_languages_and_keeps_the_users_wording(text: str, limit: str) -> None:
    assert [one.content.casefold() for one in find_limits(text) if limit in one.content.casefold()]


@pytest.mark.parametrize(
    "text",
    [
        "Kannst du das erklären?\nNever use eval in production code.",  # a line copied from a document
        "这个 function never returns null 的 bug 修一下",  # describes what a program does
        "Der Test ruft `never()` auf, das ist falsch.",
        "Warum steht dort „always use tabs“?",
        "Füge den Hinweis „Dateien nie löschen“ hinzu.",
        "「絶対に閉じないでください」と表示してください。",
        "Kannst du prüfen warum das immer fehlschlägt?",  # one task, without the comma
        "Kannst du erklären wie man nie wieder Konflikte bekommt?",
        "Don't know warum das immer passiert",  # an English phrase that forbids nothing
        "no idea pourquoi ça ne marche jamais",
        "Don't know por qué siempre falla el test de la API",
        "别的测试也失败了，看一下",  # asks for another test; the same character begins prohibitions
        "Nur der erste Test läuft immer.",  # describes what happens, not what should happen
        "Solo la primera prueba falla siempre.",
        "Só o primeiro teste falha sempre.",
        "いつも失敗するので直してください。",  # what happens is the reason for a task
    ],
)
def test_copied_or_descriptive_english_in_a_message_of_another_language_is_no_limit(text: str) -> None:
    assert [one for one in find_limits(text) if one.term != "task"] == []


@pytest.mark.parametrize(
    ("text", "is_limit"),
    [
        ("eval は使わないでほしいです。", True),
        ("ライブラリを勝手に追加しないでもらえますか？", True),
        ("npm は使用禁止でお願いします。", True),
        ("履歴を消しちゃだめだよ。", True),
        ("リベースはやめてください。", True),
        ("この関数は例外を投げないで None を返すようにして。", False),
        ("テストが落ちるのはダメです。", False),
        ("今回はリベースしないで。", False),
        ("请勿修改 LICENSE。", True),
        ("これからは必ず型ヒントを付けて", True),
        ("これから家に帰って", False),
        ("用户不可以重复提交表单，帮我实现。", False),
    ],
)
def test_prohibitions_in_japanese_and_chinese(text: str, is_limit: bool) -> None:
    assert bool([one for one in find_limits(text) if one.term != "task"]) is is_limit


@pytest.mark.parametrize(
    ("limit", "statement", "is_lifted"),
    [
        ("マイグレーションは絶対に変更しないで", "これからはマイグレーションを変更してもいいです。", True),
        ("必ず CHANGELOG を更新してください", "もう CHANGELOG を更新しなくていい。", True),
        ("必ず CHANGELOG を更新してください", "README は更新しなくていい。", False),
        ("绝对不要改 schema.sql", "schema.sql 现在可以改了。", True),
        ("每次发布前必须跑 lint", "以后发布前不用跑 lint 了。", True),
        ("never use sudo", "Ab jetzt darfst du sudo benutzen.", True),
        ("Nie sudo benutzen", "Now you can use sudo.", True),
        ("never use sudo", "Ab jetzt darfst du docker benutzen.", False),
        ("nunca use sudo", "A proibição do sudo já não vale.", True),
        ("nunca use sudo", "A proibição do sudo não vale hoje.", False),
    ],
)
def test_permissions_and_duties_are_revoked_in_any_language(limit: str, statement: str, is_lifted: bool) -> None:
    is_forgotten = any(is_meant(limit, one) for one in find_forget_requests(statement))
    assert (is_forgotten or is_ended(limit, statement)) is is_lifted


def test_a_name_with_a_leading_dot_keeps_the_dot() -> None:
    [limit] = find_limits(".env は絶対に開かないでください。")
    assert limit.content.startswith(".env")


def test_an_instruction_about_npm_is_not_taken_for_npm_output() -> None:
    assert find_limits("npm は使用禁止です。\nnpm は遅いからです。")
    assert find_limits("npm ERR! never run this as root") == ()
