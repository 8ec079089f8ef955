/* Jobs before their limits: run, wait, reschedule, drop or refuse. */
#include "live.h"

/* Decides about a job, so long after NOW, and checks what is done with it. */
static pg_admission admit(pg_limiter *limiter, const char *id, const char *on_limit, int64_t after,
                          pg_action expected, int64_t after_us)
{
    pg_admission admission;

    at(NOW + after);
    memset(&admission, 0x55, sizeof admission);
    OK(pg_admit(limiter, id, on_limit, &(pg_request){.cost = 1}, &admission, &error));
    CHECK_TEXT(pg_action_name(expected), pg_action_name(admission.action));
    CHECK_INT(after_us, admission.after_us);
    CHECK_INT(admission.action == PG_ACTION_RUN, admission.decision.status == PG_STATUS_GRANTED);
    CHECK_INT(0, admission.decision.degraded);
    return admission;
}

static void a_job_that_runs_is_asked_about_again_and_takes_nothing(void)
{
    pg_limiter *first, *second;
    pg_admission run, wait;
    pg_statistics statistics;
    pg_settlement settlement;

    make((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000}, &first, &second);
    run = admit(first, "task", "wait", 0, PG_ACTION_RUN, -1);
    CHECK(run.decision.permit[0] != '\0' && run.decision.fencing_token > 0);
    run = admit(second, "task", "wait", 1, PG_ACTION_RUN, -1);
    OK(pg_stats(first, &statistics, &error));
    CHECK_INT(1, statistics.leases);
    /* Another has a place, which it keeps, and looks for a release, at first after a guess; on_limit
     * is wait where nothing is said. */
    wait = admit(second, "other", NULL, 2, PG_ACTION_WAIT, 62500);
    CHECK_INT(PG_STATUS_QUEUED, wait.decision.status);
    CHECK_INT(0, wait.decision.position);
    CHECK_INT(wait.decision.ticket, admit(first, "other", "wait", 3, PG_ACTION_WAIT, 62500).decision.ticket);
    at(NOW + 4);
    OK(pg_release(second, run.decision.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    admit(first, "other", "wait", 5, PG_ACTION_RUN, -1);
    forget(first, second);
}

static void a_rescheduled_job_comes_when_the_limit_allows_it(void)
{
    pg_limiter *first, *second;

    make((pg_limit){.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 700000}, &first, &second);
    admit(first, "a", "reschedule", 0, PG_ACTION_RUN, -1);
    admit(second, "b", "reschedule", 0, PG_ACTION_RESCHEDULE, 700000);
    admit(first, "c", "reschedule", 0, PG_ACTION_RESCHEDULE, 1400000);
    admit(second, "new", "drop", 700000, PG_ACTION_DROP, -1);
    admit(first, "b", "reschedule", 700000, PG_ACTION_RUN, -1);
    admit(first, "c", "reschedule", 1400000, PG_ACTION_RUN, -1);
    forget(first, second);
}

static void what_is_dropped_or_refused_takes_nothing(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000},
        {.kind = PG_KIND_WINDOW, .amount = 10, .interval_us = 60000000},
    };
    pg_limiter *limiter;
    pg_admission run, refused;
    pg_statistics statistics;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(there, name, limits, 2, &limiter, &error));
    run = admit(limiter, "a", "wait", 0, PG_ACTION_RUN, -1);
    admit(limiter, "b", "drop", 0, PG_ACTION_DROP, -1);
    refused = admit(limiter, "c", "raise", 0, PG_ACTION_REFUSE, 60000000);
    CHECK_INT(PG_REASON_CONCURRENCY, refused.decision.reason);
    admit(limiter, "d", "ignore", 0, PG_ACTION_REFUSE, 60000000);
    OK(pg_stats(limiter, &statistics, &error));
    CHECK_INT(1, statistics.units);
    CHECK_INT(0, statistics.tickets);
    OK(pg_release(limiter, run.decision.permit, NULL, &error));
    admit(limiter, "c", "raise", 0, PG_ACTION_RUN, -1);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
}

