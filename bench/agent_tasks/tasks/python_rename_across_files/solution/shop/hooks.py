"""Functions that a template may call, by name."""

from shop import accounts, http

TABLE = {"user": "load_account", "agent": "fetch_user_agent"}


def call(hook, argument):
    name = TABLE[hook]
    module = accounts if hasattr(accounts, name) else http
    return getattr(module, name)(argument)
