import io
import os
import tempfile
import unittest

from pocket.cli import main

LEDGER = """\
# March
2024-03-09 3.00 travel Bus
2024-03-02 12.50 food Bread, cheese

2024-02-28 3.00 fun
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "pocket.txt")

    def pocket(self, *arguments):
        """The exit code, and what was printed on both outputs."""
        out, err = io.StringIO(), io.StringIO()
        code = main(["--file", self.file, *arguments], out, err)
        return code, out.getvalue(), err.getvalue()

    def ledger(self, text):
        with open(self.file, "w", encoding="utf-8") as ledger:
            ledger.write(text)


class Add(Case):
    def test_an_expense_is_added_at_the_end(self):
        self.ledger("# mine\n")
        code, out, err = self.pocket("add", "4", "Lunch", "two  rolls", "--on", "2024-03-02")
        self.assertEqual((code, out, err), (0, "", ""))
        with open(self.file, encoding="utf-8") as ledger:
            self.assertEqual(ledger.read(), "# mine\n2024-03-02 4.00 food two rolls\n")

    def test_an_unknown_category_is_refused(self):
        code, _, err = self.pocket("add", "4", "rent")
        self.assertEqual(code, 2)
        self.assertEqual(
            err, "pocket: no category 'rent'; there are food, fun, gifts, other, travel\n"
        )
        self.assertFalse(os.path.exists(self.file))

    def test_a_bad_amount_or_day_is_refused(self):
        self.assertEqual(self.pocket("add", "4,5", "food")[2], "pocket: '4,5' is no amount\n")
        self.assertEqual(
            self.pocket("add", "4", "food", "--on", "today")[2], "pocket: 'today' is no date\n"
        )


class List(Case):
    def test_expenses_are_listed_by_day(self):
        self.ledger(LEDGER)
        self.assertEqual(
            self.pocket("list")[1],
            "2024-02-28      3.00  fun\n"
            "2024-03-02     12.50  food       Bread, cheese\n"
            "2024-03-09      3.00  travel     Bus\n",
        )

    def test_an_empty_ledger_says_so(self):
        self.assertEqual(self.pocket("list"), (0, "nothing yet\n", ""))

    def test_a_line_that_cannot_be_read_is_named(self):
        self.ledger("# mine\nnonsense\n")
        code, out, err = self.pocket("list")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(
            err, f"pocket: {self.file}:2: expected: date amount category what\n"
        )


class Total(Case):
    def test_each_category_and_all_are_summed_up(self):
        self.ledger(LEDGER)
        self.assertEqual(
            self.pocket("total")[1],
            "food          12.50\nfun            3.00\ntravel         3.00\nall           18.50\n",
        )

    def test_an_empty_ledger_says_so(self):
        self.assertEqual(self.pocket("total"), (0, "nothing yet\n", ""))
