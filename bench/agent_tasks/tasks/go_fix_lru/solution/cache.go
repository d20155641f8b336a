// Package cache holds a bounded number of values for a limited time.
package cache

import "time"

type entry struct {
	value   string
	expires time.Time
}

// Cache drops the entry that was used least recently when it is full.
type Cache struct {
	limit   int
	ttl     time.Duration
	now     func() time.Time
	entries map[string]entry
	order   []string
}

// New makes a cache. now is the clock.
func New(limit int, ttl time.Duration, now func() time.Time) *Cache {
	return &Cache{limit: limit, ttl: ttl, now: now, entries: map[string]entry{}}
}

// Put stores a value; the time it is held begins again.
func (c *Cache) Put(key, value string) {
	c.remove(key)
	c.entries[key] = entry{value, c.now().Add(c.ttl)}
	c.order = append(c.order, key)
	if len(c.order) > c.limit {
		c.remove(c.order[0])
	}
}

// Get gives a value, and whether there is one.
func (c *Cache) Get(key string) (string, bool) {
	found, ok := c.entries[key]
	if !ok {
		return "", false
	}
	c.remove(key)
	if !c.now().Before(found.expires) {
		return "", false
	}
	c.entries[key] = found
	c.order = append(c.order, key)
	return found.value, true
}

func (c *Cache) remove(key string) {
	delete(c.entries, key)
	for i, name := range c.order {
		if name == key {
			c.order = append(c.order[:i], c.order[i+1:]...)
			return
		}
	}
}

// Len counts the entries.
func (c *Cache) Len() int {
	return len(c.entries)
}
