import unittest

from rooms import free_slots


class FreeSlots(unittest.TestCase):
    def test_an_empty_day_is_free(self):
        self.assertEqual(free_slots([]), [(480, 1080)])

    def test_time_between_two_bookings(self):
        self.assertEqual(free_slots([(480, 540), (600, 1080)]), [(540, 600)])


if __name__ == "__main__":
    unittest.main()
