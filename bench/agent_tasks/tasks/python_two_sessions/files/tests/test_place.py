import unittest

from orders.place import place_order


class Place(unittest.TestCase):
    def test_a_total(self):
        self.assertEqual(place_order("ada", [(3, 2), (1, 1)]), 7)
