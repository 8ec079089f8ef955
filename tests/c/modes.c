/* Limiters that refuse nobody, and blocks. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

#include "misuse.h"

static const pg_limit ONE = {.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 60000000};

static void shadow_refuses_nobody(void)
{
    pg_limiter *first, *second, *shadow;
    pg_decision d;
    pg_statistics statistics;

    make(ONE, &first, &second);
    OK(pg_limiter_with_mode(first, "shadow", &shadow, &error));
    OK(pg_acquire(shadow, NULL, &d, &error));
    CHECK_INT(PG_REASON_NONE, d.would_refuse);
    OK(pg_acquire(shadow, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(PG_REASON_NONE, d.reason);
    CHECK_INT(PG_REASON_WINDOW, d.would_refuse);
    CHECK_INT(60000000, d.retry_after_us);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_stats(second, &statistics, &error));
    CHECK_INT(1, statistics.granted);
    CHECK_INT(1, statistics.refused);
    CHECK_INT(1, statistics.shadow_refused);
    OK(pg_limiter_close(shadow, &error));
    forget(first, second);
}

static void the_mode_is_overridden_for_all(void)
{
    pg_limiter *first, *second;
    pg_runtime_state state;
    pg_decision d;

    make(ONE, &first, &second);
    OK(pg_acquire(first, NULL, &d, &error));
    OK(pg_override_mode(first, "shadow", 3600000000, PG_NOT_GIVEN, &state, &error));
    CHECK_TEXT("shadow", state.mode);
    CHECK_INT(3600000000, state.expires_in_us);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_REASON_WINDOW, d.would_refuse);
    OK(pg_override_mode(second, NULL, PG_NOT_GIVEN, PG_NOT_GIVEN, &state, &error));
    CHECK_TEXT("", state.mode);
    CHECK_INT(0, state.version);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_override_mode(first, "enforce", PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error));
    OK(pg_restore(first, NULL, &state, &error));
    CHECK_TEXT("", state.mode);
    forget(first, second);
}

static void a_key_is_blocked(void)
{
    pg_limiter *first, *second, *keyed, *mallory, *alice;
    pg_runtime_state state;
    pg_decision d;

    make(ONE, &first, &second);
    OK(pg_limiter_keyed(second, &keyed, &error));
    OK(pg_limiter_with_key(keyed, "mallory", &mallory, &error));
    OK(pg_limiter_with_key(keyed, "alice", &alice, &error));
    OK(pg_block(mallory, 3600000000, PG_NOT_GIVEN, &state, &error));
    CHECK_INT(3600000000, state.blocked_for_us);
    CHECK_INT(-1, state.paused_for_us);
    OK(pg_acquire(mallory, NULL, &d, &error));
    CHECK_INT(PG_REASON_BLOCKED, d.reason);
    CHECK_TEXT("blocked", pg_reason_name(d.reason));
    CHECK_INT(3600000000, d.retry_after_us);
    OK(pg_acquire(alice, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_resume(mallory, &state, &error));
    CHECK_INT(-1, state.blocked_for_us);
    OK(pg_acquire(mallory, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_limiter_close(mallory, &error));
    OK(pg_limiter_close(alice, &error));
    OK(pg_limiter_close(keyed, &error));
    forget(first, second);
}

static void refusals_lead_to_a_block(void)
{
    pg_limiter *first, *second, *login;
    pg_runtime_state state;
    pg_decision d;

    make(ONE, &first, &second);
    OK(pg_limiter_with_block_after(first, 2, 60000000, 3600000000, &login, &error));
    for (int i = 0; i < 3; i++) {
        OK(pg_acquire(login, NULL, &d, &error));
        CHECK_INT(i == 0 ? PG_REASON_NONE : PG_REASON_WINDOW, d.reason);
    }
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_REASON_BLOCKED, d.reason);
    OK(pg_runtime_state_get(second, &state, &error));
    CHECK_INT(3600000000, state.blocked_for_us);
    OK(pg_limiter_close(login, &error));
    forget(first, second);
}

static void wrong_modes_and_blocks_are_refused(void)
{
    pg_limiter *first, *second, *both, *other = NULL;
    pg_decision d;

    make(ONE, &first, &second);
    OK(pg_together(here, &first, 1, &both, &error));
    REFUSED("mode", pg_limiter_with_mode(first, "loud", &other, &error_));
    REFUSED("mode", pg_limiter_with_mode(first, NULL, &other, &error_));
    REFUSED("mode", pg_limiter_with_mode(both, "shadow", &other, &error_));
    REFUSED("block_after", pg_limiter_with_block_after(first, 0, 60000000, 60000000, &other, &error_));
    REFUSED("block_after", pg_limiter_with_block_after(first, -1, 60000000, 60000000, &other, &error_));
    REFUSED("block_after", pg_limiter_with_block_after(first, 1, 999999, 60000000, &other, &error_));
    REFUSED("block_after", pg_limiter_with_block_after(first, 1, 60000000, INT64_MAX, &other, &error_));
    REFUSED("block_after", pg_limiter_with_block_after(both, 1, 60000000, 60000000, &other, &error_));
    CHECK(other == NULL);
    REFUSED("for", pg_block(first, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error_));
    REFUSED("for", pg_block(first, 0, PG_NOT_GIVEN, NULL, &error_));
    REFUSED("until", pg_block(first, 1, 1, NULL, &error_));
    REFUSED("block", pg_block(both, 1, PG_NOT_GIVEN, NULL, &error_));
    REFUSED("mode", pg_override_mode(first, "loud", PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error_));
    REFUSED("mode", pg_override_mode(first, NULL, 1000000, PG_NOT_GIVEN, NULL, &error_));
    REFUSED("expires_in", pg_override_mode(first, "shadow", 0, PG_NOT_GIVEN, NULL, &error_));
    OK(pg_acquire(first, NULL, &d, &error));
    CHECK_INT(PG_REASON_NONE, d.would_refuse);
    OK(pg_acquire(first, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_limiter_close(both, &error));
    forget(first, second);
}

int main(void)
{
    ON_EACH_STORE(shadow_refuses_nobody);
    ON_EACH_STORE(the_mode_is_overridden_for_all);
    ON_EACH_STORE(a_key_is_blocked);
    ON_EACH_STORE(refusals_lead_to_a_block);
    ON_EACH_STORE(wrong_modes_and_blocks_are_refused);
    return check_report();
}
