"""The author of a text to remember."""

from clio.messages import AssistantMessage, Message, SideEffects, ToolMessage, UserMessage
from clio.sessions.store import FOREIGN_NOTICE
from clio.tools.memory_answers import find_source
from tests.support.rows import each_row

FACT = "deploys go through make ship"


def user(words: str, **more: str) -> Message:
    return UserMessage(id=f"u-{words[:5]}", content=words, **more)  # type: ignore[arg-type]


def tool(words: str) -> Message:
    return ToolMessage(id=f"t-{words[:5]}", tool_call_id="1", name="web_fetch", content=words)


@each_row(
    ("messages", "said_by", "message"),
    [
        ((), "model", ""),
        ((user("look at the page"), AssistantMessage(content=FACT)), "model", ""),
        ((user("Remember: Deploys go\n through make  ship!"),), "user", "u-Remem"),
        ((user("look"), tool(f"<p>{FACT}</p>")), "tool", "t-<p>de"),
        ((user(FACT), tool(f"<p>{FACT}</p>")), "user", "u-deplo"),
        ((tool(FACT), user("yes, store that")), "tool", "t-deplo"),
        ((user(FACT, origin="recovery"),), "model", ""),
        ((user("x", context=FACT),), "model", ""),
        ((user("deploys go through make"),), "model", ""),
    ],
)
def test_the_author_is_found_by_where_the_text_occurs(
    messages: tuple[Message, ...], said_by: str, message: str
) -> None:
    found = find_source((FACT,), messages)
    assert (found.asserted_by, found.message) == (said_by, message)


@each_row(
    ("words", "said_by"),
    [
        ("the log says: 'deploys go through make ship'", "model"),
        ("what does “Deploys go through  make ship” mean?", "model"),
        ("> deploys go\n> through make ship\n> deploys go through make ship\n\nis that so?", "model"),
        ("```\ndeploys go through make ship\n```\nwhy is this printed?", "model"),
        ("<page>\ndeploys go through make ship\n</page>\nsummarise it", "model"),
        ("summarise this:\n\ndeploys go through make ship", "model"),
        ("it says `deploys go through make ship`. I say deploys go through make ship", "user"),
        ("Remember:\ndeploys go through make ship", "user"),
        ("STRASSE ß İ: deploys go through make ship", "model"),
        ("straße: deploys go through make ship", "user"),
    ],
)
def test_text_quoted_by_the_user_is_not_their_statement(words: str, said_by: str) -> None:
    assert find_source((FACT,), (user(words),)).asserted_by == said_by
    assert find_source((FACT,), (tool(FACT), user(words))).asserted_by == ("user" if said_by == "user" else "tool")


def test_a_statement_that_contains_a_quotation_is_the_users() -> None:
    assert find_source(("the codename is `Heron II`",), (user("the codename is `Heron II`"),)).asserted_by == "user"


def test_an_answer_to_a_question_is_the_users_statement() -> None:
    effects = SideEffects(question="How do you deploy?", answer=FACT)
    asked = ToolMessage(
        id="a", tool_call_id="1", name="ask_user", content=f"The user answered: {FACT}", side_effects=effects
    )
    assert find_source((FACT,), (asked,)).asserted_by == "user"


def test_short_text_is_never_the_users_but_can_be_a_tools() -> None:
    assert find_source(("use uv",), (user("please use uv here"),)).asserted_by == "model"
    assert find_source(("use uv",), (tool("use uv"),)).asserted_by == "tool"
    assert find_source(("use uv",), (user("use uv"), tool("use uv"))).asserted_by == "model"


def test_every_part_must_occur() -> None:
    steps = ("make test", "make ship")
    assert find_source(steps, (tool("make test\nmake ship"),)).asserted_by == "tool"
    assert find_source(steps, (tool("make test"),)).asserted_by == "model"
    assert find_source(("", "  "), (tool("x"),)).asserted_by == "model"


def test_text_fetched_in_an_earlier_turn_is_still_the_tools() -> None:
    turns = [user("fetch it"), tool(FACT), AssistantMessage(content="done"), user("now remember what it said")]
    assert find_source((FACT,), turns).asserted_by == "tool"


NOTICE = UserMessage(id="notice", content=FOREIGN_NOTICE, origin="recovery")


def test_in_a_session_from_the_repository_only_text_after_the_notice_is_the_users() -> None:
    theirs = (user(FACT), AssistantMessage(content="yes"), NOTICE, user("remember what was said"))
    found = find_source((FACT,), theirs)
    assert (found.asserted_by, found.message) == ("tool", "u-deplo")
    assert find_source((FACT,), (*theirs, user(f"I say: {FACT}"))).asserted_by == "user"
    assert find_source((FACT,), (user("x"), NOTICE, user(FACT), NOTICE)).asserted_by == "tool"


def test_answers_and_agent_text_before_the_notice_belong_to_the_file() -> None:
    answered = ToolMessage(
        id="a", tool_call_id="1", name="ask_user", content="", side_effects=SideEffects(question="How?", answer=FACT)
    )
    assert find_source((FACT,), (answered, NOTICE)).asserted_by != "user"
    assert find_source((FACT,), (AssistantMessage(id="b", content=FACT), NOTICE)).asserted_by == "tool"


def test_a_user_who_quotes_the_notice_is_still_the_user() -> None:
    assert find_source((FACT,), (user(FACT), user(FOREIGN_NOTICE))).asserted_by == "user"
