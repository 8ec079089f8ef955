/* Limits from a JSON document that all services share.
   Guide: docs/src/guides/limits-file.md */
#include <paddlegate.h>
#include <stdio.h>
#include <string.h>

static const char *const LIMITS =
    "{\"limiters\": {"
    "\"mail\": {\"leaky\": {\"limit\": 60, \"drain\": \"1m\"}, \"wait_timeout\": \"5s\"},"
    "\"erp\": {\"concurrency\": {\"limit\": 50, \"lock_timeout\": \"30s\"}}}}";

int main(void)
{
    pg_store *store;
    pg_document *document;
    pg_loaded_limiter loaded;
    pg_decision decision;
    pg_error error = {0};
    int64_t remaining = 0;

    /* NULL: PADDLEGATE_URL, or this process. */
    if (pg_store_open(NULL, 0, &store, &error) != PG_OK ||
        pg_load(store, LIMITS, strlen(LIMITS), &document, &error) != PG_OK) {
        fprintf(stderr, "%s: %s\n", error.argument, error.message);
        return 1;
    }
    while (pg_document_next(document, &loaded, &error) == PG_OK && loaded.limiter != NULL) {
        if (pg_acquire(loaded.limiter, NULL, &decision, &error) == PG_OK) {
            printf("%s: %lld left\n", loaded.name, (long long)decision.remaining);
            remaining += decision.remaining;
        }
        if (decision.permit[0] != '\0') {
            pg_release(loaded.limiter, decision.permit, NULL, &error);
        }
        pg_limiter_close(loaded.limiter, NULL);
    }
    printf("%lld\n", (long long)remaining); // 108: 59 and 49
    pg_document_close(document, NULL);
    pg_store_close(store, NULL);
    return 0;
}
