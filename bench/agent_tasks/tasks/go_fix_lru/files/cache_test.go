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
