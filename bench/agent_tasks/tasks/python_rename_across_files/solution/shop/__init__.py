from shop.accounts import load_account
from shop.http import fetch_user_agent

__all__ = ["load_account", "fetch_user_agent"]
