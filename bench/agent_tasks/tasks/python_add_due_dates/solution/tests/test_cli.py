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

    def test_overdue_items_are_open_and_due_before_today(self):
        os.environ["TODO_TODAY"] = "2031-05-04"
        self.addCleanup(os.environ.pop, "TODO_TODAY")
        self.run_cli("add", "late", "--due", "2031-05-03")
        self.run_cli("add", "today", "--due", "2031-05-04")
        self.run_cli("add", "whenever")
        self.assertEqual(self.run_cli("list", "--overdue"), "  1 [ ] late (due 2031-05-03)\n")

    def test_what_is_no_date_is_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            self.run_cli("add", "never", "--due", "soon")
        self.assertEqual(self.run_cli("list"), "")
