/* The clock of a test's stores, which only the test moves. */
#ifndef CLOCK_H
#define CLOCK_H

#include "check.h"

static const int64_t NOW = 1700000000000000;
static pg_test_clock *test_clock;

/* Sets the time of the stores. */
static inline void at(int64_t now_us)
{
    if (test_clock == NULL) {
        OK(pg_test_clock_new(now_us, &test_clock, &error));
    }
    OK(pg_test_clock_set(test_clock, now_us, &error));
}

/* Opens a store with the clock. */
static inline void open_at(int64_t now_us, const char *url, pg_store **store)
{
    at(now_us);
    OK(pg_store_open_with_clock(url, 10000000, test_clock, store, &error));
}

#endif
