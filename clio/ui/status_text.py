"""Formats durations, token counts and the line under a finished turn. Pure functions."""

from clio.agent.user_interface import TurnFinished
from clio.messages import Usage
from clio.text.formatting import describe_cache_use, format_count, format_tokens

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_PERIOD_S = 0.1


def format_seconds(seconds: float) -> str:
    """Format a duration: "0.4 s", "12 s", "1 min 05 s", "2 h 03 min"."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = whole // 60
    return f"{minutes // 60} h {minutes % 60:02} min"


def format_usage(usage: Usage) -> str:
    """Format a turn's tokens: "12k in (8.0k cached, 2.0k written), 450 out"; empty if the server reports none."""
    if not usage.prompt_tokens and not usage.completion_tokens:
        return ""
    cached = describe_cache_use(usage.cached_tokens, usage.cache_write_tokens, format_tokens)
    return f"{format_tokens(usage.prompt_tokens)} in{cached}, {format_tokens(usage.completion_tokens)} out"


def format_turn_footer(event: TurnFinished) -> str:
    """Return the line under a turn: steps, tokens, cost if any, seconds."""
    steps = format_count(event.steps, "step")
    cost = event.cost.text if event.cost is not None and event.cost.micro_dollars else ""
    return " · ".join(part for part in (steps, format_usage(event.usage), cost, format_seconds(event.seconds)) if part)


def spinner_frame(seconds: float) -> str:
    """Return the spinner's character after so many seconds."""
    return SPINNER[int(max(seconds, 0.0) / SPINNER_PERIOD_S) % len(SPINNER)]
