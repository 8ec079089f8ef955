/* Wrong calls of what changes a limiter while it runs are errors too, and change nothing. */
#include "misuse.h"

static pg_runtime_state controls;
static pg_learned learned;

/* As REFUSED, and the controls say that nothing is in force. */
#define NOT_OBEYED(name, call)                                                         \
    do {                                                                               \
        memset(&controls, 0x55, sizeof controls);                                      \
        REFUSED(name, call);                                                           \
        CHECK_INT(0, controls.version);                                                \
        CHECK_INT(-1, controls.paused_for_us);                                         \
        CHECK_INT(0, controls.overrides[0].kind);                                      \
    } while (0)

static void nothing_is_in_force(void)
{
    OK(pg_runtime_state_get(limiter, &controls, &error));
    CHECK_INT(0, controls.version);
    CHECK_INT(0, controls.override_count);
    OK(pg_peek(limiter, NULL, &decision, &error));
    CHECK_INT(5, decision.remaining);
}

static void pauses(void)
{
    NOT_OBEYED("limiter", pg_pause(NULL, 1, -1, &controls, &error_));
    NOT_OBEYED("limiter", pg_resume(NULL, &controls, &error_));
    NOT_OBEYED("limiter", pg_runtime_state_get(NULL, &controls, &error_));
    REFUSED("runtime_state", pg_runtime_state_get(limiter, NULL, &error_));
    NOT_OBEYED("for", pg_pause(limiter, -1, -1, &controls, &error_));
    NOT_OBEYED("for", pg_pause(limiter, 0, -1, &controls, &error_));
    NOT_OBEYED("for", pg_pause(limiter, -2, -1, &controls, &error_));
    NOT_OBEYED("for", pg_pause(limiter, INT64_MAX, -1, &controls, &error_));
    NOT_OBEYED("until", pg_pause(limiter, -1, INT64_MAX, &controls, &error_));
    NOT_OBEYED("until", pg_pause(limiter, -1, INT64_MIN, &controls, &error_));
    NOT_OBEYED("until", pg_pause(limiter, 1, 1, &controls, &error_));
    CHECK_INT(PG_INVALID, pg_pause(limiter, -1, -1, NULL, NULL));
    nothing_is_in_force();
}

