from shop import accounts as store


def greet(number):
    loader = store.load_account
    return f"Hello {loader(number)}"
