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
    return ring->used;
}

size_t ring_write(struct ring *ring, const unsigned char *bytes, size_t count)
{
    size_t end, first;

    if (count > ring->capacity - ring->used)
        count = ring->capacity - ring->used;
    if (count == 0)
        return 0;
    end = (ring->start + ring->used) % ring->capacity;
    first = count < ring->capacity - end ? count : ring->capacity - end;
    memcpy(ring->data + end, bytes, first);
    memcpy(ring->data, bytes + first, count - first);
    ring->used += count;
    return count;
}

size_t ring_read(struct ring *ring, unsigned char *bytes, size_t count)
{
    size_t first;

    if (count > ring->used)
        count = ring->used;
    if (count == 0)
        return 0;
    first = count < ring->capacity - ring->start ? count : ring->capacity - ring->start;
    memcpy(bytes, ring->data + ring->start, first);
    memcpy(bytes + first, ring->data, count - first);
    ring->start = (ring->start + count) % ring->capacity;
    ring->used -= count;
    return count;
}
