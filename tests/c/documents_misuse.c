/* Wrong gates, workflows, batches and documents of Open Job Spec are errors too, and change nothing. */
#include "misuse.h"

static pg_invantive_gate *gate;

static void nothing_is_in_force(void)
{
    pg_runtime_state controls;

    OK(pg_runtime_state_get(limiter, &controls, &error));
    CHECK_INT(0, controls.version);
    OK(pg_peek(limiter, NULL, &decision, &error));
    CHECK_INT(5, decision.remaining);
}

static void gates(void)
{
    static const char *const bad[] = {
        "", "{", "[]", "\xff", "{\"RateLimitControlList\": [{\"SlotName\": \"none\"}]}", "{\"Slots\": []}",
    };
    pg_invantive_gate *made;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&made, 0x55, sizeof made);
        REFUSED("document", pg_invantive_gate_new(store, bad[i], strlen(bad[i]), &made, &error_));
        CHECK(made == NULL);
    }
    REFUSED("document", pg_invantive_gate_new(store, NULL, 1, &made, &error_));
    REFUSED("document", pg_invantive_gate_new(store, "{}", SIZE_MAX, &made, &error_));
    REFUSED("store", pg_invantive_gate_new(NULL, "{}", 2, &made, &error_));
    REFUSED("store", pg_invantive_gate_new((pg_store *)limiter, "{}", 2, &made, &error_));
    REFUSED("gate", pg_invantive_gate_new(store, "{}", 2, NULL, &error_));
    REFUSED("gate", pg_invantive_gate_close(NULL, &error_));
    REFUSED("gate", pg_invantive_gate_close((pg_invantive_gate *)store, &error_));
    OK(pg_invantive_gate_new(store, "{}", 2, &made, &error));
    OK(pg_invantive_gate_close(made, &error));
    REFUSED("gate", pg_invantive_gate_close(made, &error_));
    CHECK_INT(PG_INVALID, pg_invantive_gate_new(NULL, NULL, 0, NULL, NULL));
}

static void facts(void)
{
    static const char *const bad_addresses[] = {"", "10.0.0.1:80", "somebody"};
    static const char *const names[] = {"context", "url", "log_on_code", "data_container_id", "ip"};
    pg_gate_decision gate_decision;

    for (int i = 0; i < 5; i++) {
        pg_request_attributes wrong = {0};
        const char **places[] = {&wrong.context, &wrong.url, &wrong.log_on_code, &wrong.data_container_id, &wrong.ip};
        *places[i] = "\xff";
        memset(&gate_decision, 0x55, sizeof gate_decision);
        REFUSED(names[i], pg_invantive_gate_admit(gate, &wrong, &gate_decision, &error_));
        CHECK_INT(0, gate_decision.allowed);
        CHECK_INT(PG_LEVEL_NONE, gate_decision.level);
        CHECK_INT(0, gate_decision.delay_us);
        CHECK_INT(-1, gate_decision.retry_after_us);
        CHECK_TEXT("", gate_decision.slot);
    }
    for (int i = 0; i < 3; i++) {
        REFUSED("ip", pg_invantive_gate_admit(gate, &(pg_request_attributes){.ip = bad_addresses[i]}, &gate_decision,
                                              &error_));
    }
    REFUSED("gate", pg_invantive_gate_admit(NULL, NULL, &gate_decision, &error_));
    REFUSED("gate", pg_invantive_gate_admit((pg_invantive_gate *)limiter, NULL, &gate_decision, &error_));
    REFUSED("decision", pg_invantive_gate_admit(gate, NULL, NULL, &error_));
    CHECK_INT(PG_INVALID, pg_invantive_gate_admit(NULL, NULL, NULL, NULL));
    CHECK_TEXT("none", pg_level_name(PG_LEVEL_NONE));
    CHECK_TEXT("hour", pg_level_name(PG_LEVEL_HOUR));
    CHECK_TEXT("?", pg_level_name(4));
    CHECK_TEXT("?", pg_level_name(INT32_MIN));
    OK(pg_invantive_gate_admit(gate, NULL, &gate_decision, &error));
    CHECK_INT(1, gate_decision.allowed);
    OK(pg_invantive_gate_admit(gate, NULL, &gate_decision, &error));
    CHECK_INT(0, gate_decision.allowed);
}

static void workflows(void)
{
    static const char *const bad[] = {NULL, "", "{", "[]", "\xff"};
    static const int64_t bad_times[] = {0, -2, INT64_MAX, INT64_MIN};
    const char *definition = "{\"name\": \"w\", \"rateLimitConfig\": {\"rateLimitKey\": \"k\","
                             "\"concurrentExecLimit\": 1}}";
    pg_loaded_limiter loaded;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&loaded, 0x55, sizeof loaded);
        REFUSED("definition", pg_conductor_limiter(store, bad[i], "{}", PG_NOT_GIVEN, &loaded, &error_));
        CHECK(loaded.limiter == NULL);
        CHECK_TEXT("", loaded.name);
        REFUSED("run", pg_conductor_limiter(store, definition, bad[i], PG_NOT_GIVEN, &loaded, &error_));
    }
    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++) {
        REFUSED("lock_timeout", pg_conductor_limiter(store, definition, "{}", bad_times[i], &loaded, &error_));
    }
    REFUSED("definition", pg_conductor_limiter(store, "{\"name\": 5}", "{}", PG_NOT_GIVEN, &loaded, &error_));
    REFUSED("store", pg_conductor_limiter(NULL, definition, "{}", PG_NOT_GIVEN, &loaded, &error_));
    REFUSED("loaded", pg_conductor_limiter(store, definition, "{}", PG_NOT_GIVEN, NULL, &error_));
    CHECK_INT(PG_INVALID, pg_conductor_limiter(NULL, NULL, NULL, 0, NULL, NULL));
}

