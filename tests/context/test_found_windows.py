"""Window sizes learned from refusals, on disk: by server and model, for some days, until the user sets another."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clio.config.schema import Config
from clio.context.learned_limits import LIFE_DAYS, MAX_WINDOWS, WINDOWS_FILE_NAME, LearnedWindows
from clio.providers.base import LIMIT_NAMED, LIMIT_REFUSED, ModelLimits, Provider
from clio.providers.offline import OfflineProvider
from clio.providers.registry import make_provider
from tests.support.clock import Clock

ANNOUNCED = ModelLimits(context_window=32_000, max_output_tokens=8_000, source="default")
DAY_S = 86_400.0
BEGUN = 1_000_000.0


@pytest.fixture
def clock() -> Clock:
    return Clock(BEGUN)


def at(url: str, model: str = "m") -> Provider:
    return make_provider(Config(base_url=url, model=model), {})


HERE = at("http://127.0.0.1:8080/v1")


def book(home: Path | None, clock: Clock, notices: list[str] | None = None) -> LearnedWindows:
    return LearnedWindows(home, (notices if notices is not None else []).append, clock)


def learn(
    home: Path | None, clock: Clock, tokens: int, source: str = LIMIT_NAMED, provider: Provider = HERE
) -> LearnedWindows:
    """Make a clio that begins with the announced size and is refused."""
    found = book(home, clock)
    found.fit_limits(provider, ANNOUNCED)
    found.save_window(provider, structs.replace(ANNOUNCED, context_window=tokens, source=source))
    return found


def test_the_next_clio_begins_with_it(tmp_path: Path, clock: Clock) -> None:
    learn(tmp_path, clock, 8_192)
    expected = ModelLimits(context_window=8_192, max_output_tokens=4_096, source=LIMIT_NAMED)
    assert book(tmp_path, clock).fit_limits(HERE, ANNOUNCED) == expected
    stored = json.loads((tmp_path / WINDOWS_FILE_NAME).read_text(encoding="utf-8"))
    row = {"tokens": 8_192, "said": 32_000, "source": LIMIT_NAMED, "found": BEGUN}
    assert stored == {"schema": "clio.windows", "version": 1, "windows": {"127.0.0.1:8080 m": row}}


@pytest.mark.parametrize(
    "other", [at("http://127.0.0.1:8081/v1"), at("http://127.0.0.1:8080/v1", "n"), OfflineProvider()]
)
def test_another_server_or_model_has_its_announced_size(tmp_path: Path, clock: Clock, other: Provider) -> None:
    learn(tmp_path, clock, 8_192)
    assert book(tmp_path, clock).fit_limits(other, ANNOUNCED) == ANNOUNCED


@pytest.mark.parametrize(
    "said",
    [
        structs.replace(ANNOUNCED, context_window=16_384, source="server"),  # restarted with more, and its list says so
        structs.replace(ANNOUNCED, context_window=8_192, source="server"),
        structs.replace(ANNOUNCED, source="config"),  # the user's setting
    ],
)
def test_an_explicit_larger_size_is_used(tmp_path: Path, clock: Clock, said: ModelLimits) -> None:
    learn(tmp_path, clock, 8_192)
    assert book(tmp_path, clock).fit_limits(HERE, said) == said


@pytest.mark.parametrize("source", [LIMIT_NAMED, LIMIT_REFUSED])
def test_after_some_days_more_is_tried_again(tmp_path: Path, clock: Clock, source: str) -> None:
    learn(tmp_path, clock, 8_192, source)
    clock.now = BEGUN + LIFE_DAYS[source] * DAY_S - 1
    assert book(tmp_path, clock).fit_limits(HERE, ANNOUNCED).context_window == 8_192
    clock.now += 1
    assert book(tmp_path, clock).fit_limits(HERE, ANNOUNCED) == ANNOUNCED
    learn(tmp_path, clock, 8_192, source)  # refused again: the days start again
    clock.now += 1
    assert book(tmp_path, clock).fit_limits(HERE, ANNOUNCED).source == source
    clock.now = BEGUN  # a clock that was set back: nothing was learned in the future
    assert book(tmp_path, clock).fit_limits(HERE, ANNOUNCED) == ANNOUNCED


def test_using_it_does_not_extend_its_lifetime(tmp_path: Path, clock: Clock) -> None:
    learn(tmp_path, clock, 8_192)
    before = (tmp_path / WINDOWS_FILE_NAME).read_bytes()
    clock.now += DAY_S
    later = book(tmp_path, clock)
    later.save_window(HERE, later.fit_limits(HERE, ANNOUNCED))
    assert (tmp_path / WINDOWS_FILE_NAME).read_bytes() == before


def test_a_size_set_by_the_user_is_never_saved(tmp_path: Path, clock: Clock) -> None:
    found = book(tmp_path, clock)
    found.fit_limits(HERE, structs.replace(ANNOUNCED, source="config"))
    found.save_window(HERE, structs.replace(ANNOUNCED, context_window=8_192, source=LIMIT_NAMED))
    assert not (tmp_path / WINDOWS_FILE_NAME).exists()


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([(9_000, LIMIT_REFUSED), (8_500, LIMIT_REFUSED)], (8_500, LIMIT_REFUSED)),
        (
            [(8_500, LIMIT_REFUSED), (9_000, LIMIT_REFUSED)],
            (8_500, LIMIT_REFUSED),
        ),  # another session of this run, refused later
        ([(6_000, LIMIT_REFUSED), (8_192, LIMIT_NAMED)], (8_192, LIMIT_NAMED)),
        ([(8_192, LIMIT_NAMED), (8_000, LIMIT_REFUSED)], (8_000, LIMIT_REFUSED)),
    ],
)
def test_the_smallest_counts_and_a_number_takes_precedence_over_a_guess(
    tmp_path: Path, clock: Clock, steps: list[tuple[int, str]], kept: tuple[int, str]
) -> None:
    found = book(tmp_path, clock)
    found.fit_limits(HERE, ANNOUNCED)
    for tokens, source in steps:
        found.save_window(HERE, structs.replace(ANNOUNCED, context_window=tokens, source=source))
    limits = book(tmp_path, clock).fit_limits(HERE, ANNOUNCED)
    assert (limits.context_window, limits.source) == kept


def test_no_key_in_a_url_is_saved(tmp_path: Path, clock: Clock) -> None:
    provider = at("http://person:open-sesame@127.0.0.1:8080/tunnel/secret-part/v1")
    learn(tmp_path, clock, 8_192, provider=provider)
    text = (tmp_path / WINDOWS_FILE_NAME).read_text(encoding="utf-8")
    assert "127.0.0.1:8080 m" in text
    assert not any(part in text for part in ("person", "open-sesame", "secret-part"))


def test_without_a_home_folder_it_counts_for_this_run(tmp_path: Path, clock: Clock) -> None:
    found = learn(None, clock, 8_192)
    assert found.fit_limits(HERE, ANNOUNCED).context_window == 8_192
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_a_size_limit(tmp_path: Path, clock: Clock) -> None:
    rows = {f"h m{number}": row(number) for number in range(MAX_WINDOWS)}
    (tmp_path / WINDOWS_FILE_NAME).write_text(json.dumps({"version": 1, "windows": rows, "later": 1}), encoding="utf-8")
    learn(tmp_path, clock, 8_192)
    stored = json.loads((tmp_path / WINDOWS_FILE_NAME).read_text(encoding="utf-8"))
    assert list(stored["windows"]) == [*list(rows)[1:], "127.0.0.1:8080 m"]
    assert stored["later"] == 1


def row(number: int) -> dict[str, Any]:
    return {"tokens": 1_000 + number, "said": 32_000, "source": LIMIT_NAMED, "found": 0.0}


@pytest.mark.parametrize("content", ["{", '{"windows": {"127.0.0.1:8080 m": 8192}}', "[]"])
def test_a_corrupt_file_is_moved_aside_with_one_sentence(tmp_path: Path, clock: Clock, content: str) -> None:
    (tmp_path / WINDOWS_FILE_NAME).write_text(content, encoding="utf-8")
    notices: list[str] = []
    found = book(tmp_path, clock, notices)
    assert found.fit_limits(HERE, ANNOUNCED) == ANNOUNCED
    found.save_window(HERE, structs.replace(ANNOUNCED, context_window=8_192, source=LIMIT_NAMED))
    assert book(tmp_path, clock).fit_limits(HERE, ANNOUNCED).context_window == 8_192
    assert len(notices) == 1
    assert "renamed to 'windows.json.corrupt-" in notices[0]


def test_offline_has_no_window_to_learn(tmp_path: Path, clock: Clock) -> None:
    offline = OfflineProvider()
    limits = asyncio.run(offline.limits())
    found = book(tmp_path, clock)
    found.save_window(offline, found.fit_limits(offline, limits))
    assert list(tmp_path.iterdir()) == []
