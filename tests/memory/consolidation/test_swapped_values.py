"""Corrections in languages other than English that name the former value and the present one."""

import pytest

from clio.memory.preferences.foreign_statements import swap_value


@pytest.mark.parametrize(
    ("language", "old", "correction", "new"),
    [
        ("de", "der Worker lauscht auf Port 7001", "nicht 7001, sondern 7002", "der Worker lauscht auf Port 7002"),
        ("de", "Lena betreut das Tor", "Nicht Lena betreut das Tor, sondern Omar", "Omar betreut das Tor"),
        ("fr", "l'API est en version 3", "Version 4, pas 3", "l'API est en version 4"),
        ("es", "el módulo se llama parser", "El módulo no se llama parser, sino lexer", "el módulo se llama lexer"),
        ("pt", "o timeout é de 20 segundos", "O timeout é de 25 segundos em vez de 20", "o timeout é de 25 segundos"),
        ("zh", "配置在 app.yaml 里", "配置在 app.toml 里，不在 app.yaml 里", "配置在 app.toml 里"),
        ("ja", "モジュールの名前は parser です", "parser ではなく lexer です", "モジュールの名前は lexer です"),
    ],
)
def test_a_correction_that_names_both_values_changes_only_the_value(
    language: str, old: str, correction: str, new: str
) -> None:
    assert swap_value(old, correction, language) == new


@pytest.mark.parametrize(
    ("language", "old", "statement"),
    [
        ("de", "der Worker lauscht auf Port 7001", "in diesem Test nicht 7001, sondern 7002"),
        ("de", "der Worker lauscht auf Port 7001", "nicht 8001, sondern 8002"),
        ("fr", "le module s'appelle parser2", "pas parser mais lexer"),
        ("es", "el puerto 80 pasa a 80", "no 80, sino 81"),
        ("zh", "端口是 17001", "不是 7001，是 7002"),
        ("de", "der Cache liegt in Redis", "der Fehler liegt nicht im Cache, sondern im Proxy"),
        ("de", "der Build ist gut", "das läuft nicht gut"),
        ("fr", "le cache marche bien", "ça ne marche pas bien"),
        ("zh", "部署问题找 Omar", "这不是问题，是功能"),
    ],
)
def test_a_statement_without_the_former_value_or_about_the_task_is_not_changed(
    language: str, old: str, statement: str
) -> None:
    assert swap_value(old, statement, language) == ""
