/* Replays the shared vectors, which come as lines from vectors.py on the standard input. */
#define _POSIX_C_SOURCE 200809L
#include "vectors.h"

#include "orders.h"
#include "together.h"
#include "waiting.h"
#include "web.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

static time_t started;

static void close_limiter(void)
{
    close_members();
    if (limiter != NULL) {
        pg_limiter_close(limiter, NULL);
        limiter = NULL;
    }
}

static pg_code make(pg_error *error)
{
    size_t count = limit_count;

    close_limiter();
    limit_count = 0;
    return pg_limiter_new(store, name, limits, count, &limiter, error);
}

static void add_limit(void)
{
    pg_limit *limit = &limits[limit_count];

    /* A word that is no kind becomes a number that is none. */
    unquote(field[1]);
    limit->kind = 1;
    while (limit->kind < 100 && strcmp(pg_kind_name(limit->kind), field[1]) != 0) {
        limit->kind++;
    }
    limit->amount = atoll(field[2]);
    limit->interval_us = atoll(field[3]);
    limit->offset_us = atoll(field[4]);
    limit->label = keep_label(field[5], labels[limit_count][0]);
    limit->per = keep_label(field[6], labels[limit_count][1]);
    limit->timezone = keep_label(field[7], labels[limit_count][2]);
    limit->starts = keep_label(field[8], labels[limit_count][3]);
    limit->refund = keep_label(field[9], labels[limit_count][4]);
    limit_count++;
}

/* cost, estimate, how long it can be settled */
static pg_request request(char **fields)
{
    static pg_units units[2][UNITS];
    struct cost cost = cost_of(fields[0], units[0]), estimate = cost_of(fields[1], units[1]);

    return (pg_request){
        .cost = cost.number,
        .estimate = estimate.number,
        .cost_by_label = cost.by_label,
        .cost_count = cost.count,
        .estimate_by_label = estimate.by_label,
        .estimate_count = estimate.count,
        .settle_within_us = atoll(fields[2]),
    };
}

static const char *json(const pg_decision *d)
{
    static char text[1024];
    char limit[24], remaining[24], retry_after[24], reset_after[24], reason[32], label[40];

    snprintf(reason, sizeof reason, "\"%s\"", pg_reason_name(d->reason));
    snprintf(text, sizeof text,
             "{\"allowed\":%s,\"limit\":%s,\"remaining\":%s,\"retry_after_us\":%s,"
             "\"reset_after_us\":%s,\"reason\":%s,\"label\":%s,\"at_us\":%" PRId64 "%s%s%s}",
             d->status == PG_STATUS_GRANTED ? "true" : "false", or_null(d->limit, limit),
             or_null(d->remaining, remaining), or_null(d->retry_after_us, retry_after),
             or_null(d->reset_after_us, reset_after),
             d->reason == PG_REASON_NONE ? "null" : reason, label_or_null(d, label), d->at_us, lowered_of(d),
             shadow_of(d), limiter_of(d));
    return text;
}

static const char *json_of_enter(const pg_decision *d)
{
    static const char *const statuses[] = {"refused", "granted", "queued", "gone"};
    static char text[1024];
    char limit[24], remaining[24], retry_after[24], reset_after[24], reason[32], label[40];
    char lease[24], fence[24], number[24], position[24], ready_after[24];

    snprintf(reason, sizeof reason, "\"%s\"", pg_reason_name(d->reason));
    snprintf(text, sizeof text,
             "{\"status\":\"%s\",\"limit\":%s,\"remaining\":%s,\"retry_after_us\":%s,"
             "\"reset_after_us\":%s,\"reason\":%s,\"label\":%s,\"at_us\":%" PRId64
             ",\"lease_us\":%s,\"fence\":%s,\"number\":%s,\"position\":%s,\"ready_after_us\":%s%s%s%s}",
             statuses[d->status], or_null(d->limit, limit), or_null(d->remaining, remaining),
             or_null(d->retry_after_us, retry_after), or_null(d->reset_after_us, reset_after),
             d->reason == PG_REASON_NONE ? "null" : reason, label_or_null(d, label), d->at_us,
             or_null(d->lease_us, lease), or_null(d->fencing_token, fence), or_null(d->ticket, number),
             or_null(d->position, position), or_null(d->ready_after_us, ready_after), lowered_of(d),
             shadow_of(d), limiter_of(d));
    return text;
}

