"""Corrections in languages other than English that name the former value and the present one."""

import pytest

from clio.memory.consolidation.value_corrections import find_corrected_value


@pytest.mark.parametrize(
    ("old", "correction", "new"),
    [
        ("der Worker lauscht auf Port 7001", "nicht 7001, sondern 7002", "der Worker lauscht auf Port 7002"),
        ("Lena betreut das Tor", "Nicht Lena betreut das Tor, sondern Omar", "Omar betreut das Tor"),
        ("l'API est en version 3", "Version 4, pas 3", "l'API est en version 4"),
        ("el módulo se llama parser", "El módulo no se llama parser, sino lexer", "el módulo se llama lexer"),
        ("o timeout é de 20 segundos", "O timeout é de 25 segundos em vez de 20", "o timeout é de 25 segundos"),
        ("配置在 app.yaml 里", "配置在 app.toml 里，不在 app.yaml 里", "配置在 app.toml 里"),
        ("モジュールの名前は parser です", "parser ではなく lexer です", "モジュールの名前は lexer です"),
    ],
)
def test_a_correction_that_names_both_values_changes_only_the_value(old: str, correction: str, new: str) -> None:
    change = find_corrected_value(old, correction)
    assert change is not None
    assert change.apply(old) == new


@pytest.mark.parametrize(
    ("old", "statement"),
    [
        ("der Worker lauscht auf Port 7001", "in diesem Test nicht 7001, sondern 7002"),
        ("der Worker lauscht auf Port 7001", "nicht 8001, sondern 8002"),
        ("le module s'appelle parser2", "pas parser mais lexer"),
        ("el puerto 80 pasa a 80", "no 80, sino 81"),
        ("端口是 17001", "不是 7001，是 7002"),
        ("der Cache liegt in Redis", "der Fehler liegt nicht im Cache, sondern im Proxy"),
        ("der Build ist gut", "das läuft nicht gut"),
        ("le cache marche bien", "ça ne marche pas bien"),
        ("部署问题找 Omar", "这不是问题，是功能"),
    ],
)
def test_a_statement_without_the_former_value_or_about_the_task_is_not_changed(old: str, statement: str) -> None:
    assert find_corrected_value(old, statement) is None
