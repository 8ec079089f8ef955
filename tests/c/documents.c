/* What documents of others say: gates of Invantive, workflows of Conductor, Open Job Spec. */
#include "live.h"

#include <stddef.h>

/* A gate on the first connection and one on the second, of one slot that has the name of this test. */
static void open_gates(const char *criteria, const char *levels, pg_invantive_gate **first, pg_invantive_gate **second)
{
    char text[1024];

    OK(pg_new_id(name, &error));
    snprintf(text, sizeof text,
             "{\"RateLimitControlList\": [{\"SlotName\": \"%s\"%s}],"
             "\"RateLimitControlSlotList\": [{\"Name\": \"%s\", %s}]} no more",
             name, criteria, name, levels);
    OK(pg_invantive_gate_new(here, text, strlen(text) - strlen(" no more"), first, &error));
    OK(pg_invantive_gate_new(there, text, strlen(text) - strlen(" no more"), second, &error));
}

static void close_gates(pg_invantive_gate *first, pg_invantive_gate *second)
{
    OK(pg_invantive_gate_close(first, &error));
    OK(pg_invantive_gate_close(second, &error));
}

/* Decides about a request at a time, of which nothing else is known. */
static pg_gate_decision pass(pg_invantive_gate *gate, int64_t now_us)
{
    pg_gate_decision gate_decision;

    at(now_us);
    memset(&gate_decision, 0x55, sizeof gate_decision);
    OK(pg_invantive_gate_admit(gate, NULL, &gate_decision, &error));
    return gate_decision;
}

static void the_third_of_a_second_fails(void)
{
    pg_invantive_gate *first, *second;
    pg_gate_decision gate_decision;

    open_gates("", "\"ActionsPerSecond\": 2", &first, &second);
    for (int i = 0; i < 2; i++) {
        gate_decision = pass(i == 0 ? first : second, NOW + 400000);
        CHECK_INT(1, gate_decision.allowed);
        CHECK_INT(PG_LEVEL_NONE, gate_decision.level);
        CHECK_INT(PG_REASON_NONE, gate_decision.reason);
        CHECK_INT(0, gate_decision.delay_us);
        CHECK_INT(0, gate_decision.retry_after_us);
        CHECK_TEXT(name, gate_decision.slot);
    }
    gate_decision = pass(first, NOW + 400000);
    CHECK_INT(0, gate_decision.allowed);
    CHECK_TEXT("second", pg_level_name(gate_decision.level));
    CHECK_INT(PG_REASON_BUCKET, gate_decision.reason);
    CHECK_INT(600000, gate_decision.retry_after_us);
    CHECK_TEXT(name, gate_decision.slot);
    CHECK_INT(1, pass(second, NOW + 1000000).allowed);
    close_gates(first, second);
}

static void a_level_that_does_not_fail_delays(void)
{
    static const int64_t delays[] = {0, 0, 250000, 250000};
    pg_invantive_gate *first, *second;

    open_gates("",
               "\"ActionsPerMinute\": 2, \"DelayMsOnOverflowMinute\": 250,"
               "\"FailOnOverflowMinute\": false",
               &first, &second);
    for (int i = 0; i < 4; i++) {
        pg_gate_decision gate_decision = pass(i % 2 ? first : second, NOW);
        CHECK_INT(1, gate_decision.allowed);
        CHECK_INT(delays[i], gate_decision.delay_us);
        CHECK_INT(i < 2 ? PG_LEVEL_NONE : PG_LEVEL_MINUTE, gate_decision.level);
        CHECK_INT(PG_REASON_NONE, gate_decision.reason);
    }
    close_gates(first, second);
}

static void a_failure_is_delayed_too(void)
{
    pg_invantive_gate *first, *second;
    pg_gate_decision gate_decision;

    open_gates("", "\"ActionsPerHour\": 0, \"DelayMsOnOverflowHour\": 250", &first, &second);
    gate_decision = pass(first, NOW);
    CHECK_INT(0, gate_decision.allowed);
    CHECK_INT(250000, gate_decision.delay_us);
    CHECK_INT(PG_LEVEL_HOUR, gate_decision.level);
    CHECK_INT(PG_REASON_PAUSED, gate_decision.reason);
    CHECK_INT(-1, gate_decision.retry_after_us);
    close_gates(first, second);
}

static void the_clock_of_the_store_decides(void)
{
    pg_invantive_gate *first, *second;
    pg_gate_decision gate_decision;

    open_gates(", \"ValidToUtc\": \"2001-01-01T00:00:00Z\"", "\"ActionsPerSecond\": 1", &first, &second);
    CHECK_TEXT(name, pass(second, 1).slot);
    gate_decision = pass(first, NOW);
    CHECK_INT(1, gate_decision.allowed);
    CHECK_TEXT("", gate_decision.slot);
    close_gates(first, second);
}

