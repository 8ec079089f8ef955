/* Tests and their count. A test is a function; a failed CHECK fails the test that it stands in. */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <paddlegate.h>

static int check_passed, check_failed, check_ok;

#define CHECK(condition)                                                               \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
            check_ok = 0;                                                              \
        }                                                                              \
    } while (0)

#define CHECK_INT(expected, actual)                                                    \
    do {                                                                               \
        int64_t check_e = (expected), check_a = (actual);                              \
        if (check_e != check_a) {                                                      \
            fprintf(stderr, "%s:%d: %s: expected %" PRId64 ", got %" PRId64 "\n",      \
                    __FILE__, __LINE__, #actual, check_e, check_a);                    \
            check_ok = 0;                                                              \
        }                                                                              \
    } while (0)

#define CHECK_TEXT(expected, actual)                                                   \
    do {                                                                               \
        const char *check_e = (expected), *check_a = (actual);                         \
        if (strcmp(check_e, check_a) != 0) {                                           \
            fprintf(stderr, "%s:%d: %s: expected %s, got %s\n", __FILE__, __LINE__,    \
                    #actual, check_e, check_a);                                        \
            check_ok = 0;                                                              \
        }                                                                              \
    } while (0)

/* A call that must go well, or the rest of the test makes no sense. */
#define OK(call)                                                                       \
    do {                                                                               \
        pg_error error;                                                                \
        (void)error;                                                                   \
        if ((call) != PG_OK) {                                                         \
            fprintf(stderr, "%s:%d: %s: %s %s\n", __FILE__, __LINE__, #call,           \
                    error.argument, error.message);                                    \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

#define RUN(test) check_count(#test, (check_ok = 1, test(), check_ok))

static inline void check_count(const char *name, int ok)
{
    if (ok) {
        check_passed++;
    } else {
        check_failed++;
        fprintf(stderr, "FAILED %s\n", name);
    }
}

/* What run.sh adds up. */
static inline int check_report(void)
{
    printf("passed=%d failed=%d\n", check_passed, check_failed);
    return check_failed > 0;
}

#endif
