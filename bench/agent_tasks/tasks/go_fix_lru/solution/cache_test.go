package cache

import (
	"testing"
	"time"
)

func TestPutAndGet(t *testing.T) {
	c := New(2, time.Minute, time.Now)
	c.Put("a", "1")
	if value, ok := c.Get("a"); !ok || value != "1" {
		t.Fatalf("got %q, %v", value, ok)
	}
}

func TestLeastRecentlyUsedIsDropped(t *testing.T) {
	c := New(2, time.Minute, time.Now)
	c.Put("a", "1")
	c.Put("b", "2")
	c.Get("a")
	c.Put("c", "3")
	if _, ok := c.Get("b"); ok {
		t.Error("b is still there")
	}
	if _, ok := c.Get("a"); !ok {
		t.Error("a was dropped")
	}
}

func TestAnEntryExpires(t *testing.T) {
	now := time.Unix(0, 0)
	c := New(2, time.Minute, func() time.Time { return now })
	c.Put("a", "1")
	now = now.Add(time.Minute)
	if _, ok := c.Get("a"); ok {
		t.Error("a is still there")
	}
}

func TestTheSameKeyCountsOnce(t *testing.T) {
	c := New(2, time.Minute, time.Now)
	c.Put("a", "1")
	c.Put("b", "2")
	c.Put("b", "3")
	if _, ok := c.Get("a"); !ok {
		t.Error("a was dropped")
	}
}
