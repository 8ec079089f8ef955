/* The steps that change a limiter while it runs, and those that tell it of its upstream. */
#ifndef ORDERS_H
#define ORDERS_H

#include "vectors.h"

enum { WORDS = 32 };

static void add_limits(char *text, size_t room, const pg_labelled_limit *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);

        snprintf(text + used, room - used,
                 "%s{\"label\":\"%s\",\"kind\":\"%s\",\"amount\":%" PRId64 ",\"interval_us\":%" PRId64 "}",
                 i > 0 ? "," : "", limits[i].label, pg_kind_name(limits[i].kind), limits[i].amount,
                 limits[i].interval_us);
    }
}

static const char *json_of_controls(const pg_runtime_state *c)
{
    static char text[4096];
    char overrides[1800] = "", learned[1800] = "", paused_for[24], expires_in[24], blocked[48] = "", mode[48] = "";

    add_limits(overrides, sizeof overrides, c->overrides, c->override_count);
    add_limits(learned, sizeof learned, c->learned, c->learned_count);
    if (c->blocked_for_us != -1) {
        snprintf(blocked, sizeof blocked, ",\"blocked_for_us\":%" PRId64, c->blocked_for_us);
    }
    if (c->mode[0] != '\0') {
        snprintf(mode, sizeof mode, ",\"mode\":\"%s\"", c->mode);
    }
    snprintf(text, sizeof text,
             "{\"version\":%" PRId64 ",\"paused_for_us\":%s,\"overrides\":[%s],\"expires_in_us\":%s,"
             "\"learned\":[%s]%s%s}",
             c->version, or_null(c->paused_for_us, paused_for), overrides,
             or_null(c->expires_in_us, expires_in), learned, blocked, mode);
    return text;
}

static int is_order(const char *verb)
{
    static const char *const orders[] = {"pause", "block", "resume", "mode", "override", "overrides", "restore", "controls"};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (strcmp(verb, orders[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* expected or nothing, the argument of an error or nothing, =label (of a mode =mode) or nothing, then what the verb
   needs */
static void order(const char *verb)
{
    int64_t numbers[4];
    size_t count = limit_count;
    char kept[64];
    const char *label = keep_label(field[3], kept);
    pg_runtime_state controls;
    pg_error error;
    pg_code code;

    limit_count = 0;
    for (size_t i = 0; i < 4; i++) {
        numbers[i] = atoll(field[4 + i]);
    }
    if (strcmp(verb, "pause") == 0) {
        code = pg_pause(limiter, numbers[0], numbers[1], &controls, &error);
    } else if (strcmp(verb, "block") == 0) {
        code = pg_block(limiter, numbers[0], numbers[1], &controls, &error);
    } else if (strcmp(verb, "mode") == 0) {
        code = pg_override_mode(limiter, label, numbers[0], numbers[1], &controls, &error);
    } else if (strcmp(verb, "resume") == 0) {
        code = pg_resume(limiter, &controls, &error);
    } else if (strcmp(verb, "override") == 0) {
        code = pg_override(limiter, label, numbers[0], numbers[1], numbers[2], numbers[3], &controls, &error);
    } else if (strcmp(verb, "overrides") == 0) {
        code = pg_override_limits(limiter, limits, count, numbers[0], numbers[1], &controls, &error);
    } else if (strcmp(verb, "restore") == 0) {
        code = pg_restore(limiter, label, &controls, &error);
    } else {
        code = pg_runtime_state_get(limiter, &controls, &error);
    }
    if (*field[2] != '\0') {
        expect("invalid", pg_error_name(code));
        expect(field[2], error.argument);
        return;
    }
    well(code, &error);
    if (*field[1] != '\0') {
        expect(field[1], json_of_controls(&controls));
    }
}

/* The lines of a text as a list of JSON. */
static void add_lines(char *json, size_t room, const char *lines)
{
    size_t used = 0;

    while (*lines != '\0') {
        int length = (int)strcspn(lines, "\n");

        used += (size_t)snprintf(json + used, room - used, "%s\"%.*s\"", used > 0 ? "," : "", length, lines);
        lines += length + (lines[length] == '\n');
    }
}

static const char *json_of_learned(const pg_learned *l)
{
    static char text[8192];
    char learned[1024] = "", ignored[6144] = "", settlement[24] = "null";

    if (l->settlement != PG_SETTLEMENT_NONE) {
        snprintf(settlement, sizeof settlement, "\"%s\"", pg_settlement_name(l->settlement));
    }
    add_lines(learned, sizeof learned, l->learned);
    add_lines(ignored, sizeof ignored, l->ignored);
    snprintf(text, sizeof text, "{\"settlement\":%s,\"learned\":[%s],\"ignored\":[%s]}", settlement, learned, ignored);
    return text;
}

/* expected, permit or nothing, =label or nothing, remaining, amount, interval, reset in, reset at */
static void sync_budget(void)
{
    const char *permit = *field[2] != '\0' ? permit_of(field[2]) : NULL;
    char kept[64];
    const char *label = keep_label(field[3], kept);
    pg_learned learned;
    pg_error error;

    well(pg_report_budget(limiter, permit, label, atoll(field[4]), atoll(field[5]), atoll(field[6]), 0,
                 atoll(field[7]), atoll(field[8]), &learned, &error),
         &error);
    expect(field[1], json_of_learned(&learned));
}

/* Feeds a body in chunks of a length, checks what is ignored, and gives what is found. */
static const char *found_in(const char *body, size_t length)
{
    static char found[65536], ignored[65536];
    size_t whole = strlen(body);
    pg_stream_usage *usage;
    pg_error error;

    well(pg_stream_usage_new(&usage, &error), &error);
    for (size_t at = 0; at < whole; at += length) {
        well(pg_stream_usage_feed(usage, body + at, length < whole - at ? length : whole - at, &error), &error);
    }
    well(pg_stream_usage_ignored(usage, ignored, sizeof ignored, &error), &error);
    well(pg_stream_usage_body(usage, found, sizeof found, &error), &error);
    well(pg_stream_usage_close(usage, &error), &error);
    unquote(field[10]);
    expect(field[10], ignored);
    return found;
}

/* expected, permit or nothing, provider, status, headers between newlines, body, default pause, max_learned, chunk length, what is not read */
static void learn(void)
{
    const char *permit = *field[2] != '\0' ? permit_of(field[2]) : NULL, *words[WORDS];
    size_t count = 0;
    pg_learned learned;
    pg_error error;

    unquote(field[5]);
    unquote(field[6]);
    for (char *word = field[5]; word != NULL && *field[5] != '\0' && count < WORDS;) {
        words[count++] = word;
        word = strchr(word, '\n');
        if (word != NULL) {
            *word++ = '\0';
        }
    }
    const char *body = field[6];
    if (atoi(field[9]) > 0) {
        body = found_in(body, (size_t)atoi(field[9]));
    }
    well(pg_learn_from_response(limiter, permit, field[3], atoi(field[4]), words, count, body, strlen(body),
                  PG_NOT_GIVEN, atoll(field[7]), atoll(field[8]), &learned, &error),
         &error);
    expect(field[1], json_of_learned(&learned));
}

#endif
