"""Requests to remember in everyday words of six languages that no list has: what they ask for is read behind them."""

import pytest

from clio.memory.preferences.foreign_statements import list_foreign_texts, read_requests


def list_remembered(text: str) -> list[str]:
    parts = list_foreign_texts(text)
    return [one.content for code, part in parts for one in read_requests(part, code)]


@pytest.mark.parametrize(
    ("said", "saved"),
    [
        ("note: der testserver im keller heißt moby", "der testserver im keller heißt moby"),
        ("präg dir gut ein, dass der kran 12 tonnen hebt", "der kran 12 tonnen hebt"),
        ("leg dir ab: die wartung ist um 7:30", "die wartung ist um 7:30"),
        ("info zum aufheben: der einkauf ist bei Selma", "der einkauf ist bei Selma"),
        ("à savoir pour la suite, garde-la : la marge est à 12 %", "la marge est à 12 %"),
        ("pour les prochaines fois retiens-le, le dépôt est à Lille", "le dépôt est à Lille"),
        ("ponlo en tu memoria: hay 4 nodos de etcd", "hay 4 nodos de etcd"),
        ("un dato para tu memoria, el almacén está en Vigo", "el almacén está en Vigo"),
        ("deixa salvo aí que o robô tem 3 eixos", "o robô tem 3 eixos"),
        ("surtout ne pas oublier : le bail finit en mars", "le bail finit en mars"),
        ("bota na memória: multa de 2%", "multa de 2%"),
        ("务必记住，日志存在 /var/log/app", "日志存在 /var/log/app"),
        ("帮忙存个信息：值班电话是 8021", "值班电话是 8021"),
        ("ちゃんと覚えてほしいんだけど、会議室は3階です", "会議室は3階です"),
        ("note: 経理担当は森さん", "経理担当は森さん"),
        ("タイムゾーンは JST で覚えておいて", "タイムゾーンは JST"),
    ],
)
def test_a_request_in_other_words_is_read(said: str, saved: str) -> None:
    assert list_remembered(said) == [saved]


@pytest.mark.parametrize(
    "said",
    [
        "schreib ins readme fürs nächste mal: der port ist 3000",
        "lösch aus dem gedächtnis, dass der kran 12 tonnen hebt",
        "efface de ta mémoire que la marge est à 12 %",
        "borra de tu memoria que hay 4 nodos",
        "apague da memória que o robô tem 3 eixos",
        "salva o arquivo: a porta é 3000",
        "次回のために、テストを書いて",
        "データを保存して、サーバーを再起動する",
        "存个文件：config 是 a.json",
    ],
)
def test_a_task_or_withdrawal_is_no_request_to_remember(said: str) -> None:
    assert list_remembered(said) == []
