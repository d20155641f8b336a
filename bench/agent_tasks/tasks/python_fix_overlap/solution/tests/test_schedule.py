import unittest

from rooms import free_slots


class FreeSlots(unittest.TestCase):
    def test_an_empty_day_is_free(self):
        self.assertEqual(free_slots([]), [(480, 1080)])

    def test_time_between_two_bookings(self):
        self.assertEqual(free_slots([(480, 540), (600, 1080)]), [(540, 600)])

    def test_bookings_right_after_one_another_leave_nothing_between(self):
        self.assertEqual(free_slots([(540, 600), (600, 660)]), [(480, 540), (660, 1080)])

    def test_a_long_booking_holds_a_short_one(self):
        self.assertEqual(free_slots([(480, 900), (540, 600)]), [(900, 1080)])


if __name__ == "__main__":
    unittest.main()