/* acquire or peek: a request, times, =label, expected, whether it asks for each limit */
static void decide(pg_code (*verb)(const pg_limiter *, const pg_request *, pg_decision *, pg_error *))
{
    pg_request asked = request(&field[1]);
    pg_decision d;
    pg_error error;

    is_described = atoi(field[7]);
    asked.limits = is_described ? &last_limits : NULL;
    for (int i = atoi(field[4]); i > 0; i--) {
        if (!answers(field[6], verb(limiter, &asked, &d, &error), &error)) {
            return;
        }
    }
    last = d;
    expect(field[6], json(&d));
    keep_permit(field[5], &d);
}

/* a request, id, patience or nothing, grace, place, =label, expected, priority, =share or nothing, weight */
static void enter(void)
{
    pg_request asked = request(&field[1]);
    pg_wait wait = {atoll(field[5]), atoll(field[6]), NULL, atoll(field[7]), 0, 0};
    pg_decision d;
    pg_error error;

    asked.priority = atoll(field[10]);
    unquote(field[11]);
    asked.share = *field[11] == '=' ? field[11] + 1 : NULL;
    asked.weight = atoll(field[12]);
    unquote(field[4]);
    if (answers(field[9], pg_acquire_with_id(limiter, &asked, field[4], *field[5] != '\0' ? &wait : NULL, &d, &error),
                &error)) {
        expect(field[9], json_of_enter(&d));
        keep_permit(field[8], &d);
    }
}

/* permit, expected */
static void release(void)
{
    pg_settlement settlement;
    pg_error error;

    well(pg_release(limiter, permit_of(field[1]), &settlement, &error), &error);
    expect(field[2], pg_settlement_name(settlement));
}

/* permit, expected or -1 */
static void renew(void)
{
    int64_t lease;
    char text[24];
    pg_error error;

    well(pg_renew(limiter, permit_of(field[1]), &lease, &error), &error);
    snprintf(text, sizeof text, "%" PRId64, lease);
    expect(field[2], text);
}

/* id, whether it gave up, expected */
static void cancel(void)
{
    pg_settlement settlement;
    pg_error error;

    unquote(field[1]);
    well(pg_cancel(limiter, field[1], atoi(field[2]), &settlement, &error), &error);
    expect(field[3], pg_settlement_name(settlement));
}

static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, LINE - used, format, arguments);
    va_end(arguments);
}

/* A number, or null for -1. */
static void add_known(char *text, const char *key, int64_t number)
{
    if (number == -1) {
        add(text, "\"%s\":null,", key);
    } else {
        add(text, "\"%s\":%" PRId64 ",", key, number);
    }
}

/* Ends a list or an object in the place of its last comma. */
static void end(char *text, const char *with)
{
    size_t used = strlen(text);

    text[used - (text[used - 1] == ',')] = '\0';
    add(text, "%s", with);
}

static void add_tickets(char *text, const pg_ticket_info *tickets, size_t count)
{
    add(text, "[");
    for (const pg_ticket_info *ticket = tickets; ticket < tickets + count; ticket++) {
        const char *quote = ticket->share[0] != '\0' ? "\"" : "";

        add(text, "{\"id\":\"%s\",\"priority\":%d,\"share\":%s%s%s,", ticket->id, (int)ticket->priority, quote,
            quote[0] != '\0' ? ticket->share : "null", quote);
        add_known(text, "waited_us", ticket->waited_us);
        add(text, "\"ready\":%s},", ticket->ready ? "true" : "false");
    }
    end(text, "]");
}

