"""Requests to forget: which sentences are one, and which memory they refer to."""

import pytest

from clio.memory.consolidation.forget_requests import find_forget_requests, is_meant


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
        ("the port is 4000", "forget everything about ports"),
        ("the port is 4000", "forget everything you know about the port"),
        ("el deploy se hace con make ship", "olvida que el deploy se hace con make ship"),
        ("le port est 4000", "oublie tout sur le port"),
        ("el puerto es 4000", "olvida todo sobre el puerto"),
        ("a porta é 4000", "esquece tudo sobre a porta"),
        ("测试服务器的端口是6000", "忘掉测试服务器的端口"),
        ("部署用 make deploy", "忘记部署的事"),
        ("端口是4000", "忘掉关于端口的一切"),
        ("ポートは4000", "ポートについて全部忘れて"),
        ("テストのポートは6000", "テストのポートを忘れて"),
    ],
)
def test_a_request_matches_its_memory_and_no_other(memory: str, message: str) -> None:
    [request] = find_forget_requests(message)
    assert is_meant(memory, request)
    assert not is_meant("the queue is rabbitmq", request)
    assert not is_meant("die Tests laufen mit pytest", request)


@pytest.mark.parametrize("message", ["scratch that", "nevermind, forget it", "Vergiss das", "Oublie ça", "Olvídalo",
                                     "Esquece isso", "算了，忘掉吧", "今のは忘れて",
                                     "no wait, forget it", "no forget it", "ignore that, I was wrong",
                                     "nein warte, vergiss das", "vergiss das, ich habe mich geirrt",
                                     "oublie ça, je me suis trompé", "olvida eso, me equivoqué",
                                     "esquece isso, me enganei", "忘掉这个，我说错了",
                                     "今のは忘れて、間違えました"])  # fmt: skip
def test_a_request_that_refers_to_the_message_before(message: str) -> None:
    assert [one.kind for one in find_forget_requests(message)] == ["pointing"]


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("we deploy with make ship", "forget that we deploy with make deploy"),
        ("o deploy é feito com make ship", "esquece que o deploy é feito com make deploy"),
        ("el deploy se hace con make ship", "olvida que el deploy se hace con make deploy"),
        ("le deploy se fait avec make ship", "oublie que le deploy se fait avec make deploy"),
        ("wir machen den Deploy mit make ship", "vergiss, dass wir den Deploy mit make deploy machen"),
        ("the port is 4000", "forget that the port is 5000"),
        ("测试服务器的端口是6000", "忘掉测试服务器的端口是6001"),
        ("部署用 make deploy", "忘掉部署用 make ship"),
    ],
)
def test_a_request_that_names_another_value_is_not_about_the_memory(memory: str, message: str) -> None:
    [request] = find_forget_requests(message)
    assert not is_meant(memory, request)


@pytest.mark.parametrize(
    "message",
    [
        "esquece o deploy se o teste falhar",
        "remove everything about ports",
        "忘记部署了",
        "删除端口",
        "テストのポートを消して",
        "don't forget that the cache lives in Redis",
        "não esqueça que os testes precisam de Docker",
        "no olvides que la caché está en Redis",
        "forget the failing test for now",
        "did you forget that the cache lives in Redis?",
        "the log says: forget that the cache lives in Redis",
        "remove it",
        "undo that",
        "forget it, I'll do it myself",
        "never mind, I'll push it myself",
        "forget it, it's Monday",
        "forget it, we ship tomorrow anyway",
        "vergiss es, ich mach's selbst",
        "oublie, je le fais moi-même",
        "算了，我自己来",
        "borra eso",
        "Vergiss erst mal den kaputten Test",
        "失敗するテストはとりあえず忘れて",
    ],
)
def test_other_sentences_ask_to_forget_nothing(message: str) -> None:
    assert not find_forget_requests(message)
