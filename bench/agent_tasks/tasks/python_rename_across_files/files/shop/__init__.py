from shop.accounts import fetch_user
from shop.http import fetch_user_agent

__all__ = ["fetch_user", "fetch_user_agent"]
