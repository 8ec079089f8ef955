/* Wrong keys, and what needs one or has none. */
#include "misuse.h"

static pg_limiter *keyed, *alice, *made;

static void keys(void)
{
    static char too_long[514], long_text[513];
    const char *const wrong[] = {NULL, "", too_long, "\xff", "\xed\xa0\x80"};

    memset(too_long, 'k', 513);
    memset(long_text, 'k', 512);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        made = (pg_limiter *)&store;
        REFUSED("key", pg_limiter_with_key(keyed, wrong[i], &made, &error_));
        CHECK(made == NULL);
        REFUSED("key", pg_limiter_with_key(alice, wrong[i], &made, &error_));
    }
    OK(pg_limiter_with_key(keyed, long_text, &made, &error));
    OK(pg_limiter_close(made, &error));
    made = (pg_limiter *)&store;
    REFUSED("key", pg_limiter_with_key(limiter, "alice", &made, &error_));
    CHECK(made == NULL);
    CHECK_INT(PG_INVALID, pg_limiter_with_key(limiter, "alice", NULL, NULL));
}

static void handles(void)
{
    pg_limiter *closed, *second, *both;
    pg_limiter *const wrong[] = {NULL, (pg_limiter *)store, (pg_limiter *)&error_};

    OK(pg_limiter_with_key(keyed, "bob", &closed, &error));
    OK(pg_limiter_close(closed, &error));
    REFUSED("limiter", pg_limiter_close(closed, &error_));
    REFUSED("limiter", pg_acquire(closed, NULL, &decision, &error_));
    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        pg_limiter *bad = i == 0 ? closed : wrong[i - 1];

        REFUSED("limiter", pg_limiter_keyed(bad, &made, &error_));
        REFUSED("limiter", pg_limiter_with_key(bad, "alice", &made, &error_));
        REFUSED("limiter", pg_limiter_without_statistics(bad, &made, &error_));
        CHECK(made == NULL);
        CHECK_INT(0, pg_limiter_is_keyed(bad));
    }
    REFUSED("other", pg_limiter_keyed(limiter, NULL, &error_));
    REFUSED("other", pg_limiter_with_key(keyed, "alice", NULL, &error_));
    REFUSED("other", pg_limiter_without_statistics(limiter, NULL, &error_));
    REFUSED("key", pg_together(store, &keyed, 1, &made, &error_));
    OK(pg_limiter_window(store, "second", 5, 60000000, &second, &error));
    OK(pg_together(store, (pg_limiter *[]){second, alice}, 2, &both, &error));
    OK(pg_limiter_close(second, &error));
    REFUSED("keyed", pg_limiter_keyed(both, &made, &error_));
    REFUSED("key", pg_limiter_with_key(both, "alice", &made, &error_));
    REFUSED("statistics", pg_limiter_without_statistics(both, &made, &error_));
    OK(pg_limiter_close(both, &error));
}

static void places(void)
{
    char key[6] = "xxxxx";

    REFUSED("place", pg_limiter_key(alice, NULL, 513, &error_));
    REFUSED("room", pg_limiter_key(alice, key, 5, &error_));
    REFUSED("room", pg_limiter_key(keyed, key, 0, &error_));
    REFUSED("limiter", pg_limiter_key(NULL, key, 6, &error_));
    CHECK_TEXT("xxxxx", key);
    OK(pg_limiter_key(alice, key, 6, &error));
    CHECK_TEXT("alice", key);
    OK(pg_limiter_key(keyed, key, 1, &error));
    CHECK_TEXT("", key);
}

