"""Requests to forget: which sentences are one, and which memory they mean."""

import pytest

from clio.memory.consolidation.withdrawals import find_forget_requests, is_meant


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("the cache lives in Redis", "forget that the cache lives in Redis"),
        ("Anna owns billing", "please delete from your memory that Anna owns billing"),
        ("the proxy port is 3128", "I take back what I said about the proxy port"),
        ("the trial licence ends in June", "what I said about the trial licence is not true any more"),
        ("der Cache liegt in Redis", "Vergiss bitte, dass der Cache in Redis liegt"),
        ("le cache est dans Redis", "Oublie que le cache est dans Redis"),
        ("las versiones salen los martes", "Borra de tu memoria que las versiones salen los martes"),
        ("a porta do proxy é 3128", "Esqueça o que eu disse sobre a porta do proxy"),
        ("代理端口是 3128", "把代理端口从记忆里删掉"),
        ("キャッシュは Redis にあります", "キャッシュが Redis にあることは忘れて"),
    ],
)
def test_a_request_names_its_memory_and_no_other(memory: str, message: str) -> None:
    [request] = find_forget_requests(message)
    assert is_meant(memory, request)
    assert not is_meant("the queue is rabbitmq", request)
    assert not is_meant("die Tests laufen mit pytest", request)


@pytest.mark.parametrize("message", ["scratch that", "nevermind, forget it", "Vergiss das", "Oublie ça", "Olvídalo",
                                     "Esquece isso", "算了，忘掉吧", "今のは忘れて"])  # fmt: skip
def test_a_request_that_only_points(message: str) -> None:
    assert [one.kind for one in find_forget_requests(message)] == ["pointing"]


@pytest.mark.parametrize(
    "message",
    [
        "don't forget that the cache lives in Redis",
        "não esqueça que os testes precisam de Docker",
        "no olvides que la caché está en Redis",
        "forget the failing test for now",
        "did you forget that the cache lives in Redis?",
        "the log says: forget that the cache lives in Redis",
        "remove it",
        "undo that",
        "borra eso",
        "Vergiss erst mal den kaputten Test",
        "失敗するテストはとりあえず忘れて",
    ],
)
def test_other_sentences_ask_to_forget_nothing(message: str) -> None:
    assert not find_forget_requests(message)
