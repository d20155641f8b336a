import contextlib
import io
import os
import tempfile
import unittest

from todo.cli import main


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.environ["TODO_FILE"] = os.path.join(folder.name, "list.json")

    def run_cli(self, *words):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main(list(words))
        return out.getvalue()

    def test_done_items_are_marked(self):
        self.run_cli("add", "one")
        self.run_cli("add", "two")
        self.run_cli("done", "2")
        self.assertEqual(self.run_cli("list"), "  1 [ ] one\n  2 [x] two\n")
