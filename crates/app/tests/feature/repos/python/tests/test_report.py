import unittest

from pocket import report
from pocket.entry import parse

ENTRIES = [
    parse("2024-02-28 3.00 fun Cinema"),
    parse("2024-03-02 12.50 food Bread, cheese"),
    parse("2024-03-09 3.00 travel Bus"),
    parse("2024-03-10 -2.50 food Deposit back"),
]


class ByCategory(unittest.TestCase):
    def test_the_largest_sum_comes_first_and_equal_ones_by_name(self):
        self.assertEqual(
            report.by_category(ENTRIES), [("food", 1000), ("fun", 300), ("travel", 300)]
        )

    def test_the_total_is_of_all(self):
        self.assertEqual(report.total(ENTRIES), 1600)
