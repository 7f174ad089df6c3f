import datetime
import unittest

from pocket.entry import BadLine, Entry, money, parse, parse_money


class Lines(unittest.TestCase):
    def test_a_line_is_read_and_written_the_same(self):
        line = "2024-03-02 12.50 food Bread, cheese"
        entry = parse(line + "\n")
        self.assertEqual(entry, Entry(datetime.date(2024, 3, 2), 1250, "food", "Bread, cheese"))
        self.assertEqual(entry.line(), line)

    def test_what_it_was_for_may_be_missing(self):
        self.assertEqual(parse("2024-03-02 1 fun").line(), "2024-03-02 1.00 fun")

    def test_a_bad_line_says_why(self):
        for line, why in [
            ("2024-03-02 1", "expected: date amount category what"),
            ("2.3.2024 1 fun", "'2.3.2024' is no date"),
            ("2024-03-02 1,50 fun", "'1,50' is no amount"),
        ]:
            with self.assertRaisesRegex(BadLine, why.replace(".", r"\.")):
                parse(line)


class Money(unittest.TestCase):
    def test_money_is_counted_in_cents(self):
        self.assertEqual(parse_money("0.1") + parse_money("0.2"), 30)
        self.assertEqual(parse_money("-3.5"), -350)

    def test_money_has_two_places(self):
        self.assertEqual([money(5), money(-5), money(12300)], ["0.05", "-0.05", "123.00"])

    def test_what_is_no_money_is_refused(self):
        for text in ["", "-", "1.234", "1.", "x", "1.x"]:
            with self.assertRaises(BadLine):
                parse_money(text)
