"""Sessions for export tests: a typical one and a hostile one."""

import json
from pathlib import Path
from typing import Any

from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Message,
    SideEffects,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from clio.sessions.state import Bill, SessionState, Todo, Trim
from clio.sessions.store import SessionStore

START = 1_760_000_000.0
MODEL = "qwen3-coder:30b"
KEY = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
ESC, OVERRIDE, NUL = "\x1b", "\u202e", "\x00"

OLD = 'def total(prices):\n    """The sum."""\n    return round(sum(prices), 2)\n'
NEW = (
    'def total(prices):\n    """The sum, half a cent rounded up."""\n'
    "    cents = sum(Decimal(price) for price in prices)\n"
    "    return cents.quantize(CENT, rounding=ROUND_HALF_UP)\n"
)
ANSWER = """\
The cause is **binary floats**: `round(2.675, 2)` is 2.67, because 2.675 cannot be stored exactly.

## What I changed

1. `total` adds `Decimal`s now.
2. Half a cent goes *up*, as the invoices say.

| input | before | after |
|---|--:|--:|
| 2.675 | 2.67 | 2.68 |
| 1.005 | 1.00 | 1.01 |

```python
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")  # one cent


def total(prices: list[str]) -> Decimal:
    return sum(map(Decimal, prices)).quantize(CENT, rounding=ROUND_HALF_UP)
```

> The discount path still uses floats; see [prices.py](shop/prices.py) and the
> [decimal docs](https://docs.python.org/3/library/decimal.html).

Shall I change it too?
"""
GIT_DIFF = """\
diff --git a/shop/prices.py b/shop/prices.py
index 83db48f..bf269f4 100644
--- a/shop/prices.py
+++ b/shop/prices.py
@@ -1,4 +1,5 @@ def total(prices):
 def total(prices):
-    return round(sum(prices), 2)
+    return round(sum(prices), 3)
+    # three places
"""