static void a_job_that_is_tried_again_counts_as_a_new_one(void)
{
    pg_limiter *first, *second;

    make((pg_limit){.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000}, &first, &second);
    admit(first, "job/1", "drop", 0, PG_ACTION_RUN, -1);
    admit(second, "job/2", "drop", 0, PG_ACTION_RUN, -1);
    admit(first, "job/3", "drop", 0, PG_ACTION_DROP, -1);
    forget(first, second);
}

static void an_estimate_is_corrected(void)
{
    pg_limiter *first, *second;
    pg_request request = {.estimate = 80};
    pg_admission admission;
    pg_settlement settlement;

    make((pg_limit){.kind = PG_KIND_POINTS, .amount = 100, .interval_us = 100000000}, &first, &second);
    OK(pg_admit(first, "a", "drop", &request, &admission, &error));
    CHECK_INT(PG_ACTION_RUN, admission.action);
    CHECK_INT(20, admission.decision.remaining);
    OK(pg_correct(second, admission.decision.permit, 30, NULL, 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    request.estimate = 70;
    OK(pg_admit(second, "b", "drop", &request, &admission, &error));
    CHECK_INT(PG_ACTION_RUN, admission.action);
    forget(first, second);
}

static void nobody_knows_when_a_pause_of_the_policy_ends(void)
{
    pg_limiter *limiter;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_paused(here, name, &limiter, &error));
    admit(limiter, "a", "wait", 0, PG_ACTION_WAIT, -1);
    admit(limiter, "a", "reschedule", 0, PG_ACTION_RESCHEDULE, -1);
    admit(limiter, "a", "raise", 0, PG_ACTION_REFUSE, -1);
    OK(pg_limiter_close(limiter, &error));
}

static void statistics_have_refusals_by_label_and_waits(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000, .label = "rpm"},
        {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 30000000, .label = "workers"},
    };
    pg_limiter *limiter;
    pg_admission run;
    pg_statistics statistics;
    pg_settlement settlement;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(there, name, limits, 2, &limiter, &error));
    memset(&statistics, 0x55, sizeof statistics);
    at(NOW);
    OK(pg_stats(limiter, &statistics, &error));
    CHECK_INT(0, statistics.refused_by_count);
    run = admit(limiter, "first", "wait", 0, PG_ACTION_RUN, -1);
    admit(limiter, "second", "wait", 0, PG_ACTION_WAIT, 62500);
    at(NOW + 3000);
    OK(pg_release(limiter, run.decision.permit, &settlement, &error));
    admit(limiter, "second", "wait", 3000, PG_ACTION_RUN, -1);
    OK(pg_acquire(limiter, &(pg_request){.cost = 1}, &run.decision, &error));
    CHECK_TEXT("rpm", run.decision.label);
    OK(pg_stats(limiter, &statistics, &error));
    CHECK_INT(1, statistics.refused);
    CHECK_INT(1, statistics.refused_by_count);
    CHECK_TEXT("rpm", statistics.refused_by[0].label);
    CHECK_INT(1, statistics.refused_by[0].refused);
    CHECK_TEXT("", statistics.refused_by[31].label);
    CHECK_INT(1, statistics.waited);
    CHECK_INT(3000, statistics.wait_time_us);
    CHECK_INT(2, statistics.near_limit);
    CHECK_INT(2, statistics.units);
    CHECK_INT(2, statistics.estimated_units);
    for (int i = 0; i < 22; i++) {
        CHECK_INT(i == 2, statistics.waits[i]);
        CHECK_INT(i == 2, statistics.holds[i]);
    }
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
}

int main(void)
{
    ON_EACH_STORE(statistics_have_refusals_by_label_and_waits);
    ON_EACH_STORE(a_job_that_runs_is_asked_about_again_and_takes_nothing);
    ON_EACH_STORE(a_rescheduled_job_comes_when_the_limit_allows_it);
    ON_EACH_STORE(what_is_dropped_or_refused_takes_nothing);
    ON_EACH_STORE(a_job_that_is_tried_again_counts_as_a_new_one);
    ON_EACH_STORE(an_estimate_is_corrected);
    ON_EACH_STORE(nobody_knows_when_a_pause_of_the_policy_ends);
    return check_report();
}
