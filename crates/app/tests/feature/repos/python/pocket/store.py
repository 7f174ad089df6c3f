"""The ledger's file."""

import os

from pocket.entry import BadLine, parse


class BadLedger(Exception):
    """A ledger that cannot be read; the message names the file and the line."""


def read(path):
    """All entries, in the order of the file. A ledger that is not there is empty."""
    if not os.path.exists(path):
        return []
    entries = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                entries.append(parse(line))
            except BadLine as bad:
                raise BadLedger(f"{path}:{number}: {bad}") from None
    return entries


def append(path, entry):
    with open(path, "a", encoding="utf-8") as ledger:
        ledger.write(entry.line() + "\n")
