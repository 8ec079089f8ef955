/* What upstream says, and what documents do. */
#include "live.h"

#include <stddef.h>

static void what_is_left_upstream_is_left_here(void)
{
    pg_limiter *first, *second;
    pg_learned learned;
    pg_decision d;

    make((pg_limit){.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 20000000}, &first, &second);
    OK(pg_acquire(first, &(pg_request){.cost = 300}, &d, &error));
    CHECK_INT(700, d.remaining);
    OK(pg_report_budget(second, NULL, NULL, 300, -1, -1, 0, -1, -1, &learned, &error));
    CHECK_INT(PG_SETTLEMENT_NONE, learned.settlement);
    CHECK_TEXT("remaining", learned.learned);
    CHECK_TEXT("", learned.ignored);
    OK(pg_peek(first, &(pg_request){.cost = PG_COST_ZERO}, &d, &error));
    CHECK_INT(300, d.remaining);
    forget(first, second);
}

static void size_and_rate_are_learned_by_all(void)
{
    pg_limiter *first, *second;
    pg_runtime_state c;
    pg_decision d;

    make((pg_limit){.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 20000000}, &first, &second);
    OK(pg_report_budget(first, NULL, NULL, -1, 2000, -1, 100.0, -1, -1, NULL, &error));
    at(NOW + 1);
    OK(pg_acquire(second, &(pg_request){.cost = 2000}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(2000, d.limit);
    CHECK_INT(20000000, d.reset_after_us);
    /* Without an amount it is the rate of the policy's own. */
    at(NOW + 2);
    OK(pg_report_budget(second, NULL, NULL, -1, -1, -1, 50.5, -1, -1, NULL, &error));
    at(NOW + 3);
    OK(pg_runtime_state_get(first, &c, &error));
    CHECK_INT(1, c.learned_count);
    CHECK_TEXT("points", c.learned[0].label);
    CHECK_INT(1000, c.learned[0].amount);
    CHECK_INT(19801980, c.learned[0].interval_us);
    CHECK_INT(0, c.override_count);
    forget(first, second);
}

static void a_spent_hour_is_spent_until_it_is_reset(void)
{
    pg_limiter *first, *second;
    pg_decision d;

    make((pg_limit){.kind = PG_KIND_BUCKET, .amount = 5000, .interval_us = 3600000000}, &first, &second);
    OK(pg_report_budget(first, NULL, NULL, 0, -1, -1, 0, -1, NOW + 1800000000, NULL, &error));
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(1800000000, d.retry_after_us);
    at(NOW + 1800000000);
    OK(pg_acquire(second, &(pg_request){.cost = 5000}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    forget(first, second);
}

static void an_answer_settles_its_permit(void)
{
    static const char body[] = "{\"extensions\":{\"cost\":{\"actualQueryCost\":12,\"throttleStatus\":"
                               "{\"maximumAvailable\":1000,\"currentlyAvailable\":988,\"restoreRate\":50}}}}";
    const char *const headers[] = {"Content-Type", "application/json", "X-Nothing", NULL, "X-Latin", "\xe9"};
    pg_limiter *first, *second;
    pg_settlement settlement;
    pg_learned learned;
    pg_decision d;

    make((pg_limit){.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 20000000}, &first, &second);
    OK(pg_acquire(first, &(pg_request){.estimate = 252}, &d, &error));
    OK(pg_learn_from_response(second, d.permit, NULL, 200, headers, 6, body, sizeof body - 1, PG_NOT_GIVEN, PG_NOT_GIVEN,
                PG_NOT_GIVEN, &learned, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, learned.settlement);
    CHECK_INT(12, learned.cost);
    OK(pg_correct(first, d.permit, 12, NULL, 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_ALREADY, settlement);
    OK(pg_learn_from_response(first, d.permit, "shopify", 200, NULL, 0, body, sizeof body - 1, PG_NOT_GIVEN, PG_NOT_GIVEN,
                PG_NOT_GIVEN, &learned, &error));
    CHECK_INT(PG_SETTLEMENT_ALREADY, learned.settlement);
    OK(pg_peek(first, &(pg_request){.cost = PG_COST_ZERO}, &d, &error));
    CHECK_INT(988, d.remaining);
    forget(first, second);
}

static void a_refusal_of_upstream_pauses_all(void)
{
    const char *const headers[] = {"retry-after", "90"};
    pg_limiter *first, *second;
    pg_decision d;

    make((pg_limit){.kind = PG_KIND_LEAKY, .amount = 10, .interval_us = 10000000}, &first, &second);
    OK(pg_learn_from_response(first, NULL, NULL, 429, headers, 2, NULL, 0, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error));
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_learn_from_response(first, NULL, NULL, 429, headers, 2, NULL, 0, 60000000, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error));
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_REASON_PAUSED, d.reason);
    CHECK_INT(60000000, d.retry_after_us);
    OK(pg_learn_from_response(first, NULL, NULL, 429, headers, 2, NULL, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error));
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(90000000, d.retry_after_us);
    forget(first, second);
}

static void what_is_not_learned_is_told(void)
{
    const char *const headers[] = {"RateLimit", "\"s\";r=5;t=30", "RateLimit-Policy", "\"s\";q=1000000000000;w=60"};
    const char *const discord[] = {"X-RateLimit-Bucket", "abcd1234", "X-RateLimit-Scope", "global", "Retry-After", "2"};
    const char *const after[] = {"Retry-After", "30"};
    pg_limiter *first, *second;
    pg_learned learned;

    make((pg_limit){.kind = PG_KIND_BUCKET, .amount = 100, .interval_us = 60000000}, &first, &second);
    OK(pg_learn_from_response(first, NULL, NULL, 200, headers, 4, NULL, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN,
                &learned, &error));
    CHECK_TEXT("limit: 1000000000000 is above max_learned, 1000 applies", learned.ignored);
    CHECK_TEXT("limit\nremaining\nreset", learned.learned);
    OK(pg_learn_from_response(first, NULL, NULL, 200, headers, 4, NULL, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, 1000000000000,
                &learned, &error));
    CHECK_TEXT("limit\nremaining", learned.learned);
    OK(pg_learn_from_response(first, NULL, NULL, PG_NOT_GIVEN, after, 2, NULL, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN,
                &learned, &error));
    CHECK_TEXT("pause: status is missing", learned.ignored);
    CHECK_INT(-1, learned.pause_us);
    OK(pg_learn_from_response(second, NULL, NULL, 429, discord, 6, NULL, 0, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN,
                &learned, &error));
    CHECK_TEXT("global", learned.scope);
    CHECK_TEXT("abcd1234", learned.bucket);
    CHECK_INT(2000000, learned.pause_us);
    CHECK_TEXT("pause", learned.learned);
    forget(first, second);
}

static void a_document_is_loaded_for_a_tenant(void)
{
    const char *text = "{\"key\":\"api\",\"concurrency\":2}";
    pg_document *document;
    pg_loaded_limiter loaded;
    pg_error wrong;

    OK(pg_load_with(here, text, strlen(text), 90000000, "acme", NULL, &document, &error));
    OK(pg_document_next(document, &loaded, &error));
    OK(pg_document_close(document, &error));
    CHECK_TEXT("ojs/tenant/acme/key/api", loaded.name);
    CHECK_INT(90000000, loaded.limits[0].interval_us);
    OK(pg_limiter_close(loaded.limiter, &error));
    CHECK_INT(PG_INVALID, pg_load_with(here, text, strlen(text), PG_NOT_GIVEN, NULL, "7", &document, &wrong));
    CHECK_TEXT("group", wrong.argument);
}

static void a_document_makes_limiters(void)
{
    char text[512];
    pg_document *document;
    pg_loaded_limiter loaded[3];
    pg_decision d;

    OK(pg_new_id(name, &error));
    snprintf(text, sizeof text,
             "{\"limiters\":{\"%s a\":{\"concurrency\":{\"limit\":5,\"lock_timeout\":\"30s\"},\"window\":{\"limit\":2,"
             "\"per\":\"day\"},\"wait_timeout\":\"7s\",\"ttl\":\"1d\",\"on_limit\":\"reschedule\"},"
             "\"%s b\":{\"unlimited\":true,\"group\":\"acme\"}}} no more",
             name, name);
    OK(pg_load(here, text, strlen(text) - strlen(" no more"), &document, &error));
    for (int i = 0; i < 3; i++) {
        OK(pg_document_next(document, &loaded[i], &error));
    }
    OK(pg_document_close(document, &error));
    CHECK_TEXT(" a", loaded[0].name + 32);
    CHECK_INT(2, loaded[0].count);
    CHECK_INT(PG_KIND_CONCURRENCY, loaded[0].limits[0].kind);
    CHECK_INT(30000000, loaded[0].limits[0].interval_us);
    CHECK_INT(2, loaded[0].limits[1].amount);
    CHECK_INT(7000000, loaded[0].wait_timeout_us);
    CHECK_INT(86400000000, loaded[0].ttl_us);
    CHECK_TEXT("reschedule", loaded[0].on_limit);
    CHECK_TEXT("", loaded[0].group);
    CHECK_TEXT(" b", loaded[1].name + 32);
    CHECK_INT(0, loaded[1].count);
    CHECK_INT(-1, loaded[1].wait_timeout_us);
    CHECK_INT(pg_ttl_us(), loaded[1].ttl_us);
    CHECK_TEXT("raise", loaded[1].on_limit);
    CHECK_TEXT("acme", loaded[1].group);
    CHECK_TEXT("", loaded[2].name);
    CHECK(loaded[2].limiter == NULL);
    for (int i = 0; i < 3; i++) {
        OK(pg_acquire(loaded[0].limiter, NULL, &d, &error));
        CHECK_INT(i < 2 ? PG_STATUS_GRANTED : PG_STATUS_REFUSED, d.status);
    }
    OK(pg_reset(loaded[0].limiter, &error));
    OK(pg_limiter_close(loaded[0].limiter, &error));
    OK(pg_limiter_close(loaded[1].limiter, &error));
}

static void queries_have_a_cost(void)
{
    const char *query = "query A($n: Int!) { products(first: $n) { edges { node { id } } } } query B { shop { id } }";
    int64_t units;

    OK(pg_graphql_cost(query, "{\"n\":50}", "A", NULL, &units, &error));
    CHECK_INT(9, units);
    OK(pg_graphql_cost(query, NULL, "B", "shopify", &units, &error));
    CHECK_INT(1, units);
    OK(pg_graphql_cost("{ viewer { login } }", "", NULL, "github", &units, &error));
    CHECK_INT(1, units);
}

static void a_stream_has_a_usage(void)
{
    const char *stream = "data: {\"usage\":{\"total_tokens\":12}}\n\n";
    pg_stream_usage *usage;
    pg_error e;
    char text[256];

    OK(pg_stream_usage_new(&usage, &error));
    OK(pg_stream_usage_feed(usage, NULL, 0, &error));
    OK(pg_stream_usage_body(usage, text, 1, &error));
    CHECK_TEXT("", text);
    OK(pg_stream_usage_feed(usage, stream, 20, &error));
    OK(pg_stream_usage_ignored(usage, text, sizeof text, &error));
    CHECK_TEXT("body: ended inside of its json", strtok(text, "\n"));
    OK(pg_stream_usage_feed(usage, stream + 20, strlen(stream) - 20, &error));
    OK(pg_stream_usage_body(usage, text, sizeof text, &error));
    CHECK_TEXT("{\"usage\":{\"total_tokens\":12}}", text);
    CHECK_INT(PG_INVALID, pg_stream_usage_body(usage, text, 5, &e));
    CHECK_TEXT("room", e.argument);
    CHECK_INT(PG_INVALID, pg_stream_usage_body(usage, NULL, 5, &e));
    CHECK_TEXT("body", e.argument);
    CHECK_INT(PG_INVALID, pg_stream_usage_feed(usage, NULL, 5, &e));
    CHECK_TEXT("chunk", e.argument);
    OK(pg_stream_usage_close(usage, &error));
    CHECK_INT(PG_INVALID, pg_stream_usage_feed(usage, stream, 5, &e));
    CHECK_TEXT("usage", e.argument);
    CHECK_INT(PG_INVALID, pg_stream_usage_new(NULL, &e));
}

static void jobs_are_rescheduled(void)
{
    CHECK_INT(20, pg_reschedule_cap());
    CHECK_INT(3600000000, pg_max_pause_us());
    CHECK_INT(301000000, pg_backoff(1, 0));
    CHECK_INT(600000000, pg_backoff(1, 299));
    CHECK_INT(pg_backoff(1, 299), pg_backoff(1, INT64_MAX));
    CHECK_INT(pg_backoff(0, 0), pg_backoff(INT64_MIN, -1));
    CHECK_INT(pg_backoff(UINT32_MAX, 7), pg_backoff(INT64_MAX, 7));
    CHECK_INT(1, pg_reschedule_next(0, 20));
    CHECK_INT(20, pg_reschedule_next(19, 20));
    CHECK_INT(-1, pg_reschedule_next(20, 20));
    CHECK_INT(-1, pg_reschedule_next(0, 0));
    CHECK_INT(-1, pg_reschedule_next(INT64_MAX, INT64_MAX));
    CHECK_INT(1, pg_reschedule_next(-5, 1));
    CHECK_INT(-1, pg_reschedule_next(0, -1));
}

/* Other languages read these structs by their bytes. */
static void structs_have_a_fixed_layout(void)
{
    CHECK_INT(10824, sizeof(pg_runtime_state));
    CHECK_INT(24, offsetof(pg_runtime_state, in_use));
    CHECK_INT(32, offsetof(pg_runtime_state, override_count));
    CHECK_INT(40, offsetof(pg_runtime_state, learned_count));
    CHECK_INT(48, offsetof(pg_runtime_state, overrides));
    CHECK_INT(5424, offsetof(pg_runtime_state, learned));
    CHECK_INT(10800, offsetof(pg_runtime_state, blocked_for_us));
    CHECK_INT(10808, offsetof(pg_runtime_state, mode));
    CHECK_INT(4784, sizeof(pg_learned));
    CHECK_INT(24, offsetof(pg_learned, scope));
    CHECK_INT(40, offsetof(pg_learned, bucket));
    CHECK_INT(176, offsetof(pg_learned, learned));
    CHECK_INT(688, offsetof(pg_learned, ignored));
    CHECK_INT(2432, sizeof(pg_loaded_limiter));
    CHECK_INT(520, offsetof(pg_loaded_limiter, limiter));
    CHECK_INT(528, offsetof(pg_loaded_limiter, limits));
    CHECK_INT(1872, offsetof(pg_loaded_limiter, count));
    CHECK_INT(1896, offsetof(pg_loaded_limiter, on_limit));
    CHECK_INT(1912, offsetof(pg_loaded_limiter, group));
}

int main(void)
{
    ON_EACH_STORE(what_is_left_upstream_is_left_here);
    ON_EACH_STORE(size_and_rate_are_learned_by_all);
    ON_EACH_STORE(a_spent_hour_is_spent_until_it_is_reset);
    ON_EACH_STORE(an_answer_settles_its_permit);
    ON_EACH_STORE(a_refusal_of_upstream_pauses_all);
    ON_EACH_STORE(what_is_not_learned_is_told);
    ON_EACH_STORE(a_document_makes_limiters);
    ON_EACH_STORE(a_document_is_loaded_for_a_tenant);
    RUN(a_stream_has_a_usage);
    RUN(queries_have_a_cost);
    RUN(jobs_are_rescheduled);
    RUN(structs_have_a_fixed_layout);
    return check_report();
}
