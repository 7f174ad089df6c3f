"""The command line: add, list and total."""

import argparse
import datetime
import sys

from pocket import report, store
from pocket.categories import NoCategories, known, resolve
from pocket.entry import BadLine, Entry, money, parse_money


def main(arguments, out=sys.stdout, err=sys.stderr):
    """Runs one command and returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options, out, err)
    except (store.BadLedger, NoCategories) as trouble:
        print(f"pocket: {trouble}", file=err)
        return 1


def parser():
    top = argparse.ArgumentParser(prog="pocket", description="A ledger for pocket money.")
    top.add_argument("--file", default="pocket.txt", help="the ledger (pocket.txt)")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("add", help="add an expense")
    command.add_argument("amount")
    command.add_argument("category")
    command.add_argument("what", nargs="?", default="")
    command.add_argument("--on", metavar="DATE", help="the day, such as 2024-03-02 (today)")
    command.set_defaults(run=add)

    command = commands.add_parser("list", help="print all expenses")
    command.set_defaults(run=list_all)

    command = commands.add_parser("total", help="print the sum of each category")
    command.set_defaults(run=total)
    return top


def add(options, out, err):
    category = resolve(options.category)
    if category is None:
        names = ", ".join(sorted(set(known().values())))
        print(f"pocket: no category {options.category!r}; there are {names}", file=err)
        return 2
    try:
        day = datetime.date.fromisoformat(options.on) if options.on else datetime.date.today()
        cents = parse_money(options.amount)
    except BadLine as bad:
        print(f"pocket: {bad}", file=err)
        return 2
    except ValueError:
        print(f"pocket: {options.on!r} is no date", file=err)
        return 2
    store.append(options.file, Entry(day, cents, category, " ".join(options.what.split())))
    return 0


def list_all(options, out, err):
    entries = store.read(options.file)
    if not entries:
        print("nothing yet", file=out)
    for entry in sorted(entries, key=lambda entry: entry.day):
        line = f"{entry.day} {money(entry.cents):>9}  {entry.category:<9}  {entry.what}"
        print(line.rstrip(), file=out)
    return 0


def total(options, out, err):
    entries = store.read(options.file)
    if not entries:
        print("nothing yet", file=out)
        return 0
    for category, cents in report.by_category(entries):
        print(f"{category:<9} {money(cents):>9}", file=out)
    print(f"{'all':<9} {money(report.total(entries)):>9}", file=out)
    return 0