static void overrides(void)
{
    static const char *const bad_labels[] = {"", "Bucket", "1st", "\xff", "a label that is longer than one may be"};

    for (size_t i = 0; i < sizeof bad_labels / sizeof *bad_labels; i++) {
        const char *bad = bad_labels[i];
        pg_limit limit = {.kind = PG_KIND_BUCKET, .amount = 1, .interval_us = 1000000, .label = bad};
        NOT_OBEYED("label", pg_override(limiter, bad, 1, -1, -1, -1, &controls, &error_));
        NOT_OBEYED("label", pg_override_limits(limiter, &limit, 1, -1, -1, &controls, &error_));
        NOT_OBEYED("label", pg_restore(limiter, bad, &controls, &error_));
        REFUSED("label", pg_report_budget(limiter, NULL, bad, 1, -1, -1, 0, -1, -1, &learned, &error_));
        REFUSED("label", pg_report_budget(limiter, NULL, bad, -1, -1, -1, 1.5, -1, -1, &learned, &error_));
    }
    NOT_OBEYED("label", pg_override(limiter, "window", 1, -1, -1, -1, &controls, &error_));
    REFUSED("label", pg_report_budget(limiter, NULL, "window", 1, -1, -1, 0, -1, -1, &learned, &error_));
    NOT_OBEYED("limiter", pg_override(NULL, NULL, 1, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("limiter", pg_restore(NULL, NULL, &controls, &error_));
    NOT_OBEYED("limit", pg_override(limiter, NULL, -1, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("limit", pg_override(limiter, NULL, 0, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("limit", pg_override(limiter, NULL, -2, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("limit", pg_override(limiter, NULL, INT64_MAX, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("interval", pg_override(limiter, NULL, -1, 0, -1, -1, &controls, &error_));
    NOT_OBEYED("interval", pg_override(limiter, NULL, -1, -2, -1, -1, &controls, &error_));
    NOT_OBEYED("interval", pg_override(limiter, NULL, -1, INT64_MAX, -1, -1, &controls, &error_));
    NOT_OBEYED("expires_in", pg_override(limiter, NULL, 1, -1, 0, -1, &controls, &error_));
    NOT_OBEYED("expires_in", pg_override(limiter, NULL, 1, -1, INT64_MAX, -1, &controls, &error_));
    NOT_OBEYED("expires_at", pg_override(limiter, NULL, 1, -1, -1, INT64_MAX, &controls, &error_));
    NOT_OBEYED("expires_in", pg_override(limiter, NULL, 1, -1, -2, -1, &controls, &error_));
    NOT_OBEYED("expires_at", pg_override(limiter, NULL, 1, -1, -1, -2, &controls, &error_));
    NOT_OBEYED("expires_at", pg_override(limiter, NULL, 1, -1, 1, 1, &controls, &error_));
    nothing_is_in_force();
}

/* The numbers of every kind are called limit and interval. */
static void overrides_of_other_kinds(void)
{
    pg_limiter *other;

    OK(pg_limiter_leaky(store, "leaky", 5, 1000000, &other, &error));
    NOT_OBEYED("limit", pg_override(other, NULL, 0, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("limit", pg_override(other, NULL, -2, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("interval", pg_override(other, NULL, -1, 0, -1, -1, &controls, &error_));
    NOT_OBEYED("interval", pg_override(other, NULL, -1, -2, -1, -1, &controls, &error_));
    OK(pg_limiter_close(other, &error));
    OK(pg_limiter_throttle(store, "throttle", 1000000, &other, &error));
    NOT_OBEYED("limit", pg_override(other, NULL, 0, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("limit", pg_override(other, NULL, 1000001, -1, -1, -1, &controls, &error_));
    NOT_OBEYED("limit", pg_override(other, NULL, -2, -1, -1, -1, &controls, &error_));
    OK(pg_limiter_close(other, &error));
}

static void overrides_of_whole_limits(void)
{
    const pg_limit bucket = {.kind = PG_KIND_BUCKET, .amount = 1, .interval_us = 1000000};
    pg_limit bad;

    NOT_OBEYED("limiter", pg_override_limits(NULL, &bucket, 1, -1, -1, &controls, &error_));
    NOT_OBEYED("limits", pg_override_limits(limiter, NULL, 1, -1, -1, &controls, &error_));
    NOT_OBEYED("limits", pg_override_limits(limiter, &bucket, 0, -1, -1, &controls, &error_));
    NOT_OBEYED("limits", pg_override_limits(limiter, &bucket, 9, -1, -1, &controls, &error_));
    NOT_OBEYED("expires_in", pg_override_limits(limiter, &bucket, 1, 0, -1, &controls, &error_));
    NOT_OBEYED("expires_at", pg_override_limits(limiter, &bucket, 1, 1, 1, &controls, &error_));
    bad = (pg_limit){.kind = PG_KIND_WINDOW, .interval_us = 1000000, .label = "other"};
    NOT_OBEYED("limit", pg_override_limits(limiter, &bad, 1, -1, -1, &controls, &error_));
    bad = (pg_limit){.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 1000000, .label = "bucket"};
    NOT_OBEYED("limits", pg_override_limits(limiter, &bad, 1, -1, -1, &controls, &error_));
    bad = (pg_limit){.kind = PG_KIND_PAUSED};
    NOT_OBEYED("limits", pg_override_limits(limiter, &bad, 1, -1, -1, &controls, &error_));
    nothing_is_in_force();
}

/* A pause is of the name, but there is no limit whose numbers could be given. */
static void limiters_without_limits(void)
{
    pg_limiter *without;

    OK(pg_limiter_unlimited(store, "none", &without, &error));
    NOT_OBEYED("label", pg_override(without, NULL, 1, -1, -1, -1, &controls, &error_));
    REFUSED("label", pg_report_budget(without, NULL, NULL, 1, -1, -1, 0, -1, -1, &learned, &error_));
    OK(pg_pause(without, 1000000, -1, &controls, &error));
    OK(pg_resume(without, &controls, &error));
    OK(pg_limiter_close(without, &error));
}

static void reports(void)
{
    REFUSED("limiter", pg_report_budget(NULL, NULL, NULL, 1, -1, -1, 0, -1, -1, &learned, &error_));
    CHECK_INT(PG_SETTLEMENT_NONE, learned.settlement);
    REFUSED("permit", pg_report_budget(limiter, "\xff", NULL, 1, -1, -1, 0, -1, -1, &learned, &error_));
    REFUSED("remaining", pg_report_budget(limiter, NULL, NULL, -2, -1, -1, 0, -1, -1, &learned, &error_));
    REFUSED("remaining", pg_report_budget(limiter, NULL, NULL, INT64_MAX, -1, -1, 0, -1, -1, &learned, &error_));
    REFUSED("limit", pg_report_budget(limiter, NULL, NULL, -1, 0, -1, 0, -1, -1, &learned, &error_));
    REFUSED("limit", pg_report_budget(limiter, NULL, NULL, -1, -2, -1, 0, -1, -1, &learned, &error_));
    REFUSED("interval", pg_report_budget(limiter, NULL, NULL, -1, -1, 0, 0, -1, -1, &learned, &error_));
    REFUSED("interval", pg_report_budget(limiter, NULL, NULL, -1, -1, -2, 0, -1, -1, &learned, &error_));
    REFUSED("restore_rate", pg_report_budget(limiter, NULL, NULL, -1, -1, -1, -1, -1, -1, &learned, &error_));
    REFUSED("restore_rate", pg_report_budget(limiter, NULL, NULL, -1, -1, -1, 1e-300, -1, -1, &learned, &error_));
    REFUSED("restore_rate", pg_report_budget(limiter, NULL, NULL, -1, -1, 1, 1, -1, -1, &learned, &error_));
    REFUSED("reset_in", pg_report_budget(limiter, NULL, NULL, -1, -1, -1, 0, -2, -1, &learned, &error_));
    REFUSED("reset_at", pg_report_budget(limiter, NULL, NULL, -1, -1, -1, 0, -1, -2, &learned, &error_));
    REFUSED("reset_at", pg_report_budget(limiter, NULL, NULL, -1, -1, -1, 0, 1, 1, &learned, &error_));
    REFUSED("reset_at", pg_report_budget(limiter, NULL, NULL, -1, -1, -1, 0, -1, INT64_MAX, &learned, &error_));
    CHECK_INT(PG_INVALID, pg_report_budget(NULL, NULL, NULL, 1, -1, -1, 0, -1, -1, NULL, NULL));
    nothing_is_in_force();
}

static void answers(void)
{
    const char *const words[] = {"x-ratelimit-remaining", "1"}, *const nothing[] = {NULL, NULL};
    const char *body = "{}";

    REFUSED("limiter", pg_learn_from_response(NULL, NULL, NULL, 200, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("permit", pg_learn_from_response(limiter, "", NULL, 200, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("permit", pg_learn_from_response(limiter, "\xff", NULL, 200, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("provider", pg_learn_from_response(limiter, NULL, "", 200, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("provider", pg_learn_from_response(limiter, NULL, "nobody", 200, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("provider", pg_learn_from_response(limiter, NULL, "\xff", 200, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("status", pg_learn_from_response(limiter, NULL, NULL, -2, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("status", pg_learn_from_response(limiter, NULL, NULL, 65536, words, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("headers", pg_learn_from_response(limiter, NULL, NULL, 200, NULL, 2, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("headers", pg_learn_from_response(limiter, NULL, NULL, 200, words, 1, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("headers", pg_learn_from_response(limiter, NULL, NULL, 200, words, SIZE_MAX - 1, body, 2, -1, -1, -1, &learned, &error_));
    REFUSED("body", pg_learn_from_response(limiter, NULL, NULL, 200, words, 2, NULL, 2, -1, -1, -1, &learned, &error_));
    REFUSED("body", pg_learn_from_response(limiter, NULL, NULL, 200, words, 2, body, SIZE_MAX, -1, -1, -1, &learned, &error_));
    REFUSED("max_pause", pg_learn_from_response(limiter, NULL, NULL, 200, words, 2, body, 2, -2, -1, -1, &learned, &error_));
    REFUSED("default_pause", pg_learn_from_response(limiter, NULL, NULL, 200, words, 2, body, 2, -1, -2, -1, &learned, &error_));
    REFUSED("max_learned", pg_learn_from_response(limiter, NULL, NULL, 200, words, 2, body, 2, -1, -1, -2, &learned, &error_));
    CHECK_INT(PG_INVALID, pg_learn_from_response(NULL, NULL, NULL, 200, NULL, 0, NULL, 0, -1, -1, -1, NULL, NULL));
    /* An answer that says nothing is no mistake. */
    OK(pg_learn_from_response(limiter, NULL, NULL, 200, NULL, 0, NULL, 0, -1, -1, -1, &learned, &error));
    CHECK_INT(PG_SETTLEMENT_NONE, learned.settlement);
    CHECK_TEXT("not a rate limit answer", learned.ignored);
    OK(pg_learn_from_response(limiter, NULL, NULL, 200, nothing, 2, "\xff\x00{", 3, -1, -1, -1, NULL, &error));
    nothing_is_in_force();
}

static void costs(void)
{
    int64_t units;

    REFUSED("query", pg_graphql_cost(NULL, NULL, NULL, NULL, &units, &error_));
    CHECK_INT(-1, units);
    REFUSED("query", pg_graphql_cost("{", NULL, NULL, NULL, &units, &error_));
    REFUSED("query", pg_graphql_cost("\xff", NULL, NULL, NULL, &units, &error_));
    REFUSED("variables", pg_graphql_cost("{a}", "[]", NULL, NULL, &units, &error_));
    REFUSED("variables", pg_graphql_cost("{a}", "\xff", NULL, NULL, &units, &error_));
    REFUSED("operation", pg_graphql_cost("query A {a}", NULL, "B", NULL, &units, &error_));
    REFUSED("rules", pg_graphql_cost("{a}", NULL, NULL, "nobody's", &units, &error_));
    REFUSED("rules", pg_graphql_cost("{a}", NULL, NULL, "", &units, &error_));
    REFUSED("units", pg_graphql_cost("{a}", NULL, NULL, NULL, NULL, &error_));
}

static void documents(void)
{
    static const char *const bad[] = {
        "", "{", "[]", "{}", "null", "{\"limiters\":{\"\":{\"paused\":true}}}", "{\"limiters\":{\"a\":{\"window\":{}}}}",
        "{\"limiters\":{\"a\":{\"paused\":true,\"on_limit\":\"explode\"}}}", "{\"limiters\":{\"a\":{}}}",
    };
    const char *good = "{\"limiters\":{\"a\":{\"window\":{\"limit\":1,\"per\":\"day\"}}}}";
    pg_document *document = (pg_document *)&store;
    pg_loaded_limiter loaded;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        REFUSED("document", pg_load(store, bad[i], strlen(bad[i]), &document, &error_));
        CHECK(document == NULL);
    }
    REFUSED("document", pg_load(store, NULL, 5, &document, &error_));
    REFUSED("document", pg_load(store, NULL, 0, &document, &error_));
    REFUSED("document", pg_load(store, good, SIZE_MAX, &document, &error_));
    REFUSED("document", pg_load(store, "{\"\xff\":1}", 7, &document, &error_));
    REFUSED("document", pg_load(store, good, strlen(good), NULL, &error_));
    REFUSED("store", pg_load(NULL, good, strlen(good), &document, &error_));
    REFUSED("store", pg_load((pg_store *)limiter, good, strlen(good), &document, &error_));
    OK(pg_load(store, good, strlen(good), &document, &error));
    REFUSED("loaded", pg_document_next(document, NULL, &error_));
    REFUSED("document", pg_document_next((pg_document *)limiter, &loaded, &error_));
    CHECK(loaded.limiter == NULL && loaded.name[0] == '\0');
    OK(pg_document_close(document, &error));
    REFUSED("document", pg_document_next(document, &loaded, &error_));
    REFUSED("document", pg_document_close(document, &error_));
    REFUSED("document", pg_document_close(NULL, &error_));
}

static void modes(void)
{
    static const int64_t bad_shares[] = {0, 101, 256, -2, INT64_MAX, INT64_MIN};
    static const char *const bad_modes[] = {NULL, "", "Open", "locale", "\xff"};
    pg_limiter *other;

    for (size_t i = 0; i < sizeof bad_shares / sizeof *bad_shares; i++) {
        other = (pg_limiter *)&store;
        REFUSED("local_share_percent", pg_limiter_with_on_unavailable(limiter, "local", bad_shares[i], &other, &error_));
        CHECK(other == NULL);
        REFUSED("local_share_percent", pg_limiter_with_on_unavailable(limiter, "fail_open", bad_shares[i], &other, &error_));
    }
    REFUSED("local_share_percent", pg_limiter_with_on_unavailable(limiter, "fail_closed", 50, &other, &error_));
    for (size_t i = 0; i < sizeof bad_modes / sizeof *bad_modes; i++) {
        REFUSED("on_unavailable", pg_limiter_with_on_unavailable(limiter, bad_modes[i], -1, &other, &error_));
    }
    REFUSED("other", pg_limiter_with_on_unavailable(limiter, "fail_open", -1, NULL, &error_));
    REFUSED("limiter", pg_limiter_with_on_unavailable(NULL, "fail_open", -1, &other, &error_));
    REFUSED("limiter", pg_limiter_with_on_unavailable((pg_limiter *)store, "fail_open", -1, &other, &error_));
    OK(pg_limiter_with_on_unavailable(limiter, "fail_open", -1, &other, &error));
    OK(pg_limiter_close(other, &error));
    REFUSED("limiter", pg_limiter_with_on_unavailable(other, "fail_open", -1, &other, &error_));
    nothing_is_in_force();
}

static void admissions(void)
{
    static const char *const bad_ids[] = {
        NULL, "", "\xff", "\x01", "a job with an id that is longer than the 64 bytes that an id may have",
    };
    static const char *const bad_actions[] = {"", "Wait", "refuse", "\xff"};
    pg_admission admission;

    for (size_t i = 0; i < sizeof bad_ids / sizeof *bad_ids; i++) {
        memset(&admission, 0x55, sizeof admission);
        REFUSED("id", pg_admit(limiter, bad_ids[i], "wait", NULL, &admission, &error_));
        CHECK_INT(PG_ACTION_REFUSE, admission.action);
        CHECK_INT(-1, admission.after_us);
        CHECK_INT(PG_STATUS_REFUSED, admission.decision.status);
        CHECK_TEXT("", admission.decision.permit);
    }
    for (size_t i = 0; i < sizeof bad_actions / sizeof *bad_actions; i++) {
        REFUSED("on_limit", pg_admit(limiter, "a", bad_actions[i], NULL, &admission, &error_));
    }
    REFUSED("cost", pg_admit(limiter, "a", "wait", &(pg_request){.cost = 6}, &admission, &error_));
    REFUSED("admission", pg_admit(limiter, "a", "wait", NULL, NULL, &error_));
    REFUSED("limiter", pg_admit(NULL, "a", "wait", NULL, &admission, &error_));
    REFUSED("limiter", pg_admit((pg_limiter *)store, "a", "wait", NULL, &admission, &error_));
    CHECK_INT(PG_INVALID, pg_admit(NULL, NULL, NULL, NULL, NULL, NULL));
    nothing_is_in_force();
}

int main(void)
{
    OK(pg_store_memory(&store, &error));
    OK(pg_limiter_bucket(store, "misuse", 5, 86400000000, &limiter, &error));
    RUN(pauses);
    RUN(overrides);
    RUN(overrides_of_other_kinds);
    RUN(overrides_of_whole_limits);
    RUN(limiters_without_limits);
    RUN(reports);
    RUN(answers);
    RUN(costs);
    RUN(documents);
    RUN(modes);
    RUN(admissions);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
    return check_report();
}
