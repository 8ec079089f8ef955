/* Wrong calls, and what they must answer. */
#ifndef MISUSE_H
#define MISUSE_H

#include "check.h"

#ifndef LIVE_H
static pg_store *store;
static pg_limiter *limiter;
#endif
static pg_decision decision;
static pg_error error_;

/* The call is refused, the error says why, and a place for a decision holds no grant. */
#define REFUSED(name, call)                                                            \
    do {                                                                               \
        memset(&error_, 0x55, sizeof error_);                                          \
        memset(&decision, 0x55, sizeof decision);                                      \
        CHECK_INT(PG_INVALID, (call));                                                 \
        CHECK_INT(PG_INVALID, error_.code);                                            \
        CHECK_INT(0, error_.may_have_counted);                                         \
        CHECK_TEXT(name, error_.argument);                                             \
        CHECK(error_.message[0] != '\0' && strlen(error_.message) < 256);              \
        CHECK(decision.status != PG_STATUS_GRANTED);                                   \
    } while (0)

#endif
