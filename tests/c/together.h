/* The cases with several limiters: which of them the next step is of. */
#ifndef TOGETHER_H
#define TOGETHER_H

#include "vectors.h"

enum { MEMBERS = 8 };

static struct {
    char name[64];
    pg_limiter *limiter;
} members[MEMBERS];
static size_t member_count;
/* The names of those that decide together. */
static const char *chosen[MEMBERS];

static const char *limiter_of(const pg_decision *d)
{
    static char text[100];

    snprintf(text, sizeof text, ",\"limiter\":\"%s\"", d->limiter < 0 ? "" : chosen[d->limiter]);
    return d->limiter < 0 ? "" : text;
}

static pg_limiter *member(const char *named)
{
    for (size_t i = 0; i < member_count; i++) {
        if (strcmp(members[i].name, named) == 0) {
            return members[i].limiter;
        }
    }
    fail("a limiter of the case", named);
    return NULL;
}

/* The limiter that the last step was of belongs to the case, or was made for the step. */
static void unchoose(void)
{
    int is_member = 0;

    for (size_t i = 0; i < member_count; i++) {
        is_member |= limiter == members[i].limiter;
    }
    if (limiter != NULL && !is_member) {
        pg_limiter_close(limiter, NULL);
    }
    limiter = NULL;
}

static void close_members(void)
{
    if (member_count > 0) {
        unchoose();
    }
    while (member_count > 0) {
        pg_limiter_close(members[--member_count].limiter, NULL);
    }
}

/* its name; its limits stand before it */
static void add_member(void)
{
    char real[LONGEST];
    size_t count = limit_count;
    pg_error error;

    limit_count = 0;
    unquote(field[1]);
    snprintf(real, sizeof real, "%.300s.%.200s", name, field[1]);
    snprintf(members[member_count].name, sizeof members->name, "%s", field[1]);
    well(pg_limiter_new(store, real, limits, count, &members[member_count].limiter, &error), &error);
    member_count++;
}

/* "one" and its name, or "all" and the names of those that decide together */
static void choose(void)
{
    pg_limiter *together[MEMBERS];
    size_t count = 0;
    pg_error error;

    unchoose();
    for (char **named = field + 2; **named != '\0' && count < MEMBERS; named++) {
        unquote(*named);
        chosen[count] = members[0].name;
        for (size_t i = 0; i < member_count; i++) {
            if (strcmp(members[i].name, *named) == 0) {
                chosen[count] = members[i].name;
            }
        }
        together[count++] = member(*named);
    }
    if (strcmp(field[1], "one") == 0) {
        limiter = together[0];
    } else {
        well(pg_together(store, together, count, &limiter, &error), &error);
    }
}

/* the argument of the error, then names, each with its group behind "=" or without one */
static void refuse_together(void)
{
    pg_limiter *together[MEMBERS], *made[MEMBERS], *all = NULL;
    size_t count = 0, made_count = 0;
    pg_error error;
    pg_code code = PG_OK;

    for (char **named = field + 2; **named != '\0' && count < MEMBERS && code == PG_OK; named++) {
        char *group = strchr(*named, '=');

        if (group != NULL) {
            *group++ = '\0';
            unquote(group);
        }
        unquote(*named);
        together[count] = member(*named);
        if (group != NULL) {
            code = pg_limiter_with_group(together[count], group, &made[made_count], &error);
            together[count] = made[made_count];
            made_count += code == PG_OK;
        }
        count++;
    }
    if (code == PG_OK) {
        code = pg_together(store, together, count, &all, &error);
    }
    expect("invalid", pg_error_name(code));
    expect(field[1], error.argument);
    if (all != NULL) {
        fail("NULL", "a limiter");
    }
    while (made_count > 0) {
        pg_limiter_close(made[--made_count], NULL);
    }
}

#endif