static void every_call_needs_the_key(void)
{
    const char *const jobs[] = {"a", "b"}, *const headers[] = {"Retry-After", "30"};
    const pg_limit limit = {.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 60000000};
    pg_admission admissions[2];
    pg_settlement settlement;
    pg_statistics statistics;
    pg_runtime_state state;
    pg_learned learned;
    pg_queued_id ids[1];
    pg_inspection inspection;
    int64_t lease;
    int32_t paused;
    size_t found;
    int64_t after_us;

    REFUSED("key", pg_acquire(keyed, NULL, &decision, &error_));
    REFUSED("key", pg_acquire_timeout(keyed, NULL, 1000000, &decision, &error_));
    REFUSED("key", pg_acquire_with_id(keyed, NULL, "id", NULL, &decision, &error_));
    REFUSED("key", pg_peek(keyed, NULL, &decision, &error_));
    REFUSED("key", pg_debit(keyed, 1, NULL, 0, &decision, &error_));
    REFUSED("key", pg_refund(keyed, 1, NULL, 0, &decision, &error_));
    REFUSED("key", pg_correct(keyed, "id:1:1", 1, NULL, 0, &settlement, &error_));
    REFUSED("key", pg_release(keyed, "id:1:1", &settlement, &error_));
    REFUSED("key", pg_renew(keyed, "id:1:1", &lease, &error_));
    REFUSED("key", pg_cancel(keyed, "id", 0, &settlement, &error_));
    REFUSED("key", pg_ready(keyed, 1, ids, &found, &error_));
    REFUSED("key", pg_ready_for(keyed, NULL, NULL, 1, ids, &found, &after_us, &error_));
    REFUSED("key", pg_inspect(keyed, 0, 0, &inspection, NULL, NULL, &error_));
    REFUSED("key", pg_reset(keyed, &error_));
    REFUSED("key", pg_pause(keyed, 1000000, PG_NOT_GIVEN, &state, &error_));
    REFUSED("key", pg_resume(keyed, &state, &error_));
    REFUSED("key", pg_override(keyed, NULL, 1, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN, &state, &error_));
    REFUSED("key", pg_override_limits(keyed, &limit, 1, PG_NOT_GIVEN, PG_NOT_GIVEN, &state, &error_));
    REFUSED("key", pg_restore(keyed, NULL, &state, &error_));
    REFUSED("key", pg_runtime_state_get(keyed, &state, &error_));
    REFUSED("key", pg_report_budget(keyed, NULL, NULL, 1, PG_NOT_GIVEN, PG_NOT_GIVEN, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, &learned,
                                    &error_));
    REFUSED("key", pg_learn_from_response(keyed, NULL, NULL, 429, headers, 2, NULL, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN,
                                          &learned, &error_));
    REFUSED("key", pg_admit(keyed, "a", "wait", NULL, admissions, &error_));
    REFUSED("key", pg_admit_all(keyed, jobs, 2, "wait", 0, admissions, &error_));
    REFUSED("key", pg_apply_ojs_signal(keyed, "{\"type\": \"rate_limited\"}", &paused, &error_));
    REFUSED("key", pg_apply_ojs_override(keyed, "{\"rate\": null}", &state, &error_));
    REFUSED("key", pg_stats(alice, &statistics, &error_));
    OK(pg_peek(alice, &(pg_request){.cost = PG_COST_ZERO}, &decision, &error));
    CHECK_INT(5, decision.remaining);
    OK(pg_stats(keyed, &statistics, &error));
    CHECK_INT(0, statistics.granted + statistics.refused);
}

int main(void)
{
    const char *const urls[] = {"memory://", getenv("PADDLEGATE_TEST_URL")};

    for (int i = 0; i < 2; i++) {
        OK(pg_store_open(urls[i], 10000000, &store, &error));
        OK(pg_limiter_window(store, "keyed-misuse", 5, 60000000, &limiter, &error));
        OK(pg_limiter_keyed(limiter, &keyed, &error));
        OK(pg_limiter_with_key(keyed, "alice", &alice, &error));
        RUN(keys);
        RUN(handles);
        RUN(places);
        RUN(every_call_needs_the_key);
        OK(pg_limiter_close(alice, &error));
        OK(pg_limiter_close(keyed, &error));
        OK(pg_limiter_close(limiter, &error));
        OK(pg_store_close(store, &error));
    }
    return check_report();
}
