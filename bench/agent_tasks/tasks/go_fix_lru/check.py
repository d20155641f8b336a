"""Check that the three faults are fixed, also in combination, and that tests were added."""

from bench.agent_tasks.result import Result

HIDDEN = """package cache

import (
	"testing"
	"time"
)

func TestHidden(t *testing.T) {
	now := time.Unix(1000, 0)
	c := New(2, time.Minute, func() time.Time { return now })
	has := func(key, want string, there bool) {
		t.Helper()
		if value, ok := c.Get(key); ok != there || value != want {
			t.Errorf("%s: got %q, %v", key, value, ok)
		}
	}
	c.Put("a", "1")
	c.Put("b", "2")
	has("a", "1", true)
	c.Put("c", "3")
	has("b", "", false)
	has("a", "1", true)
	c.Put("a", "4")
	c.Put("a", "5")
	has("c", "3", true)
	has("a", "5", true)
	if c.Len() != 2 {
		t.Errorf("Len is %d", c.Len())
	}
	now = now.Add(59 * time.Second)
	c.Put("a", "6")
	now = now.Add(time.Second)
	has("c", "", false)
	has("a", "6", true)
	now = now.Add(time.Hour)
	has("a", "", false)
	c.Put("d", "7")
	c.Put("e", "8")
	has("d", "7", true)
	has("e", "8", true)
}
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("the cache is still wrong", ["go", "test", "./..."], files={"hidden_test.go": HIDDEN})
    result.expect(result.read("cache_test.go").count("func Test") >= 3, "the tests that were asked for are not there")
    result.expect_unchanged("go.mod")