static void batches(void)
{
    static const char *const bad_ids[] = {
        NULL, "", "\xff", "\x01", "a job with an id that is longer than the 64 bytes that an id may have",
    };
    const char *ids[] = {"a", "b", NULL};
    pg_admission admissions[3];

    for (size_t i = 0; i < sizeof bad_ids / sizeof *bad_ids; i++) {
        ids[2] = bad_ids[i];
        memset(admissions, 0x55, sizeof admissions);
        REFUSED("id", pg_admit_all(limiter, ids, 3, NULL, 0, admissions, &error_));
        for (int job = 0; job < 3; job++) {
            CHECK_INT(PG_ACTION_REFUSE, admissions[job].action);
            CHECK_INT(-1, admissions[job].after_us);
            CHECK_TEXT("", admissions[job].decision.permit);
        }
        nothing_is_in_force();
    }
    ids[2] = "c";
    REFUSED("on_limit", pg_admit_all(limiter, ids, 3, "Wait", 0, admissions, &error_));
    REFUSED("ids", pg_admit_all(limiter, NULL, 3, NULL, 0, admissions, &error_));
    REFUSED("ids", pg_admit_all(limiter, ids, SIZE_MAX, NULL, 0, admissions, &error_));
    REFUSED("admissions", pg_admit_all(limiter, ids, 3, NULL, 0, NULL, &error_));
    REFUSED("limiter", pg_admit_all(NULL, ids, 3, NULL, 1, admissions, &error_));
    REFUSED("limiter", pg_admit_all(NULL, NULL, 0, NULL, 0, NULL, &error_));
    REFUSED("limiter", pg_admit_all((pg_limiter *)store, ids, 3, NULL, 0, admissions, &error_));
    CHECK_INT(PG_INVALID, pg_admit_all(NULL, NULL, 1, NULL, 0, NULL, NULL));
    nothing_is_in_force();
}

static void job_spec(void)
{
    static const char *const bad_signals[] = {
        NULL, "", "{", "\xff", "{\"type\": \"rate_limited\", \"retry_after\": \"soon\"}",
        "{\"type\": \"rate_limited\", \"rate_limit_until\": 5}",
    };
    static const char *const bad_overrides[] = {
        NULL, "", "{", "[]", "{}", "\xff", "{\"concurency\": 1}", "{\"concurrency\": -1}",
        "{\"rate\": {\"limit\": 0, \"period\": \"PT1S\"}}",
        "{\"rate\": {\"limit\": 1, \"period\": \"PT1S\"}, \"expires_at\": \"2001-01-01T00:00:00Z\"}",
    };
    static const char *const signal = "{\"type\": \"rate_limited\"}";
    static const char *const rate = "{\"rate\": {\"limit\": 1, \"period\": \"PT1S\"}}";
    pg_runtime_state controls;
    int32_t paused;

    for (size_t i = 0; i < sizeof bad_signals / sizeof *bad_signals; i++) {
        paused = 1;
        REFUSED("document", pg_apply_ojs_signal(limiter, bad_signals[i], &paused, &error_));
        CHECK_INT(0, paused);
    }
    for (size_t i = 0; i < sizeof bad_overrides / sizeof *bad_overrides; i++) {
        memset(&controls, 0x55, sizeof controls);
        REFUSED("document", pg_apply_ojs_override(limiter, bad_overrides[i], &controls, &error_));
        CHECK_INT(0, controls.version);
        CHECK_INT(0, controls.overrides[0].kind);
    }
    REFUSED("limiter", pg_apply_ojs_signal(NULL, signal, &paused, &error_));
    REFUSED("limiter", pg_apply_ojs_override(NULL, rate, &controls, &error_));
    CHECK_INT(PG_INVALID, pg_apply_ojs_signal(NULL, NULL, NULL, NULL));
    CHECK_INT(PG_INVALID, pg_apply_ojs_override(NULL, NULL, NULL, NULL));
    nothing_is_in_force();
}

int main(void)
{
    const char *document = "{\"RateLimitControlList\": [{\"SlotName\": \"s\"}],"
                           "\"RateLimitControlSlotList\": [{\"Name\": \"s\", \"ActionsPerHour\": 1}]}";

    OK(pg_store_memory(&store, &error));
    OK(pg_limiter_bucket(store, "misuse", 5, 86400000000, &limiter, &error));
    OK(pg_invantive_gate_new(store, document, strlen(document), &gate, &error));
    RUN(gates);
    RUN(facts);
    RUN(workflows);
    RUN(batches);
    RUN(job_spec);
    OK(pg_invantive_gate_close(gate, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
    return check_report();
}
