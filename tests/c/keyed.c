/* Limiters with a state for each key, and without statistics. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

#include <pthread.h>
#include <sched.h>

static pg_limiter *keyed;

/* A keyed limiter of one limit under a new name. */
static void make_keyed(pg_limit limit)
{
    pg_limiter *plain;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, &limit, 1, &plain, &error));
    OK(pg_limiter_keyed(plain, &keyed, &error));
    OK(pg_limiter_close(plain, &error));
}

static pg_limiter *of_key(const char *key)
{
    pg_limiter *one;

    OK(pg_limiter_with_key(keyed, key, &one, &error));
    return one;
}

/* One call, as a program makes it: a handle, the call, the end of the handle. */
static pg_decision acquire(const char *key, int64_t cost)
{
    pg_limiter *one = of_key(key);
    pg_decision d;

    OK(pg_acquire(one, &(pg_request){.cost = cost}, &d, &error));
    OK(pg_limiter_close(one, &error));
    return d;
}

static void forget_keys(const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pg_limiter *one = of_key(keys[i]);

        OK(pg_reset(one, &error));
        OK(pg_limiter_close(one, &error));
    }
    OK(pg_limiter_close(keyed, &error));
}

static const char *const users[] = {"alice", "bob", "carol"};

static void each_key_has_a_state_of_its_own(void)
{
    pg_limiter *plain;
    pg_decision d;

    make_keyed((pg_limit){.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000});
    CHECK_INT(PG_STATUS_GRANTED, acquire("alice", 2).status);
    CHECK_INT(PG_STATUS_REFUSED, acquire("alice", 1).status);
    d = acquire("bob", 1);
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(1, d.remaining);
    CHECK_INT(-1, d.limiter);
    /* One without keys of the same name has nothing in common with it. */
    OK(pg_limiter_window(here, name, 2, 60000000, &plain, &error));
    OK(pg_acquire(plain, NULL, &d, &error));
    CHECK_INT(1, d.remaining);
    OK(pg_reset(plain, &error));
    OK(pg_limiter_close(plain, &error));
    forget_keys(users, 3);
}

static void a_handle_tells_its_key(void)
{
    static const char all[] = {'e', 0x7f, ' ', '"', '\n', '\0'};
    static char longest[513];
    const char *const keys[] = {"alice", all, "\xc3\xa9", longest};
    char key[513];

    memset(longest, 'k', 512);
    make_keyed((pg_limit){.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000});
    CHECK_INT(1, pg_limiter_is_keyed(keyed));
    memset(key, 'x', sizeof key);
    OK(pg_limiter_key(keyed, key, sizeof key, &error));
    CHECK_TEXT("", key);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        pg_limiter *one = of_key(keys[i]), *local, *other;

        CHECK_INT(1, pg_limiter_is_keyed(one));
        OK(pg_limiter_key(one, key, sizeof key, &error));
        CHECK_TEXT(keys[i], key);
        /* Another behaviour keeps the key, and another key replaces it. */
        OK(pg_limiter_with_on_unavailable(one, "local", PG_NOT_GIVEN, &local, &error));
        OK(pg_limiter_close(one, &error));
        OK(pg_limiter_key(local, key, sizeof key, &error));
        CHECK_TEXT(keys[i], key);
        OK(pg_limiter_with_key(local, "other", &other, &error));
        OK(pg_limiter_close(local, &error));
        OK(pg_limiter_key(other, key, sizeof key, &error));
        CHECK_TEXT("other", key);
        OK(pg_limiter_close(other, &error));
    }
    CHECK_INT(2, acquire(longest, PG_COST_ZERO).remaining);
    OK(pg_limiter_close(keyed, &error));
}

