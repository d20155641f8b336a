#include "ring.h"

#include <string.h>

void ring_init(struct ring *ring, unsigned char *data, size_t capacity)
{
    ring->data = data;
    ring->capacity = capacity;
    ring->start = 0;
    ring->used = 0;
}

size_t ring_used(const struct ring *ring)
{
    return ring->used % ring->capacity;
}

size_t ring_write(struct ring *ring, const unsigned char *bytes, size_t count)
{
    size_t end = (ring->start + ring->used) % ring->capacity;

    memcpy(ring->data + end, bytes, count);
    ring->used += count;
    return count;
}

size_t ring_read(struct ring *ring, unsigned char *bytes, size_t count)
{
    if (count > ring_used(ring))
        count = ring_used(ring);
    memcpy(bytes, ring->data + ring->start, count);
    ring->start += count;
    ring->used -= count;
    return count;
}