/* offset, count, expected */
static void inspect(int only_tickets)
{
    static pg_inspection inspection;
    static pg_lease_info leases[1000];
    static pg_ticket_info tickets[1000];
    static char text[LINE];
    size_t count = (size_t)atoi(field[2]);
    pg_error error;

    if (!answers(field[3], pg_inspect(limiter, (size_t)atoi(field[1]), count, &inspection, leases, tickets, &error),
                 &error)) {
        return;
    }
    text[0] = '\0';
    if (only_tickets) {
        add_tickets(text, tickets, inspection.tickets_found);
        expect(field[3], text);
        return;
    }
    add(text, "{");
    add_known(text, "at_us", inspection.at_us);
    add(text, "\"limits\":[");
    for (size_t i = 0; i < inspection.limit_count; i++) {
        const pg_inspected_limit *limit = &inspection.limits[i];

        add(text, "{\"label\":\"%s\",\"kind\":\"%s\",", limit->label, pg_kind_name(limit->kind));
        add_known(text, "limit", limit->limit);
        add_known(text, "interval_us", limit->interval_us);
        add(text, "\"source\":\"%s\",", limit->source);
        add_known(text, "taken", limit->taken);
        add_known(text, "remaining", limit->remaining);
        add_known(text, "next_after_us", limit->next_after_us);
        add_known(text, "reset_after_us", limit->reset_after_us);
        end(text, "},");
    }
    end(text, "],");
    add_known(text, "paused_for_us", inspection.paused_for_us);
    add_known(text, "blocked_for_us", inspection.blocked_for_us);
    add(text, "\"mode\":\"%s\",\"leases\":[", inspection.mode);
    for (const pg_lease_info *lease = leases; lease < leases + inspection.leases_found; lease++) {
        add(text, "{\"id\":\"%s\",", lease->id);
        add_known(text, "held_for_us", lease->held_for_us);
        add_known(text, "ends_in_us", lease->ends_in_us);
        add_known(text, "fence", lease->fencing_token);
        end(text, "},");
    }
    end(text, "],");
    add_known(text, "lease_count", inspection.lease_count);
    add(text, "\"tickets\":");
    add_tickets(text, tickets, inspection.tickets_found);
    add(text, ",");
    add_known(text, "ticket_count", inspection.ticket_count);
    end(text, "}");
    expect(field[3], text);
}

/* count, expected */
static void ready(void)
{
    pg_queued_id ids[100];
    char text[8192] = "[";
    size_t found;
    pg_error error;

    if (!answers(field[2], pg_ready(limiter, (size_t)atoi(field[1]), ids, &found, &error), &error)) {
        return;
    }
    for (size_t i = 0; i < found; i++) {
        size_t used = strlen(text);
        CHECK(ids[i].length == strlen(ids[i].id));
        snprintf(text + used, sizeof text - used, "%s\"%s\"", i > 0 ? "," : "", ids[i].id);
    }
    strcat(text, "]");
    expect(field[2], text);
}

/* expected */
/* Appends the counts up to the last above zero, if any is. */
static void times(const char *name, const int64_t counts[22], char *text, size_t size)
{
    size_t last = 22;

    while (last > 0 && counts[last - 1] == 0) {
        last--;
    }
    for (size_t i = 0; i < last; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%" PRId64, i > 0 ? "," : name, counts[i]);
    }
    strcat(text, last > 0 ? "]" : "");
}

static void statistics(void)
{
    static const char *const names[] = {
        "granted", "refused", "waited", "wait_time_us", "units", "corrections",
        "held_time_us", "overages", "reclaimed", "lapsed", "leases", "tickets", "shadow_refused",
    };
    pg_statistics s;
    int64_t values[13];
    char text[4096] = "{";
    pg_error error;

    if (!answers(field[1], pg_stats(limiter, &s, &error), &error)) {
        return;
    }
    memcpy(values, &s, sizeof values);
    /* The last one only where it is not zero. */
    for (size_t i = 0; i < 12 + (s.shadow_refused > 0); i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s\"%s\":%" PRId64, i > 0 ? "," : "", names[i],
                 values[i]);
    }
    for (size_t i = 0; i < s.refused_by_count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s\"%s\":%" PRId64, i > 0 ? "," : ",\"refused_by\":{",
                 s.refused_by[i].label, s.refused_by[i].refused);
    }
    strcat(text, s.refused_by_count > 0 ? "}" : "");
    times(",\"waits\":[", s.waits, text, sizeof text);
    if (s.near_limit > 0) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ",\"near_limit\":%" PRId64, s.near_limit);
    }
    if (s.estimated_units != s.units) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ",\"estimated_units\":%" PRId64, s.estimated_units);
    }
    times(",\"holds\":[", s.holds, text, sizeof text);
    strcat(text, "}");
    expect(field[1], text);
}