static void the_handle_of_a_key_stands_alone(void)
{
    pg_limiter *one;
    pg_decision d;
    pg_settlement settlement;
    int64_t lease;

    make_keyed((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 30000000});
    CHECK_INT(PG_INVALID, pg_check_allow(keyed, NULL));
    d = acquire("alice", 1);
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    /* The lease belongs to the key, whichever handle asks. */
    one = of_key("bob");
    OK(pg_release(one, d.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_UNKNOWN, settlement);
    OK(pg_limiter_close(one, &error));
    one = of_key("alice");
    OK(pg_limiter_close(keyed, &error));
    OK(pg_renew(one, d.permit, &lease, &error));
    CHECK_INT(30000000, lease);
    OK(pg_release(one, d.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    OK(pg_limiter_close(one, &error));
}

static void the_statistics_are_of_all_keys(void)
{
    pg_statistics s;
    pg_limiter *one;

    make_keyed((pg_limit){.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000});
    acquire("alice", 2);
    acquire("alice", 1);
    acquire("bob", 1);
    OK(pg_stats(keyed, &s, &error));
    CHECK_INT(2, s.granted);
    CHECK_INT(1, s.refused);
    CHECK_INT(3, s.units);
    CHECK_INT(0, s.leases + s.tickets);
    one = of_key("alice");
    OK(pg_reset(one, &error));
    OK(pg_limiter_close(one, &error));
    OK(pg_stats(keyed, &s, &error));
    CHECK_INT(2, s.granted);
    CHECK_INT(2, acquire("alice", PG_COST_ZERO).remaining);
    CHECK_INT(1, acquire("bob", PG_COST_ZERO).remaining);
    forget_keys(users, 3);
}

/* How often a name is listed, and the entry that came last. */
static int listed(const char *named, pg_limiter_info *entry)
{
    pg_list *list;
    pg_limiter_info next;
    int found = 0;

    OK(pg_list_open(here, &list, &error));
    do {
        OK(pg_list_next(list, &next, &error));
        if (strcmp(next.name, named) == 0) {
            *entry = next;
            found++;
        }
    } while (next.name[0] != '\0');
    OK(pg_list_close(list, &error));
    return found;
}

static void all_keys_are_one_entry_of_the_list(void)
{
    pg_limiter *plain;
    pg_limiter_info entry = {.keyed = -1};
    pg_decision d;

    make_keyed((pg_limit){.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000});
    acquire("alice", 1);
    acquire("bob", 1);
    CHECK_INT(1, listed(name, &entry));
    CHECK_INT(1, entry.keyed);
    CHECK_INT(1, entry.count);
    CHECK_INT(2, entry.limits[0].amount);
    forget_keys(users, 2);
    OK(pg_new_id(name, &error));
    OK(pg_limiter_window(here, name, 5, 60000000, &plain, &error));
    OK(pg_acquire(plain, NULL, &d, &error));
    CHECK_INT(1, listed(name, &entry));
    CHECK_INT(0, entry.keyed);
    CHECK_INT(0, pg_limiter_is_keyed(plain));
    OK(pg_reset(plain, &error));
    OK(pg_limiter_close(plain, &error));
}

static void without_statistics(void)
{
    const pg_limit limit = {.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000};
    pg_limiter *plain, *silent;
    pg_limiter_info entry;
    pg_statistics s;
    pg_decision d;
    pg_error e;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, &limit, 1, &plain, &error));
    OK(pg_limiter_without_statistics(plain, &silent, &error));
    CHECK_INT(0, pg_limiter_is_keyed(silent));
    OK(pg_acquire(silent, NULL, &d, &error));
    CHECK_INT(1, d.remaining);
    CHECK_INT(PG_INVALID, pg_stats(silent, &s, &e));
    CHECK_TEXT("statistics", e.argument);
    CHECK_INT(0, s.granted);
    CHECK_INT(0, listed(name, &entry));
    /* Others of the name decide alike, and count. */
    OK(pg_peek(plain, NULL, &d, &error));
    CHECK_INT(1, d.remaining);
    OK(pg_reset(plain, &error));
    OK(pg_acquire(plain, NULL, &d, &error));
    CHECK_INT(1, d.remaining);
    OK(pg_stats(plain, &s, &error));
    CHECK_INT(1, s.granted);
    CHECK_INT(1, listed(name, &entry));
    OK(pg_reset(plain, &error));
    OK(pg_limiter_keyed(silent, &keyed, &error));
    OK(pg_limiter_close(silent, &error));
    OK(pg_limiter_close(plain, &error));
    CHECK_INT(1, acquire("alice", 1).remaining);
    CHECK_INT(PG_INVALID, pg_stats(keyed, &s, &e));
    CHECK_TEXT("statistics", e.argument);
    forget_keys(users, 1);
}

static void a_yes_or_no_at_once(void)
{
    const pg_limit leases = {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 30000000};
    pg_store *memory;
    pg_limiter *plain, *of_users, *workers, *on_server;
    pg_statistics s;
    pg_decision d;

    OK(pg_store_memory(&memory, &error));
    OK(pg_limiter_leaky(memory, "api", 3, 3600000000, &plain, &error));
    CHECK_INT(-1, pg_allow_at_once(plain, NULL, 1));
    OK(pg_acquire(plain, NULL, &d, &error));
    CHECK_INT(1, pg_allow_at_once(plain, NULL, 2));
    CHECK_INT(0, pg_allow_at_once(plain, NULL, 1));
    /* What pg_acquire refuses with an error is decided by it alone. */
    CHECK_INT(-1, pg_allow_at_once(plain, NULL, 4));
    CHECK_INT(-1, pg_allow_at_once(plain, NULL, -1));
    CHECK_INT(-1, pg_allow_at_once(plain, "alice", 1));
    CHECK_INT(-1, pg_allow_at_once(NULL, NULL, 1));
    OK(pg_limiter_keyed(plain, &of_users, &error));
    for (int i = 0; i < 3; i++)
        CHECK_INT(1, pg_allow_at_once(of_users, "alice", 1));
    CHECK_INT(0, pg_allow_at_once(of_users, "alice", 1));
    CHECK_INT(1, pg_allow_at_once(of_users, "bob", 3));
    CHECK_INT(-1, pg_allow_at_once(of_users, NULL, 1));
    CHECK_INT(-1, pg_allow_at_once(of_users, "", 1));
    CHECK_INT(-1, pg_allow_at_once(of_users, "\xff", 1));
    OK(pg_stats(of_users, &s, &error));
    CHECK_INT(4, s.granted);
    CHECK_INT(1, s.refused);
    CHECK_INT(6, s.units);
    OK(pg_limiter_new(memory, "workers", &leases, 1, &workers, &error));
    CHECK_INT(-1, pg_allow_at_once(workers, NULL, 1));
    OK(pg_new_id(name, &error));
    OK(pg_limiter_leaky(here, name, 3, 3600000000, &on_server, &error));
    OK(pg_acquire(on_server, NULL, &d, &error));
    CHECK_INT(pg_store_is_memory(here) ? 1 : -1, pg_allow_at_once(on_server, NULL, 1));
    OK(pg_reset(on_server, &error));
    OK(pg_limiter_close(on_server, &error));
    OK(pg_limiter_close(workers, &error));
    OK(pg_limiter_close(of_users, &error));
    OK(pg_limiter_close(plain, &error));
    CHECK_INT(-1, pg_allow_at_once(plain, NULL, 1));
    OK(pg_store_close(memory, &error));
}

static void keys_decide_together(void)
{
    pg_limiter *org, *user, *each[2], *both;
    pg_decision d;

    make_keyed((pg_limit){.kind = PG_KIND_WINDOW, .amount = 3, .interval_us = 60000000});
    org = keyed;
    make_keyed((pg_limit){.kind = PG_KIND_BUCKET, .amount = 2, .interval_us = 60000000});
    user = keyed;
    OK(pg_limiter_with_key(org, "acme", &each[0], &error));
    OK(pg_limiter_with_key(user, "alice", &each[1], &error));
    OK(pg_together(here, each, 2, &both, &error));
    CHECK_INT(0, pg_limiter_is_keyed(both));
    OK(pg_acquire(both, &(pg_request){.cost = 2}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(1, d.limiter);
    OK(pg_acquire(both, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(1, d.limiter);
    OK(pg_limiter_close(both, &error));
    OK(pg_limiter_close(each[1], &error));
    OK(pg_limiter_with_key(user, "bob", &each[1], &error));
    OK(pg_together(here, each, 2, &both, &error));
    OK(pg_limiter_close(each[0], &error));
    OK(pg_limiter_close(each[1], &error));
    OK(pg_acquire(both, &(pg_request){.cost = 2}, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(0, d.limiter);
    OK(pg_limiter_close(both, &error));
    keyed = user;
    forget_keys(users, 2);
    keyed = org;
    forget_keys((const char *const[]){"acme"}, 1);
}

static void *wait_as_alice(void *granted)
{
    pg_limiter *one = of_key("alice");

    OK(pg_acquire_timeout(one, NULL, 600000000, granted, &error));
    OK(pg_limiter_close(one, &error));
    return NULL;
}

static void a_turn_comes_to_a_key(void)
{
    pg_limiter *alice;
    pg_decision held, bobs, granted, d;
    pthread_t thread;

    make_keyed((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000});
    alice = of_key("alice");
    held = acquire("alice", 1);
    bobs = acquire("bob", 1);
    CHECK_INT(PG_STATUS_GRANTED, bobs.status);
    pthread_create(&thread, NULL, wait_as_alice, &granted);
    do {
        sched_yield();
        OK(pg_acquire_with_id(alice, NULL, "behind", &(pg_wait){.max_wait_us = 60000000, .claim_timeout_us = 60000000}, &d, &error));
        OK(pg_cancel(alice, "behind", 0, NULL, &error));
    } while (d.position == 0);
    OK(pg_release(alice, held.permit, NULL, &error));
    pthread_join(thread, NULL);
    CHECK_INT(PG_STATUS_GRANTED, granted.status);
    OK(pg_limiter_close(alice, &error));
    forget_keys(users, 2);
}

static void a_document_has_keyed_limiters(void)
{
    const char *text = "{\"limiters\": {\"a\": {\"window\": {\"limit\": 2, \"per\": \"minute\"}, \"keyed\": true,"
                       " \"statistics\": false}, \"b\": {\"window\": {\"limit\": 2, \"per\": \"minute\"}}}}";
    pg_document *document;
    pg_loaded_limiter loaded;
    pg_limiter *one;
    pg_decision d;
    pg_statistics s;
    pg_error e;

    OK(pg_load(here, text, strlen(text), &document, &error));
    OK(pg_document_next(document, &loaded, &error));
    CHECK_INT(1, pg_limiter_is_keyed(loaded.limiter));
    OK(pg_limiter_with_key(loaded.limiter, "alice", &one, &error));
    OK(pg_acquire(one, NULL, &d, &error));
    CHECK_INT(1, d.remaining);
    CHECK_INT(PG_INVALID, pg_stats(loaded.limiter, &s, &e));
    CHECK_TEXT("statistics", e.argument);
    OK(pg_reset(one, &error));
    OK(pg_limiter_close(one, &error));
    OK(pg_limiter_close(loaded.limiter, &error));
    OK(pg_document_next(document, &loaded, &error));
    CHECK_INT(0, pg_limiter_is_keyed(loaded.limiter));
    OK(pg_limiter_close(loaded.limiter, &error));
    OK(pg_document_close(document, &error));
}

static void many_keys_need_few_handles(void)
{
    char key[16];

    make_keyed((pg_limit){.kind = PG_KIND_LEAKY, .amount = 2, .interval_us = 1000});
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "user-%d", i);
        CHECK_INT(1, acquire(key, 1).remaining);
    }
    OK(pg_limiter_close(keyed, &error));
}

int main(void)
{
    ON_EACH_STORE(each_key_has_a_state_of_its_own);
    ON_EACH_STORE(a_handle_tells_its_key);
    ON_EACH_STORE(the_handle_of_a_key_stands_alone);
    ON_EACH_STORE(the_statistics_are_of_all_keys);
    ON_EACH_STORE(all_keys_are_one_entry_of_the_list);
    ON_EACH_STORE(without_statistics);
    ON_EACH_STORE(a_yes_or_no_at_once);
    ON_EACH_STORE(keys_decide_together);
    ON_EACH_STORE(a_turn_comes_to_a_key);
    ON_EACH_STORE(a_document_has_keyed_limiters);
    ON_EACH_STORE(many_keys_need_few_handles);
    return check_report();
}
