"""One line of the ledger."""

import datetime
from dataclasses import dataclass


class BadLine(ValueError):
    """A line that is no entry; the message says why."""


@dataclass(frozen=True)
class Entry:
    day: datetime.date
    cents: int
    category: str
    what: str

    def line(self):
        return f"{self.day} {money(self.cents)} {self.category} {self.what}".rstrip()


def parse(line):
    """The entry that a line holds."""
    parts = line.split(maxsplit=3)
    if len(parts) < 3:
        raise BadLine("expected: date amount category what")
    try:
        day = datetime.date.fromisoformat(parts[0])
    except ValueError:
        raise BadLine(f"{parts[0]!r} is no date") from None
    what = parts[3].strip() if len(parts) == 4 else ""
    return Entry(day, parse_money(parts[1]), parts[2], what)


def parse_money(text):
    """Cents, never a float: 0.1 + 0.2 must be 0.30."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    whole, dot, part = digits.partition(".")
    if not whole.isdigit() or (dot and not (part.isdigit() and len(part) <= 2)):
        raise BadLine(f"{text!r} is no amount")
    return sign * (int(whole) * 100 + int((part + "00")[:2]))


def money(cents):
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
