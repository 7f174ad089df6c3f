"""The names that a category may have. They are made from categories.txt by tools/make_categories.py."""

import json
import os

MADE = os.path.join(os.path.dirname(__file__), os.pardir, "build", "categories.json")


class NoCategories(Exception):
    """They were never made."""


def known():
    """Each name and each alias, with the name that is written into the ledger."""
    try:
        with open(MADE, encoding="utf-8") as made:
            return json.load(made)
    except FileNotFoundError:
        raise NoCategories("no categories yet: run python3 tools/make_categories.py") from None


def resolve(name):
    """The category of a name or an alias, or None."""
    return known().get(name.lower())