static void entries(const char *name, const pg_history_entry *list, size_t count, char *text, size_t size)
{
    const char *before = "";
    size_t used = strlen(text);

    used += (size_t)snprintf(text + used, size - used, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        const pg_history_entry *entry = &list[i];

        if (entry->granted + entry->refused + entry->waited + entry->units == 0) {
            continue;
        }
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{\"start_us\":%" PRId64 ",\"granted\":%" PRId64 ",\"refused\":%" PRId64
                                 ",\"waited\":%" PRId64 ",\"units\":%" PRId64 "}",
                                 before, entry->start_us, entry->granted, entry->refused, entry->waited,
                                 entry->units);
        before = ",";
    }
    snprintf(text + used, size - used, "]");
}

/* expected */
static void history(void)
{
    pg_history found;
    char text[8192] = "{";
    pg_error error;

    if (!answers(field[1], pg_history_get(limiter, &found, &error), &error)) {
        return;
    }
    entries("minutes", found.minutes, 60, text, sizeof text);
    strcat(text, ",");
    entries("hours", found.hours, 48, text, sizeof text);
    strcat(text, "}");
    expect(field[1], text);
}

/* permit, actual, expected */
static void correct(void)
{
    pg_units units[UNITS];
    struct cost actual = cost_of(field[2], units);
    pg_settlement settlement;
    pg_error error;

    if (answers(field[3], pg_correct(limiter, permit_of(field[1]), actual.number, actual.by_label, actual.count, &settlement, &error),
                &error)) {
        expect(field[3], pg_settlement_name(settlement));
    }
}

/* permit, units, =label, expected */
static void extend(void)
{
    pg_units units[UNITS];
    struct cost more = cost_of(field[2], units);
    pg_settlement settlement;
    pg_decision d;
    pg_error error;

    if (answers(field[4], pg_extend(limiter, permit_of(field[1]), more.number, more.by_label, more.count, &settlement, &d, &error),
                &error)) {
        expect(field[4], settlement == PG_SETTLEMENT_NONE ? json(&d) : pg_settlement_name(settlement));
        if (d.status == PG_STATUS_GRANTED) {
            keep_permit(field[3], &d);
        }
    }
}

/* cost, expected */
static void debit(void)
{
    pg_units units[UNITS];
    struct cost cost = cost_of(field[1], units);
    pg_decision d;
    pg_error error;

    if (answers(field[2], pg_debit(limiter, cost.number, cost.by_label, cost.count, &d, &error), &error)) {
        expect(field[2], json(&d));
    }
}

/* units, expected */
static void refund(void)
{
    pg_units units[UNITS];
    struct cost given = cost_of(field[1], units);
    pg_decision d;
    pg_error error;

    if (answers(field[2], pg_refund(limiter, given.number, given.by_label, given.count, &d, &error), &error)) {
        expect(field[2], json(&d));
    }
}

/* code, kind, argument, then what the verb needs */
static void misuse(const char *verb)
{
    pg_units units[UNITS];
    struct cost cost;
    pg_request asked;
    pg_decision d;
    pg_error error = {0};
    pg_code code;

    if (strcmp(verb, "make") == 0) {
        code = make(&error);
    } else if (strcmp(verb, "correct") == 0) {
        unquote(field[4]);
        cost = cost_of(field[5], units);
        code = pg_correct(limiter, field[4], cost.number, cost.by_label, cost.count, NULL, &error);
    } else if (strcmp(verb, "debit") == 0) {
        cost = cost_of(field[4], units);
        code = pg_debit(limiter, cost.number, cost.by_label, cost.count, &d, &error);
    } else if (strcmp(verb, "clock") == 0) {
        code = pg_test_clock_set(test_clock, atoll(field[4]), &error);
    } else {
        asked = request(&field[4]);
        code = (strcmp(verb, "peek") == 0 ? pg_peek : pg_acquire)(limiter, &asked, &d, &error);
    }
    if (code != atoi(field[1]) || error.code != code) {
        fail(field[1], pg_error_name(code));
    }
    expect(field[2], pg_error_name(code));
    expect(field[3], error.argument);
    if (limiter != NULL) {
        well(pg_peek(limiter, &(pg_request){.cost = PG_COST_ZERO}, &d, &error), &error);
        if (d.remaining != d.limit) {
            fail("nothing taken", json(&d));
        }
    }
}

