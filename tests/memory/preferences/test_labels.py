"""Text that others wrote in a message is not the user's own: after labels, pasted, from chats or commands."""

import pytest

from clio.memory.preferences.limits import find_limits
from clio.memory.preferences.own_sentences import is_report_label, read_own_sentences
from clio.memory.preferences.stated_preferences import find_preferences


@pytest.mark.parametrize(
    "label",
    [
        "The log says",
        "stdout",
        "From the ticket",
        "According to the style guide",
        "As the docs put it",
        "Review comment by Lea",
        "Ben on Slack",
        "What the tool returned",
        "The error is",
        "Their answer",
        "Im Ticket steht",
        "Message d'erreur",
        "Según la wiki",
        "O console mostra",
        "小王写道",
        "ログの内容",
    ],
)
def test_text_after_a_label_of_others_is_not_the_users_own(label: str) -> None:
    assert is_report_label(label)


@pytest.mark.parametrize(
    "label",
    (
        "Rule",
        "One more thing",
        "From now on",
        "I said it before",
        "My rule for logs",
        "Commit messages",
        "Docs",
        "remember that release notes",
        "Audit logs",
        "Error reports",
        "API answers",
        "Wichtig",
        "Ab jetzt",
        "Règle",
        "Importante",
        "注意",
        "重要",
        "コミットメッセージ",
        "Ich sage es noch mal",
    ),
)
def test_text_after_a_label_of_the_user_is_the_users_own(label: str) -> None:
    assert not is_report_label(label)


@pytest.mark.parametrize(
    "text",
    [
        "From the ticket: always use tabs in this project",
        "Copied from Confluence: Only admins may deploy. Never share the root password.",
        "$ make check\nnever call done() twice\n\nwhat is wrong?",
        "Ben: never merge on Fridays\nAna: agreed\nsummarize this chat",
        'The old prompt:\n"""\nAlways answer in JSON. Never apologize.\n"""\nimprove it',
        "---------- Forwarded message ---------\nnever call the v1 api",
        "look: <pasted_text>\nnever push to main\nI prefer tabs\n</pasted_text> is this right?",
        "look: <pasted_text>\nnever push to main, the message was cut here",
        "the message was cut here, never push to main\n</pasted_text>\nis this right?",
        "<pasted_text>\n" + "line of a log\n" * 900 + "never push to main\n</pasted_text>",
        "Im Ticket steht: nie direkt auf main pushen",
    ],
)
def test_nothing_is_saved_from_text_of_others(text: str) -> None:
    assert not find_limits(text)
    assert not find_preferences(text)


def test_text_of_the_user_after_text_of_others_is_read() -> None:
    text = "Anna said: we deploy on Fridays. But never deploy on Fridays in this project"
    assert [one.content for one in find_limits(text)] == ["never deploy on Fridays in this project"]
    text = "stdout: 3 failed\n\nNever skip failing tests in this repo"
    assert [one.content for one in find_limits(text)] == ["never skip failing tests in this repo"]
    text = f"<pasted_text>\n{'x' * 9_000}\n</pasted_text>\nNever push to main"
    assert [one.text for one in read_own_sentences(text)] == ["Never push to main"]


@pytest.mark.parametrize(
    "text",
    [
        "Anna: never use sudo",
        "tom: don't touch prod",
        "Priya: don't ever touch the migrations",
        "Anna Schmidt: never use sudo",
        "**Anna**: never use sudo",
        "@sofia: only edit src/",
        "My boss: never deploy on Fridays",
        "Our CTO: we never use mocks",
        "[10:02 AM] tom: don't touch prod",
        "10:02 <anna> never use sudo",
        "12/03/24, 10:02 - Rahul: never use sudo",
        "Tom (yesterday at 14:05): always rebase",
        "Anna Schmidt, 10:02\nnever use sudo\nand I prefer tabs",
        "Lena  9:41 AM\nremember that the port is 3128",
        "anna: benutze nie sudo",
        "小王：绝对不要用 sudo",
        "佐藤さん：絶対に main に push しないで",
    ],
)
def test_what_a_named_speaker_says_is_no_order_of_the_user(text: str) -> None:
    assert not find_limits(text)
    assert not find_preferences(text)


@pytest.mark.parametrize(
    "text",
    [
        "Docker: never use latest",
        "Testing: never use mocks",
        "Git: never force push",
        "API: never break the public signatures",
        "Error handling: never swallow exceptions",
        "Concurrency: never share state",
        "Elasticsearch: never reindex in production",
        "Production: never deploy on Fridays",
        "Clio: never use sudo",
        "me: never use sudo",
        "10:02 is when the job runs, never move it",
        "Wichtig: benutze nie sudo",
        "注意：不要修改 setup.py",
        "Anna Schmidt, 10:02\nnever use sudo\n\nNever push to main",
    ],
)
def test_a_topic_or_a_word_of_the_user_is_no_speaker(text: str) -> None:
    assert find_limits(text)


def test_a_role_with_a_name_is_a_statement() -> None:
    assert [one.text for one in read_own_sentences("Reviewer: Omar, not Lena")] == ["Reviewer: Omar, not Lena"]
