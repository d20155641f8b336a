"""The size limit of one result, and the notice about tools that do not fit."""

from clio.tools.base import OmittedTools, PageSize
from tests.support.rows import each_row


@each_row(
    ("free", "room", "calls", "least", "most"),
    [
        (400_000, 400_000, 1, 24_000, 24_000),  # a large window: nothing changes
        (60_000, 60_000, 1, 8_000, 15_000),
        (60_000, 60_000, 10, 3_000, 6_000),
        (0, 60_000, 1, 1_000, 6_000),  # a trim happens before the next request
        (0, 4_000, 1, 1_000, 5_000),
    ],
)
def test_the_limit_follows_the_free_space(free: int, room: int, calls: int, least: int, most: int) -> None:
    size = PageSize(24_000)
    size.fit_to_window(free, room, calls)
    assert least <= size.chars <= most


def test_the_limit_has_a_maximum() -> None:
    size = PageSize(2_000)
    size.fit_to_window(1_000_000, 1_000_000)
    assert size.chars == 2_000


def test_omitted_tools_are_named_to_user_and_model() -> None:
    left = OmittedTools(own=("apply_patch",), servers=("mcp_a_draw", "mcp_a_paint"), offered=9)
    (fragment,) = left.fragments()
    for name in ("apply_patch", "mcp_a_draw", "mcp_a_paint"):
        assert name in left.description and name in fragment.text
    assert "2 of 9" in left.description
    assert OmittedTools().fragments() == [] and OmittedTools().names == ()
