"""Each form of an order, a liking and an opinion about answers, with what is made of it."""

import pytest

from clio.memory.preferences.stated_preferences import find_preferences


@pytest.mark.parametrize(
    ("message", "kind", "content", "score", "certain"),
    [
        ("that was way too verbose", "complaint", "verbose answers", 2.0, True),
        ("it's too chatty for my taste", "complaint", "verbose answers", 2.0, True),
        ("you are being too formal", "complaint", "formal answers", 2.0, True),
        ("too wordy again", "complaint", "verbose answers", 2.0, True),
        ("your last answer was too long", "complaint", "long answers", 2.0, True),
        ("too many emojis in your answers", "complaint", "emojis in answers", 2.0, True),
        ("you apologise too much", "complaint", "apologies in answers", 2.0, True),
        ("thanks, I like how concise that was", "praise", "concise answers", 9.0, True),
        ("nice and short", "praise", "short answers", 9.0, True),
        ("short and to the point", "praise", "short answers", 9.0, True),
        ("that was a very clear explanation", "praise", "clear answers", 9.0, True),
        ("great, concise answer", "praise", "concise answers", 9.0, True),
        ("I never want to see emojis", "rule", "never see emojis", 0.5, True),
        ("never use tabs", "rule", "never use tabs", 0.5, True),
        ("don't ever use tabs", "rule", "never use tabs", 0.5, True),
        ("don't use tabs again", "rule", "never use tabs", 0.5, True),
        ("don't add comments", "rule", "don't add comments", 0.5, False),
        ("always run the tests", "rule", "always run the tests", 10.0, True),
        ("stop adding comments", "rule", "stop adding comments", 0.5, True),
        ("no emojis please", "rule", "no emojis", 0.5, False),
        ("from now on run the linter", "rule", "run the linter", 10.0, True),
        ("I prefer tabs over spaces", "preference", "prefer tabs over spaces", 9.0, True),
        ("I love fixtures", "preference", "fixtures", 9.0, True),
        ("I hate mocks", "dislike", "mocks", 2.0, True),
        ("I don't like mocks", "dislike", "mocks", 2.5, True),
        ("I don't want emojis", "dislike", "don't want emojis", 2.0, True),
        ("I'd rather use tabs than spaces", "preference", "rather use tabs than spaces", 9.0, False),
        ("I always write tests first", "preference", "always write tests first", 9.0, False),
        ("we never push on fridays", "rule", "we never push on fridays", 0.5, False),
        ("we always squash commits", "rule", "we always squash commits", 10.0, False),
        ("use httpx instead of requests", "preference", "use httpx instead of requests", 9.0, True),
    ],
)
def test_each_form_of_a_statement_is_read(message: str, kind: str, content: str, score: float, certain: bool) -> None:
    [stated] = find_preferences(message)
    assert (stated.kind, stated.content, stated.score, stated.certain) == (kind, content, score, certain)


@pytest.mark.parametrize("text", ["I love thanks", "I hate in general", "despise anymore"])
def test_words_at_the_end_of_a_sentence_are_no_preference(text: str) -> None:
    assert find_preferences(text) == ()
