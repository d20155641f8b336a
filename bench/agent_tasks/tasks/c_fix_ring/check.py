"""Check that the ring is a queue under random use, writes no byte outside its buffer, and ring.h is unchanged."""

from bench.agent_tasks.result import Result

HIDDEN = r"""
#include "ring.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(text) do { puts(text); return 1; } while (0)

int main(void)
{
    for (size_t capacity = 1; capacity <= 9; capacity++) {
        unsigned char memory[64], in[16], out[16], queue[4096];
        size_t head = 0, tail = 0;
        struct ring ring;

        memset(memory, 0xEE, sizeof memory);
        ring_init(&ring, memory + 16, capacity);
        srand((unsigned)capacity);
        for (int step = 0; step < 300; step++) {
            size_t count = (size_t)rand() % 13, fits = capacity - (tail - head), got;
            for (size_t i = 0; i < count; i++)
                in[i] = (unsigned char)rand();
            got = ring_write(&ring, in, count);
            if (got != (count < fits ? count : fits)) FAIL("ring_write returns a wrong count");
            memcpy(queue + tail, in, got);
            tail += got;
            if (ring_used(&ring) != tail - head) FAIL("ring_used is wrong");
            count = (size_t)rand() % 13;
            got = ring_read(&ring, out, count);
            if (got != (count < tail - head ? count : tail - head)) FAIL("ring_read returns a wrong count");
            if (memcmp(out, queue + head, got)) FAIL("ring_read returns wrong bytes");
            head += got;
        }
        for (size_t i = 0; i < sizeof memory; i++)
            if ((i < 16 || i >= 16 + capacity) && memory[i] != 0xEE) FAIL("bytes outside the buffer were written");
    }
    return 0;
}
"""
BUILD = "cc -std=c99 -g -o hidden hidden.c ring.c".split()
TESTS = "cc -std=c99 -Wall -Wextra -Werror -o test_ring test_ring.c ring.c".split()


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_unchanged("ring.h")
    result.expect_success("the ring is still wrong", BUILD, ["./hidden"], files={"hidden.c": HIDDEN})
    result.expect_success("the project's tests fail", TESTS, ["./test_ring"])
    before = (result.start / "test_ring.c").read_text(encoding="utf-8")
    result.expect(result.read("test_ring.c").count("assert") > before.count("assert"), "the tests were not extended")
