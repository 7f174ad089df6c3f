"""What is summed up over entries."""


def by_category(entries):
    """Cents for each category, the largest first; equal ones by name."""
    sums = {}
    for entry in entries:
        sums[entry.category] = sums.get(entry.category, 0) + entry.cents
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))


def total(entries):
    return sum(entry.cents for entry in entries)
