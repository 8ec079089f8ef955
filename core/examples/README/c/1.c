#include <paddlegate.h>
#include <stdio.h>

int main(void) {
  pg_store *store;
  pg_limiter *shop, *erp;
  pg_decision decision;
  pg_settlement settlement;
  pg_error error = {0};

  if (pg_store_open("redis://127.0.0.1:12845", 0, &store, &error) ||
      pg_limiter_points(store, "shopify-42", 1000, 20000000, &shop, &error) ||
      pg_acquire(shop, &(pg_request){.estimate = 200}, &decision, &error)) {
    fprintf(stderr, "%s: %s\n", pg_error_name(error.code), error.message);
    return 1;
  }
  if (decision.status == PG_STATUS_GRANTED) {
    pg_correct(shop, decision.permit, 50, &settlement, &error);
  } else {
    printf("come back in %lld us\n", (long long)decision.retry_after_us);
  }

  /* 50 at once, each for at most 30 s; waits its turn for up to 5 s. */
  if (pg_limiter_concurrent(store, "erp", 50, 30000000, &erp, &error) ||
      pg_acquire_within(erp, NULL, 5000000, &decision, &error)) {
    fprintf(stderr, "%s: %s\n", pg_error_name(error.code), error.message);
    return 1;
  }
  if (decision.status == PG_STATUS_GRANTED) {
    pg_release(erp, decision.permit, 0, &settlement, &error);
  }
  pg_limiter_close(erp, NULL);
  pg_limiter_close(shop, NULL);
  pg_store_close(store, NULL);
  return 0;
}