static void all_facts_must_match(void)
{
    const pg_request_attributes known = {"k\xc3\xa4se/1", "https://example.com/a", "me", "box", "10.1.2.3"};
    pg_invantive_gate *first, *second;
    pg_gate_decision gate_decision;

    open_gates(", \"Context\": \"k\xc3\xa4se*\", \"Url\": \"https://example.com/*\", \"LogOnCode\": \"me\","
               "\"DataContainerId\": \"box\", \"IpAddressClientCidr\": \"10.0.0.0/8\"",
               "\"ActionsPerHour\": 100", &first, &second);
    OK(pg_invantive_gate_admit(first, &known, &gate_decision, &error));
    CHECK_TEXT(name, gate_decision.slot);
    for (int i = 0; i < 5; i++) {
        pg_request_attributes other = known;
        const char **facts[] = {&other.context, &other.url, &other.log_on_code, &other.data_container_id, &other.ip};
        *facts[i] = NULL;
        OK(pg_invantive_gate_admit(first, &other, &gate_decision, &error));
        CHECK_TEXT("", gate_decision.slot);
        *facts[i] = "11.0.0.1";
        OK(pg_invantive_gate_admit(second, &other, &gate_decision, &error));
        CHECK_TEXT("", gate_decision.slot);
    }
    close_gates(first, second);
}

static const char *const WORKFLOW =
    "{\"name\": \"order\", \"rateLimitConfig\": {\"rateLimitKey\": \"${workflow.correlationId}\","
    "\"concurrentExecLimit\": 3, \"policy\": \"REJECT\"}}";

/* The limiter of a run whose key is the name of this test and this letter. */
static pg_loaded_limiter open_run(const char *letter)
{
    char run[128];
    pg_loaded_limiter loaded;

    memset(&loaded, 0x55, sizeof loaded);
    snprintf(run, sizeof run, "{\"correlationId\": \"%s%s\", \"input\": {}}", name, letter);
    OK(pg_conductor_limiter(here, WORKFLOW, run, PG_NOT_GIVEN, &loaded, &error));
    return loaded;
}

static void each_key_has_its_own_limit(void)
{
    static const char *const ids[] = {"1", "2", "3", "4", "5", "6"};
    pg_admission admissions[6];

    OK(pg_new_id(name, &error));
    for (const char *letter = "ab"; *letter != '\0'; letter++) {
        pg_loaded_limiter loaded = open_run(letter);
        int run = 0;
        const char *prefix = "conductor/workflow/", *key = loaded.name + strlen(prefix);
        CHECK(strncmp(prefix, loaded.name, strlen(prefix)) == 0);
        CHECK(strncmp(name, key, strlen(name)) == 0);
        CHECK_TEXT(letter, key + strlen(name));
        CHECK_TEXT("raise", loaded.on_limit);
        CHECK_INT(-1, loaded.wait_timeout_us);
        CHECK_INT(1, loaded.count);
        CHECK_INT(PG_KIND_CONCURRENCY, loaded.limits[0].kind);
        CHECK_INT(3, loaded.limits[0].amount);
        CHECK_INT(pg_lock_timeout_us(), loaded.limits[0].interval_us);
        OK(pg_admit_all(loaded.limiter, ids, 6, loaded.on_limit, 1, admissions, &error));
        for (int i = 0; i < 6; i++) {
            run += admissions[i].action == PG_ACTION_RUN;
        }
        CHECK_INT(3, run);
        OK(pg_reset(loaded.limiter, &error));
        OK(pg_limiter_close(loaded.limiter, &error));
    }
}

static void a_run_without_a_key_is_not_limited(void)
{
    static const char *const runs[] = {"{}", "{\"correlationId\": null}", "{\"correlationId\": \"\"}"};

    for (int i = 0; i < 3; i++) {
        pg_loaded_limiter loaded;
        pg_decision d;
        OK(pg_conductor_limiter(here, WORKFLOW, runs[i], 3600000000, &loaded, &error));
        CHECK_TEXT("conductor/unlimited/order", loaded.name);
        CHECK_INT(0, loaded.count);
        for (int call = 0; call < 4; call++) {
            OK(pg_acquire(loaded.limiter, NULL, &d, &error));
            CHECK_INT(PG_STATUS_GRANTED, d.status);
        }
        OK(pg_limiter_close(loaded.limiter, &error));
    }
}

static void of_five_jobs_none_runs_or_three(void)
{
    static const char *const ids[] = {"a", "b", "c", "d", "e"};
    pg_limiter *first, *second;
    pg_admission admissions[6];
    pg_decision d;

    make((pg_limit){.kind = PG_KIND_WINDOW, .amount = 3, .interval_us = 86400000000}, &first, &second);
    memset(admissions, 0x55, sizeof admissions);
    OK(pg_admit_all(first, ids, 5, "drop", 0, admissions, &error));
    for (int i = 0; i < 5; i++) {
        CHECK_INT(PG_ACTION_DROP, admissions[i].action);
        CHECK_INT(PG_REASON_WINDOW, admissions[i].decision.reason);
        CHECK_TEXT("", admissions[i].decision.permit);
    }
    CHECK_INT(0x55555555, admissions[5].action);
    OK(pg_peek(second, &(pg_request){.cost = PG_COST_ZERO}, &d, &error));
    CHECK_INT(3, d.remaining);
    OK(pg_admit_all(second, ids, 5, "drop", 1, admissions, &error));
    for (int i = 0; i < 5; i++) {
        CHECK_INT(i < 3 ? PG_ACTION_RUN : PG_ACTION_DROP, admissions[i].action);
    }
    OK(pg_admit_all(second, NULL, 0, NULL, 0, NULL, &error));
    forget(first, second);
}

