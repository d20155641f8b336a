"""The command line."""

import argparse
import os
from datetime import date

from todo import store, view
from todo.item import Item


def _today():
    return date.fromisoformat(os.environ["TODO_TODAY"]) if "TODO_TODAY" in os.environ else date.today()


def main(words):
    parser = argparse.ArgumentParser(prog="todo")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add")
    add.add_argument("text")
    add.add_argument("--due", type=date.fromisoformat, metavar="YYYY-MM-DD")
    shown = commands.add_parser("list")
    shown.add_argument("--overdue", action="store_true")
    done = commands.add_parser("done")
    done.add_argument("number", type=int)
    options = parser.parse_args(words)
    items = store.load()
    if options.command == "add":
        items.append(Item(len(items) + 1, options.text, due=options.due))
        store.save(items)
    elif options.command == "done":
        for item in items:
            if item.number == options.number:
                item.done = True
        store.save(items)
    else:
        for item in items:
            if not options.overdue or item.is_overdue(_today()):
                print(view.line(item))
    return 0
