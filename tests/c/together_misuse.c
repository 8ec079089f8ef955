/* Limiters that cannot decide together, and groups that are none. */
#define _POSIX_C_SOURCE 200809L
#include "misuse.h"

enum { ALL = 5 };

static pg_limiter *each[ALL], *pair;

static void limiters_that_cannot_be_together(void)
{
    pg_store *other;
    pg_limiter *elsewhere, *twice, *made = (pg_limiter *)&store;

    OK(pg_store_memory(&other, &error));
    OK(pg_limiter_bucket(other, "elsewhere", 5, 60000000, &elsewhere, &error));
    OK(pg_limiter_bucket(store, "b", 5, 60000000, &twice, &error));
    REFUSED("limiters", pg_together(store, NULL, 0, &made, &error_));
    CHECK(made == NULL);
    REFUSED("limiters", pg_together(store, NULL, 1, &made, &error_));
    REFUSED("limiters", pg_together(store, each, 0, &made, &error_));
    REFUSED("limiters", pg_together(store, each, ALL, &made, &error_));
    REFUSED("limiters", pg_together(store, each, SIZE_MAX, &made, &error_));
    pg_limiter *const wrong[] = {twice, elsewhere, pair, NULL, (pg_limiter *)store, (pg_limiter *)&error_};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pg_limiter *limiters[] = {each[0], each[1], wrong[i]};
        REFUSED("limiters", pg_together(store, limiters, 3, &made, &error_));
        CHECK(made == NULL);
    }
    OK(pg_limiter_close(twice, &error));
    pg_limiter *closed[] = {each[0], twice};
    REFUSED("limiters", pg_together(store, closed, 2, &made, &error_));
    REFUSED("store", pg_together(NULL, each, 2, &made, &error_));
    REFUSED("limiter", pg_together(store, each, 2, NULL, &error_));
    OK(pg_limiter_close(elsewhere, &error));
    OK(pg_store_close(other, &error));
}

static void groups(void)
{
    static char longest[513], long_group[514];
    pg_limiter *acme, *other, *made = (pg_limiter *)&store;

    memset(longest, 'g', 512);
    memset(long_group, 'g', 513);
    const char *const wrong[] = {NULL, "", long_group, "\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REFUSED("group", pg_limiter_with_group(each[0], wrong[i], &made, &error_));
        CHECK(made == NULL);
    }
    REFUSED("limiter", pg_limiter_with_group(NULL, "acme", &made, &error_));
    REFUSED("other", pg_limiter_with_group(each[0], "acme", NULL, &error_));
    REFUSED("group", pg_limiter_with_group(pair, "acme", &made, &error_));
    OK(pg_limiter_with_group(each[0], longest, &made, &error));
    OK(pg_limiter_close(made, &error));
    OK(pg_limiter_with_group(each[0], "acme", &acme, &error));
    OK(pg_limiter_with_group(each[1], "other", &other, &error));
    pg_limiter *one_without[] = {acme, each[1]}, *two_groups[] = {acme, other};
    REFUSED("group", pg_together(store, one_without, 2, &made, &error_));
    REFUSED("group", pg_together(store, two_groups, 2, &made, &error_));
    OK(pg_limiter_close(acme, &error));
    OK(pg_limiter_close(other, &error));
}

static void costs_by_limiter(void)
{
    const pg_units wrong[][2] = {
        {{NULL, 1, "nobody"}, {NULL, 1, "a"}},    {{"tokens", 1, "a"}, {NULL, 1, "b"}},
        {{NULL, 1, "a"}, {"bucket", 1, "a"}},     {{NULL, 1, "a"}, {NULL, 1, "a"}},
        {{NULL, 1, "a"}, {NULL, 1, NULL}},        {{NULL, 1, "a"}, {"tokens", 1, NULL}},
        {{NULL, 1, "\xff"}, {NULL, 1, "a"}},      {{"\xff", 1, "a"}, {NULL, 1, "b"}},
        {{"bucket", UINT64_MAX, "a"}, {NULL, 1, "b"}},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pg_request bad = {.cost_by_label = wrong[i], .cost_count = 2};
        REFUSED("cost", pg_acquire(pair, &bad, &decision, &error_));
        CHECK_INT(-1, decision.limiter);
        REFUSED("cost", pg_debit(pair, 0, wrong[i], 2, &decision, &error_));
        bad = (pg_request){.estimate_by_label = wrong[i], .estimate_count = 2};
        REFUSED("estimate", pg_peek(pair, &bad, &decision, &error_));
        REFUSED("actual", pg_correct(pair, "id+1:1+1:1", 0, wrong[i], 2, NULL, &error_));
    }
    REFUSED("limiter", pg_debit(NULL, 0, wrong[0], 2, &decision, &error_));
    OK(pg_peek(pair, &(pg_request){.cost = PG_COST_ZERO}, &decision, &error));
    CHECK_INT(5, decision.remaining);
}

static void what_is_of_one_name(void)
{
    pg_statistics statistics;
    pg_runtime_state state;

    REFUSED("statistics", pg_stats(pair, &statistics, &error_));
    REFUSED("reset", pg_reset(pair, &error_));
    REFUSED("pause", pg_pause(pair, 1000000, PG_NOT_GIVEN, NULL, &error_));
    REFUSED("override", pg_override(pair, NULL, 1, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error_));
    REFUSED("runtime_state", pg_runtime_state_get(pair, &state, &error_));
    REFUSED("learn", pg_report_budget(pair, NULL, NULL, 1, PG_NOT_GIVEN, PG_NOT_GIVEN, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL,
                                      &error_));
}

int main(void)
{
    OK(pg_store_memory(&store, &error));
    for (int i = 0; i < ALL; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        OK(pg_limiter_bucket(store, name, 5, 60000000, &each[i], &error));
    }
    limiter = each[0];
    OK(pg_together(store, each, 2, &pair, &error));
    RUN(limiters_that_cannot_be_together);
    RUN(groups);
    RUN(costs_by_limiter);
    RUN(what_is_of_one_name);
    OK(pg_limiter_close(pair, &error));
    for (int i = 0; i < ALL; i++) {
        OK(pg_limiter_close(each[i], &error));
    }
    OK(pg_store_close(store, &error));
    return check_report();
}