static void all_jobs_run(void)
{
    static const char *const ids[] = {"a", "b", "c"};
    pg_limiter *first, *second;
    pg_admission admissions[3];
    pg_settlement settlement;
    pg_statistics statistics;

    make((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 3, .interval_us = 60000000}, &first, &second);
    OK(pg_admit_all(first, ids, 3, NULL, 0, admissions, &error));
    OK(pg_stats(second, &statistics, &error));
    CHECK_INT(3, statistics.leases);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(PG_ACTION_RUN, admissions[i].action);
        CHECK_INT(-1, admissions[i].after_us);
        OK(pg_release(second, admissions[i].decision.permit, &settlement, &error));
        CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    }
    forget(first, second);
}

static void a_signal_pauses_and_a_shorter_one_changes_nothing(void)
{
    pg_limiter *first, *second;
    pg_decision d;
    int32_t paused = 0x55;

    make((pg_limit){.kind = PG_KIND_WINDOW, .amount = 9, .interval_us = 60000000}, &first, &second);
    OK(pg_apply_ojs_signal(first, "{\"type\": \"timeout\", \"retry_after\": 5}", &paused, &error));
    CHECK_INT(0, paused);
    OK(pg_apply_ojs_signal(first, "{\"type\": \"rate_limited\", \"retry_after\": 30}", &paused, &error));
    CHECK_INT(1, paused);
    at(NOW + 5000000);
    OK(pg_apply_ojs_signal(first, "{\"error\": {\"type\": \"RateLimitExceeded\", \"retry_after\": 10}}", NULL, &error));
    at(NOW + 29999999);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_REASON_PAUSED, d.reason);
    CHECK_INT(1, d.retry_after_us);
    at(NOW + 30000000);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    forget(first, second);
}

static void an_override_changes_what_it_names(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_CONCURRENCY, .amount = 2, .interval_us = 60000000},
        {.kind = PG_KIND_WINDOW, .amount = 9, .interval_us = 60000000, .label = "rate"},
    };
    pg_limiter *limiter;
    pg_runtime_state controls;
    pg_decision d;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(there, name, limits, 2, &limiter, &error));
    OK(pg_apply_ojs_override(limiter, "{\"concurrency\": 0}", &controls, &error));
    CHECK_INT(1, controls.override_count);
    CHECK_INT(0, controls.overrides[0].amount);
    CHECK_INT(60000000, controls.overrides[0].interval_us);
    CHECK_INT(-1, controls.expires_in_us);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    /* 1 minute later than now */
    OK(pg_apply_ojs_override(limiter,
                        "{\"rate\": {\"limit\": 4, \"period\": \"PT1H\"}, \"expires_at\": \"2023-11-14T22:14:20Z\"}",
                        &controls, &error));
    CHECK_INT(2, controls.override_count);
    CHECK_INT(PG_KIND_CONCURRENCY, controls.overrides[0].kind);
    CHECK_INT(4, controls.overrides[1].amount);
    CHECK_INT(3600000000, controls.overrides[1].interval_us);
    CHECK_INT(60000000, controls.expires_in_us);
    OK(pg_apply_ojs_override(limiter, "{\"concurrency\": null}", NULL, &error));
    OK(pg_runtime_state_get(limiter, &controls, &error));
    CHECK_INT(1, controls.override_count);
    CHECK_INT(4, controls.overrides[0].amount);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
}

/* Other languages read these structs by their bytes. */
static void structs_have_a_fixed_layout(void)
{
    CHECK_INT(40, sizeof(pg_request_attributes));
    CHECK_INT(552, sizeof(pg_gate_decision));
    CHECK_INT(16, offsetof(pg_gate_decision, delay_us));
    CHECK_INT(32, offsetof(pg_gate_decision, slot));
    CHECK_INT(760, sizeof(pg_admission));
}

int main(void)
{
    ON_EACH_STORE(the_third_of_a_second_fails);
    ON_EACH_STORE(a_level_that_does_not_fail_delays);
    ON_EACH_STORE(a_failure_is_delayed_too);
    ON_EACH_STORE(the_clock_of_the_store_decides);
    ON_EACH_STORE(all_facts_must_match);
    ON_EACH_STORE(each_key_has_its_own_limit);
    ON_EACH_STORE(a_run_without_a_key_is_not_limited);
    ON_EACH_STORE(of_five_jobs_none_runs_or_three);
    ON_EACH_STORE(all_jobs_run);
    ON_EACH_STORE(a_signal_pauses_and_a_shorter_one_changes_nothing);
    ON_EACH_STORE(an_override_changes_what_it_names);
    RUN(structs_have_a_fixed_layout);
    return check_report();
}
