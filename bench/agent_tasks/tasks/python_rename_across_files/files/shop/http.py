"""What browsers tell of themselves."""


def fetch_user_agent(headers):
    return headers.get("User-Agent", "unknown")
