"""/cost on a real session and a real ledger."""

from clio.commands.command import CommandResult
from clio.commands.registry import complete_command_line, is_read_only_command, run_command
from clio.messages import UserMessage
from clio.sessions.ledger import LedgerEntry, make_ledger_entries, merge_entries
from clio.sessions.state import Bill
from tests.commands.harness import Harness
from tests.support.wording import mentions


def say(harness: Harness, words: str, at: float, *costs: int | None, steers: bool = False) -> None:
    harness.session.append(UserMessage(content=words, created=at, steers=steers))
    for place, cost in enumerate(costs, 1):
        harness.session.add_bill(
            Bill(model="m", prompt_tokens=1_000, cached_tokens=600, completion_tokens=50, timestamp=at + place,
                 server="openai", cost=cost)
        )  # fmt: skip


def rows(result: CommandResult) -> dict[str, tuple[str, ...]]:
    assert result.table is not None
    return {row[0]: row[1:] for row in result.table.rows}


def test_each_turn_has_the_costs_of_its_own_requests(harness: Harness) -> None:
    say(harness, "fix the parser", 100.0, 10_000, 20_000)
    say(harness, "and faster", 102.5, 5_000, steers=True)
    say(harness, "thanks", 200.0, 1_000)
    assert rows(run_command(harness, "/cost")) == {
        "1  fix the parser": ("3.0k in", "1.8k cached", "150 out", "$0.035"),
        "2  thanks": ("1.0k in", "600 cached", "50 out", "$0.001"),
        "session (2 turns)": ("4.0k in", "2.4k cached", "200 out", "$0.036"),
    }


def test_the_last_ten_turns_are_listed_and_all_are_summed(harness: Harness) -> None:
    for number in range(14):
        say(harness, f"turn {number + 1}", 100.0 * number, 1_000)
    shown = rows(run_command(harness, "/cost"))
    assert [name for name in shown if name[0].isdigit()] == [f"{number}  turn {number}" for number in range(5, 15)]
    assert shown["session (14 turns)"][-1] == "$0.014"


def test_an_unknown_price_makes_the_sum_a_lower_bound(harness: Harness) -> None:
    say(harness, "one", 100.0, None)
    say(harness, "two", 200.0, 30_000)
    shown = rows(run_command(harness, "/cost"))
    assert [cells[-1] for cells in shown.values()] == ["unknown", "$0.03", "$0.03+"]


def test_days_of_this_project_and_of_all_projects(harness: Harness) -> None:
    here = str(harness.loaded.project)
    harness.spending.ledger.add(
        [
            LedgerEntry(date="2026-11-19", project=here, model="m", requests=1, prompt_tokens=10, micro_dollars=40_000),
            LedgerEntry(date="2026-11-20", project=here, model="m", requests=1, prompt_tokens=10, micro_dollars=20_000),
            LedgerEntry(date="2026-11-20", project="/other", model="m", requests=1, micro_dollars=500_000),
        ]
    )
    own = rows(run_command(harness, "/cost days"))
    assert [(name, cells[-1]) for name, cells in own.items()] == [
        ("2026-11-20", "$0.02"), ("2026-11-19", "$0.04"), ("total", "$0.06"),
    ]  # fmt: skip
    assert rows(run_command(harness, "/cost days --all"))["2026-11-20"][-1] == "$0.52"


def test_no_costs_are_reported_in_a_sentence(harness: Harness) -> None:
    assert mentions(run_command(harness, "/cost days").text, "No costs", "this project")
    assert run_command(harness, "/cost").text == "`offline` at offline: no cost."


def test_prices_of_one_server_list_the_users_first(harness: Harness) -> None:
    harness.loaded.home.mkdir(exist_ok=True)
    own = "anthropic:\n  mine: {input: 1, output: 2}\n"
    (harness.loaded.home / "prices.yaml").write_text(own, encoding="utf-8")
    shown = rows(run_command(harness, "/cost prices anthropic"))
    assert next(iter(shown.items())) == ("mine", ("$1.00", "$1.00", "$1.00", "$2.00", "–"))
    assert "claude-sonnet-5-5" in shown
    assert not any(name.startswith("gpt") for name in shown)


def test_costs_can_be_viewed_during_a_turn_but_not_reset() -> None:
    assert [is_read_only_command(line) for line in ("/cost", "/cost days --all", "/cost prices", "/cost rebuild")] == [
        True, True, True, False,
    ]  # fmt: skip


def test_unknown_arguments_are_refused(harness: Harness) -> None:
    for line in ("/cost everything", "/cost days today", "/cost projects x", "/cost rebuild x"):
        assert not run_command(harness, line).ok, line


def test_subcommands_are_completed(harness: Harness) -> None:
    assert {suggestion.text for suggestion, _ in complete_command_line(harness, "/cost ")} == {
        "days",
        "projects",
        "prices",
        "rebuild",
    }
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/cost days --")] == ["--all"]


def test_cache_writes_and_reasoning_tokens_are_listed_if_there_are_any(harness: Harness) -> None:
    harness.session.append(UserMessage(content="think", created=100.0))
    counts = {"prompt_tokens": 1_000, "cached_tokens": 600, "completion_tokens": 50}
    bill = Bill(model="m", **counts, cache_write_tokens=300, reasoning_tokens=40, timestamp=101.0, cost=1_000)
    harness.session.add_bill(bill)
    result = run_command(harness, "/cost")
    assert rows(result)["1  think"] == ("1.0k in", "600 cached", "300 written", "50 out", "$0.001")
    assert mentions(result.text, "40 tokens", "reasoning")
    assert result.data["total"]["cache_write_tokens"] == 300
    lines = make_ledger_entries(harness.session.bills, project="p", session="s", day_of=lambda _: "2026-11-20")
    added = merge_entries([*lines, *lines])
    assert [(one.cache_write_tokens, one.reasoning_tokens) for one in added] == [(600, 80)]
