import unittest
from decimal import Decimal

from money import split
from money.rounding import to_cents


class Split(unittest.TestCase):
    def test_even(self):
        self.assertEqual(split(Decimal("10.00"), [1, 1]), [Decimal("5.00"), Decimal("5.00")])

    def test_not_a_cent_is_lost(self):
        for amount in ("10.00", "0.01", "99.99"):
            for weights in ([1, 1, 1], [3, 2, 2], [1, 1, 1, 1, 1, 1, 1]):
                with self.subTest(amount=amount, weights=weights):
                    self.assertEqual(sum(split(Decimal(amount), weights)), Decimal(amount))

    def test_the_first_shares_get_the_cents_that_are_left(self):
        self.assertEqual(split(Decimal("10.00"), [1, 1, 1]), [Decimal("3.34"), Decimal("3.33"), Decimal("3.33")])

    def test_half_a_cent_goes_up(self):
        self.assertEqual(to_cents(Decimal("0.125")), Decimal("0.13"))
        self.assertEqual(to_cents(Decimal("0.145")), Decimal("0.15"))
