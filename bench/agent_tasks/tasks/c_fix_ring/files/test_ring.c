#include "ring.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    unsigned char data[8], out[8];
    struct ring ring;

    ring_init(&ring, data, sizeof data);
    assert(ring_write(&ring, (const unsigned char *)"abc", 3) == 3);
    assert(ring_used(&ring) == 3);
    assert(ring_read(&ring, out, sizeof out) == 3 && memcmp(out, "abc", 3) == 0);
    puts("ok");
    return 0;
}
