import unittest

from shop import audit, load_account
from shop.checkout import greet
from shop.hooks import call


class Shop(unittest.TestCase):
    def test_an_account(self):
        self.assertEqual(load_account(1), "ada")
        self.assertEqual(audit.written[-1], (17, 1))

    def test_hooks(self):
        self.assertEqual(call("user", 2), "linus")
        self.assertEqual(call("agent", {}), "unknown")

    def test_greeting(self):
        self.assertEqual(greet(2), "Hello linus")
