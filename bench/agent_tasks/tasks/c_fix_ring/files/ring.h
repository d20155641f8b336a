#ifndef RING_H
#define RING_H

#include <stddef.h>

/* A queue of bytes in memory of the caller. start: the oldest byte; used: how many there are. */
struct ring {
    unsigned char *data;
    size_t capacity;
    size_t start;
    size_t used;
};

void ring_init(struct ring *ring, unsigned char *data, size_t capacity);
size_t ring_used(const struct ring *ring);
size_t ring_write(struct ring *ring, const unsigned char *bytes, size_t count);
size_t ring_read(struct ring *ring, unsigned char *bytes, size_t count);

#endif
