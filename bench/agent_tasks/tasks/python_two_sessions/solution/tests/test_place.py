import unittest

from orders.errors import EmptyBasket
from orders.place import place_order


class Place(unittest.TestCase):
    def test_a_total(self):
        self.assertEqual(place_order("ada", [(3, 2), (1, 1)]), 7)

    def test_an_empty_basket_is_refused_with_its_code(self):
        with self.assertRaisesRegex(EmptyBasket, "ORD-4108"):
            place_order("ada", [])
