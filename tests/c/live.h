/* A limiter that is changed over one connection and used over another. */
#ifndef LIVE_H
#define LIVE_H

#include "clock.h"

/* Two connections of one store, as two processes have them; in memory they are one. */
static pg_store *here, *there;
static char name[33];

static void open_stores(const char *url)
{
    open_at(NOW, url, &here);
    there = here;
    if (!pg_store_is_memory(here)) {
        open_at(NOW, url, &there);
    }
}

static void close_stores(void)
{
    if (there != here) {
        OK(pg_store_close(there, &error));
    }
    OK(pg_store_close(here, &error));
}

/* One limiter, over both connections. */
static inline void make(pg_limit limit, pg_limiter **first, pg_limiter **second)
{
    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, &limit, 1, first, &error));
    OK(pg_limiter_new(there, name, &limit, 1, second, &error));
}

static inline void forget(pg_limiter *first, pg_limiter *second)
{
    OK(pg_reset(first, &error));
    OK(pg_limiter_close(first, &error));
    OK(pg_limiter_close(second, &error));
}

static void on_each_store(void (*test)(void), const char *named)
{
    const char *const urls[] = {"memory://", getenv("PADDLEGATE_TEST_URL")};

    for (int i = 0; i < 2; i++) {
        check_ok = 1;
        open_stores(urls[i]);
        test();
        close_stores();
        check_count(named, check_ok);
    }
}

#define ON_EACH_STORE(test) on_each_store(test, #test)

#endif
