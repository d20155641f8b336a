"""Items as lines of text."""


def line(item):
    mark = "x" if item.done else " "
    due = f" (due {item.due.isoformat()})" if item.due else ""
    return f"{item.number:>3} [{mark}] {item.text}{due}"