def call(id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def typical_messages() -> list[Message]:
    """Return two turns about a shop with clio's own tools, always with the same ids and times."""
    failed = (
        "[exit 1]\n"
        + "\n".join(f"tests/test_prices.py::test_case_{n} PASSED" for n in range(40))
        + "\nE   2.67 != 2.68"
    )
    messages: list[dict[str, Any]] = [
        {"role": SystemMessage, "content": "You are clio."},
        {
            "role": UserMessage,
            "content": "The totals in shop/prices.py are a cent short sometimes.\n\n"
            "```python\ntotal([2.675])  # 2.67\n```\n\nWhy? Please fix it, with a test.",
            "context": "<date>2025-10-09</date>\n<git>branch main, clean</git>",
        },
        {
            "role": AssistantMessage,
            "content": "I'll read the code and run the tests.",
            "reasoning": "Probably float rounding. Look first.",
            "tool_calls": (
                call("c1", "read_file", path="shop/prices.py"),
                call("c2", "run_command", command="pytest -q tests/test_prices.py", timeout_s=60),
            ),
        },
        {"role": ToolMessage, "tool_call_id": "c1", "name": "read_file", "content": OLD, "summary": "3 lines"},
        {
            "role": ToolMessage,
            "tool_call_id": "c2",
            "name": "run_command",
            "content": failed,
            "summary": "exit 1 in 2.3 s",
            "ok": False,
            "seconds": 2.3,
            "side_effects": SideEffects(command="pytest -q tests/test_prices.py", exit_code=1),
        },
        {
            "role": AssistantMessage,
            "tool_calls": (
                call("c3", "edit_file", path="shop/prices.py", old_string=OLD, new_string=NEW),
                call(
                    "c4",
                    "write_file",
                    path="tests/test_half.py",
                    content="def test_half():\n    assert total(['2.675'])\n",
                ),
                call("c5", "git", operation="diff", path="shop"),
            ),
        },
        {
            "role": ToolMessage,
            "tool_call_id": "c3",
            "name": "edit_file",
            "content": "edited shop/prices.py: +3 -2 lines",
            "summary": "+3 -2",
            "side_effects": SideEffects(changed=(ChangedFile(path="shop/prices.py", kind="update"),)),
        },
        {"role": ToolMessage, "tool_call_id": "c4", "name": "write_file", "content": "created", "summary": "2 lines"},
        {"role": ToolMessage, "tool_call_id": "c5", "name": "git", "content": GIT_DIFF, "summary": "+2 -1"},
        {"role": AssistantMessage, "content": ANSWER, "finish_reason": "stop"},
        {"role": UserMessage, "content": "Yes, and __init__ too.\n    keep   the spaces <b>as they are</b>"},
        {"role": AssistantMessage, "tool_calls": (call("c6", "ask_user", question="Which *currency* first?"),)},
    ]
    return [_message(number, dict(fields)) for number, fields in enumerate(messages)]


def _message(number: int, fields: dict[str, Any]) -> Message:
    kind = fields.pop("role")
    if kind is AssistantMessage:
        fields |= {"model": MODEL, "usage": Usage(prompt_tokens=8_000 + 700 * number, completion_tokens=90 + number)}
    return kind(id=f"0199c8d0-0000-7000-8000-{number:012d}", created=START + 17 * number, **fields)


def make_session(store: SessionStore, messages: list[Message], *, name: str | None = None, trims: bool = False) -> str:
    """Save a session with these messages; return its id."""
    session = store.new(Path("/home/dev/shop"), name=name)
    for message in messages:
        session.append(message)
        if isinstance(message, AssistantMessage) and message.usage is not None:
            usage = message.usage
            session.add_bill(
                Bill(
                    model=MODEL,
                    prompt_tokens=usage.prompt_tokens,
                    completion_tokens=usage.completion_tokens,
                    cached_tokens=usage.cached_tokens,
                    timestamp=message.created,
                )
            )
    if trims:
        dropped = tuple(message.id for message in messages[1:9])
        session.add_trim(Trim(handle="t1", dropped=dropped, freed_tokens=4_321, created=messages[9].created + 1))
    session.set_todos(
        (
            Todo(id=1, title="Find why totals are short", status="completed"),
            Todo(id=2, title="Round half a cent up", status="in_progress", note="as the invoices say"),
            Todo(id=3, title="Ask which currency comes first", status="blocked"),
            Todo(id=4, title="Changelog"),
        )
    )
    session.close()
    return session.id


HOSTILE = [
    "<script>window.bad = 1; alert(1)</script>",
    "</style><style>body{display:none}</style>",
    "</script><script>window.bad = 2</script>",
    "</title></head><body onload=alert(3)>",
    "</pre></code></details></article></main>",
    '"><img src=x onerror="window.bad = 4">',
    "<svg onload=alert(5)>",
    "<!-- never closed",
    "[click](javascript:alert(6)) [tab](java\tscript:alert(6)) [coded](&#106;avascript:alert(6))",
    "[data](data:text/html,<script>alert(7)</script>) [vb](vbscript:msgbox(7)) <javascript:alert(7)>",
    "![pixel](https://tracker.invalid/pixel.png) ![inline](data:image/png;base64,AAAA)",
    "[![badge](https://tracker.invalid/b.svg)](https://ci.invalid/run)",
    "[other](//evil.invalid/x) [back](\\\\evil.invalid)",
    f"{ESC}[31mred{ESC}[0m {ESC}]0;title\x07 bell\x07 nul{NUL}nul back\x08space",
    f"if access == {OVERRIDE}user{OVERRIDE}: zero\u200bwidth \u2066isolate\u2069",
    "{{constructor.constructor('alert(8)')()}} ${alert(8)} &lt;b&gt; &amp;amp;",
    "````\nfence inside\n```",
    "<details><summary>x",
]


def hostile_messages() -> list[Message]:
    """Return messages with the same hostile text at every place a session has for text."""
    poison = "\n\n".join(HOSTILE)
    one = HOSTILE[0]
    return [
        UserMessage(id='"><script>alert(9)</script>', content=poison, context=poison, created=START),
        AssistantMessage(
            id='a b"c',
            content=poison,
            reasoning=poison,
            model=one,
            finish_reason=one,
            tool_calls=(
                ToolCall(id=one, name=one, arguments=json.dumps({one: poison, "path": one, "content": poison})),
                ToolCall(
                    id="c2",
                    name="edit_file",
                    arguments=json.dumps({"path": one, "old_string": poison, "new_string": one}),
                ),
                ToolCall(
                    id="c3",
                    name="apply_patch",
                    arguments=json.dumps({"patch": f"--- a\n+++ b\n@@ -1 +1 @@\n-{one}\n+{poison}"}),
                ),
                ToolCall(id="c4", name="run_command", arguments=poison),
            ),
            created=START + 1,
        ),
        ToolMessage(tool_call_id=one, name=one, content=poison, summary=poison, id='r"1', created=START + 2),
        ToolMessage(tool_call_id="c2", content="x" * 1_000_000, summary=one, id="r2", created=START + 3),
        ToolMessage(tool_call_id="c3", content=f"diff --git {one}\n@@ -1 +1 @@\n-{poison}\n+{one}", id="r3", ok=False),
        ToolMessage(tool_call_id="nobody", name=one, content=poison, id="r4"),
        UserMessage(content="y" * 1_000_000, id="u2", created=START + 5),
        AssistantMessage(content="z" * 1_000_000 + "\n" + one, id="a2", created=START + 6),
        AssistantMessage(content=f"# {one}\n\n~~~{one}\n{poison}\n~~~\n\n| {one} |\n|:-:|\n| {one} |\n", id="a3"),
    ]


def state_with_text_everywhere(text: str, escaped: str = "") -> SessionState:
    """Return a state with the text in each field that can hold one. escaped: the text as it may be in JSON."""
    in_json = escaped or json.dumps(text)[1:-1]
    lines = f"{text}\n{text}"
    arguments = f'{{"{in_json}": "{in_json}", "path": "{in_json}", "list": ["{in_json}", {{"{in_json}": 1}}]}}'
    edit = f'{{"path": "{in_json}", "old_string": "a b {in_json} d e f", "new_string": "a b c {in_json} d e g"}}'
    messages: list[Message] = [
        SystemMessage(id=text, content=text, created=START),
        UserMessage(id="u1" + text, content=text, context=text),
        UserMessage(id="u2", content=text * 400, origin="recovery"),
        UserMessage(id="u3", content=lines * 400),
        AssistantMessage(
            id="a1",
            content=text,
            reasoning=text,
            model=text,
            finish_reason=text,
            usage=Usage(prompt_tokens=1),
            tool_calls=(
                ToolCall(id=text, name=text, arguments=arguments),
                ToolCall(id="c2", name="x", arguments=text),
                ToolCall(id="c3", name="edit_file", arguments=edit),
                ToolCall(id="c4", name="edit_file", arguments=edit.replace("a b c", "z " * 200)),
                ToolCall(id="c5", name="apply_patch", arguments=json.dumps({"patch": f"-{text}\n+1\n+{text}\n"})),
            ),
        ),
        ToolMessage(
            id="t1" + text,
            tool_call_id=text,
            content=text,
            name=text,
            summary=text,
            blob="0123456789abcdef",
            side_effects=SideEffects(question=text, answer=text, command=text, exit_code=1, read=(text,)),
        ),
        ToolMessage(id="t2", tool_call_id="c2", content=f"--- a\n+++ b\n@@ -1 +1 @@\n-{text}\n+{text}\n+{text}\n"),
        ToolMessage(id="t3", tool_call_id="lost" + text, content=text, name=text),
    ]
    return SessionState(
        id=text,
        name=text,
        parent=text,
        working_directory=f"/home/{text.replace('/', '')}",
        messages=messages,
        todos=(Todo(id=1, title=text, note=text),),
        bills=[Bill(model=text)],
        trims=[Trim(handle=text, dropped=tuple(message.id for message in messages))],
    )