static void begin_case(void)
{
    unquote(field[1]);
    unquote(field[2]);
    snprintf(title, sizeof title, "%s", field[1]);
    snprintf(name, sizeof name, "c-%ld-%ld-%s", (long)started, (long)getpid(), field[2]);
    case_count++;
    permit_count = limit_count = 0;
    step = 0;
    check_ok = 1;
}

static void end_case(void)
{
    close_limiter();
    check_count(title, check_ok);
}

static void obey(void)
{
    const char *verb = field[0];
    pg_error error;

    if (strcmp(verb, "case") == 0) {
        begin_case();
    } else if (strcmp(verb, "end") == 0) {
        end_case();
    } else if (strcmp(verb, "limit") == 0) {
        add_limit();
    } else if (strcmp(verb, "member") == 0) {
        add_member();
    } else if (strcmp(verb, "of") == 0) {
        choose();
    } else if (strcmp(verb, "name") == 0) {
        unquote(field[1]);
        snprintf(name, sizeof name, "%s", field[1]);
    } else if (strcmp(verb, "at") == 0) {
        well(pg_test_clock_set(test_clock, atoll(field[1]), &error), &error);
    } else if (strncmp(verb, "bad-", 4) == 0) {
        misuse(verb + 4);
    } else {
        step++;
        if (strcmp(verb, "make") == 0) {
            step -= step == 1; /* the first belongs to the case */
            well(make(&error), &error);
        } else if (strcmp(verb, "acquire") == 0) {
            decide(pg_acquire);
        } else if (strcmp(verb, "peek") == 0) {
            decide(pg_peek);
        } else if (strcmp(verb, "headers") == 0) {
            headers();
        } else if (strcmp(verb, "caller-key") == 0) {
            caller_key();
        } else if (strcmp(verb, "plain-key") == 0) {
            plain_key();
        } else if (strcmp(verb, "enter") == 0) {
            enter();
        } else if (strcmp(verb, "correct") == 0) {
            correct();
        } else if (strcmp(verb, "extend") == 0) {
            extend();
        } else if (strcmp(verb, "debit") == 0) {
            debit();
        } else if (strcmp(verb, "refund") == 0) {
            refund();
        } else if (strcmp(verb, "release") == 0) {
            release();
        } else if (strcmp(verb, "renew") == 0) {
            renew();
        } else if (strcmp(verb, "cancel") == 0) {
            cancel();
        } else if (strcmp(verb, "inspect") == 0 || strcmp(verb, "queue") == 0) {
            inspect(verb[0] == 'q');
        } else if (strcmp(verb, "ready") == 0) {
            ready();
        } else if (strcmp(verb, "statistics") == 0) {
            statistics();
        } else if (strcmp(verb, "history") == 0) {
            history();
        } else if (strcmp(verb, "together") == 0) {
            refuse_together();
        } else if (strcmp(verb, "sync") == 0) {
            sync_budget();
        } else if (strcmp(verb, "learn") == 0) {
            learn();
        } else if (is_order(verb)) {
            order(verb);
        } else if (is_of_waiter(verb)) {
            of_waiter(verb);
        } else if (strcmp(verb, "reset") == 0) {
            well(pg_reset(limiter, &error), &error);
        } else {
            fail("a verb", verb);
        }
    }
}

int main(int count, char **arguments)
{
    static char line[LINE], nothing[] = "";

    started = time(NULL);
    OK(pg_test_clock_new(0, &test_clock, &error));
    OK(pg_store_open_with_clock(count > 1 ? arguments[1] : "memory://", 10000000, test_clock, &store, &error));
    while (fgets(line, sizeof line, stdin) != NULL) {
        size_t fields = 0;

        line[strcspn(line, "\n")] = '\0';
        for (char *text = line; text != NULL && fields < FIELDS; fields++) {
            field[fields] = text;
            text = strchr(text, '\t');
            if (text != NULL) {
                *text++ = '\0';
            }
        }
        for (; fields <= FIELDS; fields++) {
            field[fields] = nothing;
        }
        obey();
    }
    OK(pg_store_close(store, &error));
    OK(pg_test_clock_close(test_clock, &error));
    check_count("there are vectors", case_count > 0);
    return check_report();
}
