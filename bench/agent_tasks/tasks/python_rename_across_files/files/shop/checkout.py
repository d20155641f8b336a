from shop import accounts as store


def greet(number):
    loader = store.fetch_user
    return f"Hello {loader(number)}"
