/* What a replay of the vectors has at hand: the case, its limiter, its permits, the fields of a line. */
#ifndef VECTORS_H
#define VECTORS_H

#include "check.h"

enum { FIELDS = 16, LIMITS = 16, PERMITS = 32, UNITS = 16, LINE = 8192, NAMES = 4 * UNITS, LONGEST = 600 };

static pg_store *store;
static pg_test_clock *test_clock;
static pg_limiter *limiter;
static pg_limit limits[LIMITS];
/* The label of a limit, and its other names. */
static char labels[LIMITS][5][64];
static size_t limit_count;
static struct {
    char label[64], id[sizeof((pg_decision *)NULL)->permit];
} permits[PERMITS];
static size_t permit_count;
static char title[LINE], name[LINE], *field[FIELDS + 1];
static int step, case_count;
/* The argument for which the limiter of a step could not be made. */
static char refused[32];

static void unquote(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; to++) {
        unsigned byte;

        if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
            *to = (char)byte;
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* A label stands behind "=", so that it may be empty; NULL without one. */
static const char *keep_label(char *text, char kept[64])
{
    unquote(text);
    if (*text != '=') {
        return NULL;
    }
    snprintf(kept, 64, "%s", text + 1);
    return kept;
}

/* A cost: a number, or units by label. */
struct cost {
    int64_t number;
    const pg_units *by_label;
    size_t count;
};

/* A label as it is; ".org" stands for the real name of the limiter "org". */
static const char *label_or_name(char *text)
{
    static char names[NAMES][LONGEST];
    static size_t next;
    char *real = names[next];

    unquote(text);
    if (*text != '.') {
        return text;
    }
    next = (next + 1) % NAMES;
    snprintf(real, LONGEST, "%.300s%.200s", name, text);
    return real;
}

/* "5", or "=label:units,limiter/label:units", for which units has room. */
static struct cost cost_of(char *text, pg_units units[UNITS])
{
    struct cost cost = {0, units, 0};

    if (*text != '=') {
        return (struct cost){atoll(text), NULL, 0};
    }
    for (char *pair = strtok(text + 1, ","); pair != NULL && cost.count < UNITS; pair = strtok(NULL, ",")) {
        char *colon = strchr(pair, ':'), *slash = strchr(pair, '/');

        *colon = '\0';
        if (slash != NULL) {
            *slash = '\0';
        }
        units[cost.count++] = (pg_units){label_or_name(slash != NULL ? slash + 1 : pair), (uint64_t)atoll(colon + 1),
                                         slash != NULL ? label_or_name(pair) : NULL};
    }
    return cost;
}

static void fail(const char *expected, const char *actual)
{
    fprintf(stderr, "%s, step %d: expected %s, got %s\n", title, step, expected, actual);
    check_ok = 0;
}

static void expect(const char *expected, const char *actual)
{
    if (strcmp(expected, actual) != 0) {
        fail(expected, actual);
    }
}

static void well(pg_code code, const pg_error *error)
{
    if (code != PG_OK) {
        fail("no error", error->message);
    }
}

/* Whether the call was to answer: an expected "!cost" is an error that names the argument. */
static int answers(const char *expected, pg_code code, const pg_error *error)
{
    if (*expected != '!') {
        well(code, error);
        return 1;
    }
    expect("invalid", pg_error_name(code));
    expect(expected + 1, *refused != '\0' ? refused : error->argument);
    return 0;
}

static const char *or_null(int64_t number, char *buffer)
{
    snprintf(buffer, 24, "%" PRId64, number);
    return number == -1 ? "null" : buffer;
}

static const char *label_or_null(const pg_decision *d, char buffer[40])
{
    snprintf(buffer, 40, "\"%s\"", d->label);
    return d->label[0] == '\0' ? "null" : buffer;
}

/* The key that only a grant in shadow has. */
static const char *lowered_of(const pg_decision *d)
{
    return d->is_lowered ? ",\"is_lowered\":true" : "";
}

static const char *shadow_of(const pg_decision *d)
{
    static char text[64];

    snprintf(text, sizeof text, ",\"would_refuse\":\"%s\"", pg_reason_name(d->would_refuse));
    return d->would_refuse == PG_REASON_NONE ? "" : text;
}

/* The key that only a decision of several limiters has; see together.h. */
static const char *limiter_of(const pg_decision *d);

/* A permit that later steps name by its label, which stands behind "=". */
static void keep_permit(char *label, const pg_decision *d)
{
    unquote(label);
    if (label[1] != '\0' && permit_count < PERMITS) {
        snprintf(permits[permit_count].label, sizeof permits->label, "%s", label + 1);
        memcpy(permits[permit_count].id, d->permit, sizeof d->permit);
        permit_count++;
    }
}

/* The last permit of that label, else an id as it is. */
static const char *permit_of(char *label)
{
    unquote(label);
    for (size_t i = permit_count; i > 0; i--) {
        if (strcmp(permits[i - 1].label, label) == 0) {
            return permits[i - 1].id;
        }
    }
    return label;
}

#endif
