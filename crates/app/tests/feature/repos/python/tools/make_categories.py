"""Makes build/categories.json from categories.txt: each name and alias, with the name it stands for.

What is there already is kept unless --force is given, so that this costs nothing before each test."""

import json
import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
SOURCE = os.path.join(TOP, "categories.txt")
MADE = os.path.join(TOP, "build", "categories.json")


def make(text):
    names = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, _, aliases = line.partition(":")
        for word in [name] + (aliases.split(",") if aliases.strip() else []):
            word = word.strip()
            if not word.isalpha():
                raise SystemExit(f"categories.txt:{number}: {word!r} is no name")
            names[word] = name.strip()
    return names


def main(arguments):
    if os.path.exists(MADE) and "--force" not in arguments:
        return
    with open(SOURCE, encoding="utf-8") as source:
        names = make(source.read())
    os.makedirs(os.path.dirname(MADE), exist_ok=True)
    with open(MADE, "w", encoding="utf-8") as made:
        json.dump(names, made, indent=1, sort_keys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
