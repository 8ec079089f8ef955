// The header as a C++ program sees it.
#include <paddlegate.h>

#include <cstdio>

int main()
{
    pg_store *store = nullptr;
    pg_limiter *limiter = nullptr;
    pg_limiter *together = nullptr;
    pg_decision decision = {};
    pg_request request = {};
    pg_error error = {};

    request.cost = 2;
    bool ok = pg_store_memory(&store, &error) == PG_OK &&
              pg_limiter_bucket(store, "cpp", 3, 1000000, &limiter, &error) == PG_OK &&
              pg_together(store, &limiter, 1, &together, &error) == PG_OK &&
              pg_acquire(together, &request, &decision, &error) == PG_OK && decision.limiter == 0 &&
              decision.status == PG_STATUS_GRANTED && decision.remaining == 1 &&
              decision.reason == PG_REASON_NONE && pg_limiter_close(together, &error) == PG_OK &&
              pg_limiter_close(limiter, &error) == PG_OK &&
              pg_store_close(store, &error) == PG_OK;
    std::printf("passed=%d failed=%d\n", ok, !ok);
    return ok ? 0 : 1;
}
