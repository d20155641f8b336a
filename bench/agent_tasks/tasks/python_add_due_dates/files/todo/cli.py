"""The command line."""

import argparse

from todo import store, view
from todo.item import Item


def main(words):
    parser = argparse.ArgumentParser(prog="todo")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add")
    add.add_argument("text")
    commands.add_parser("list")
    done = commands.add_parser("done")
    done.add_argument("number", type=int)
    options = parser.parse_args(words)
    items = store.load()
    if options.command == "add":
        items.append(Item(len(items) + 1, options.text))
        store.save(items)
    elif options.command == "done":
        for item in items:
            if item.number == options.number:
                item.done = True
        store.save(items)
    else:
        for item in items:
            print(view.line(item))
    return 0
