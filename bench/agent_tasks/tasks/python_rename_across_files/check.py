"""Check that the function is renamed everywhere, similar names are unchanged, and everything still works."""

import re

from bench.agent_tasks.result import PYTHON, UNITTEST, Result

HIDDEN = """
import shop
from shop import accounts, audit, hooks
from shop.checkout import greet

assert shop.load_account(1) == "ada" and not hasattr(shop, "fetch_user"), "shop"
assert not hasattr(accounts, "fetch_user"), "an alias is left"
assert "load_account" in shop.__all__ and "fetch_user" not in shop.__all__, "__all__"
assert accounts.fetch_users([1, 2]) == ["ada", "linus"], "fetch_users"
assert shop.fetch_user_agent({}) == "unknown", "fetch_user_agent"
assert hooks.call("user", 1) == "ada" and hooks.call("agent", {}) == "unknown", "hooks"
assert audit.written and all(event == 17 for event, _ in audit.written), "events"
assert greet(2) == "Hello linus"
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("the renamed project does not work", [*PYTHON, "hidden.py"], files={"hidden.py": HIDDEN})
    result.expect_success("the project's tests fail", UNITTEST)
    result.expect_unchanged("shop/audit.py", "shop/http.py")
    for path in ("shop/__init__.py", "shop/checkout.py", "shop/hooks.py", "tests/test_shop.py"):
        result.expect(not re.search(r"\bfetch_user\b", result.read(path)), f"{path} has the old name")
    old = re.findall(r"\bfetch_user\b", result.read("shop/accounts.py"))
    result.expect(len(old) == 1, f"shop/accounts.py has the old name {len(old)} times; only the event keeps it")
    guide = result.read("docs/guide.md")
    result.expect("load_account(1)" in guide, "the guide does not name the new function")
    result.expect("event `fetch_user`" in guide, "the guide no longer names the event")
