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

static size_t index_of(const char *named)
{
    size_t i = 0;

    while (i < member_count && strcmp(members[i].name, named) != 0) {
        i++;
    }
    if (i == member_count) {
        fail("a limiter of the case", named);
        i = 0;
    }
    return i;
}

/* Those of a step, in their order: limiters of the case, and those that were made for the step. */
struct taken {
    pg_limiter *limiters[MEMBERS], *made[MEMBERS];
    size_t count, made_count;
};

/* Names, each alone or with its mode behind "*", its group behind "=" and its key behind "@". */
static pg_code take(char **words, struct taken *taken, pg_error *error)
{
    static const char marks[] = "*=@";
    pg_code (*const forms[])(const pg_limiter *, const char *, pg_limiter **, pg_error *) = {
        pg_limiter_with_mode, pg_limiter_with_group, pg_limiter_with_key};
    pg_code code = PG_OK;

    taken->count = taken->made_count = 0;
    for (; **words != '\0' && taken->count < MEMBERS && code == PG_OK; words++) {
        pg_limiter **of = &taken->limiters[taken->count];
        char *mark = *words + strcspn(*words, marks), sign = *mark;
        size_t i;

        *mark = '\0';
        unquote(*words);
        i = index_of(*words);
        chosen[taken->count++] = members[i].name;
        *of = members[i].limiter;
        while (sign != '\0' && code == PG_OK) {
            pg_limiter **made = &taken->made[taken->made_count];
            char *word = mark + 1, form = sign;

            mark = word + strcspn(word, marks);
            sign = *mark;
            *mark = '\0';
            unquote(word);
            code = forms[strchr(marks, form) - marks](*of, word, made, error);
            *of = *made;
            taken->made_count += code == PG_OK;
        }
    }
    return code;
}

static void give_back(struct taken *taken)
{
    while (taken->made_count > 0) {
        pg_limiter_close(taken->made[--taken->made_count], NULL);
    }
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
    refused[0] = '\0';
}

/* The limiter in another form, which replaces it. */
static void replace(pg_limiter **limiter, pg_code (*form)(const pg_limiter *, pg_limiter **, pg_error *))
{
    pg_limiter *other;
    pg_error error;

    well(form(*limiter, &other, &error), &error);
    pg_limiter_close(*limiter, NULL);
    *limiter = other;
}

static pg_code in_mode(const pg_limiter *of, pg_limiter **other, pg_error *error)
{
    char mode[64];

    return pg_limiter_with_mode(of, keep_label(field[4], mode), other, error);
}

static pg_code that_blocks(const pg_limiter *of, pg_limiter **other, pg_error *error)
{
    return pg_limiter_with_block_after(of, atoll(field[5]), atoll(field[6]), atoll(field[7]), other, error);
}

/* its name, whether it is keyed, whether it has statistics, =mode or nothing, when it blocks by itself (three numbers);
   its limits stand before it */
static void add_member(void)
{
    char real[LONGEST];
    size_t count = limit_count;
    pg_limiter **made = &members[member_count].limiter;
    pg_error error;

    limit_count = 0;
    unquote(field[1]);
    snprintf(real, sizeof real, "%.300s.%.200s", name, field[1]);
    snprintf(members[member_count].name, sizeof members->name, "%s", field[1]);
    well(pg_limiter_new(store, real, limits, count, made, &error), &error);
    if (atoi(field[2])) {
        replace(made, pg_limiter_keyed);
    }
    if (!atoi(field[3])) {
        replace(made, pg_limiter_without_statistics);
    }
    if (*field[4] != '\0') {
        replace(made, in_mode);
    }
    if (atoi(field[5]) > 0) {
        replace(made, that_blocks);
    }
    member_count++;
}

/* "one" and its name, or "all" and the names of those that decide together. Without a limiter the step
   is refused, and must be so for this argument. */
static void choose(void)
{
    struct taken taken;
    pg_error error;
    pg_code code;

    unchoose();
    code = take(field + 2, &taken, &error);
    if (code == PG_OK && strcmp(field[1], "all") == 0) {
        code = pg_together(store, taken.limiters, taken.count, &limiter, &error);
    } else if (code == PG_OK) {
        limiter = taken.limiters[0];
        taken.made_count -= taken.made_count > 0; /* unchoose closes the last, which it is */
    }
    give_back(&taken);
    snprintf(refused, sizeof refused, "%s", code == PG_OK ? "" : error.argument);
}

/* the argument of the error, then names */
static void refuse_together(void)
{
    struct taken taken;
    pg_limiter *all = NULL;
    pg_error error;
    pg_code code = take(field + 2, &taken, &error);

    if (code == PG_OK) {
        code = pg_together(store, taken.limiters, taken.count, &all, &error);
    }
    expect("invalid", pg_error_name(code));
    expect(field[1], error.argument);
    if (all != NULL) {
        fail("NULL", "a limiter");
    }
    give_back(&taken);
}

#endif
