"""Items as lines of text."""


def line(item):
    mark = "x" if item.done else " "
    return f"{item.number:>3} [{mark}] {item.text}"
