/* The steps about what a server tells its callers: the fields of a decision, and the keys of callers. */
#ifndef WEB_H
#define WEB_H

#include "vectors.h"

/* The decision of the last acquire or peek, and its limits if the step asked for them. */
static pg_decision last;
static pg_decision_limits last_limits;
static int is_described;

/* Compares a text with the expected one behind "=", or the argument of an error with that behind "!". */
static void compare(char *wanted, pg_code code, const pg_error *error, const char *got)
{
    unquote(wanted);
    if (answers(wanted, code, error)) {
        expect(wanted + 1, got);
    }
}

/* =fields, expected */
static void headers(void)
{
    char text[4096] = "";
    pg_error error;
    pg_code code;

    unquote(field[1]);
    code = pg_decision_headers(&last, is_described ? &last_limits : NULL, NULL, 0, field[1] + 1, text, sizeof text,
                               &error);
    compare(field[2], code, &error, text);
}

/* address, =forwarded for or nothing, count, proxies in lines, prefix or -1, expected */
static void caller_key(void)
{
    const char *proxies[8];
    size_t count = (size_t)atoi(field[3]);
    char key[520] = "";
    char *at = field[4];
    pg_error error;
    pg_code code;

    unquote(field[1]);
    unquote(field[2]);
    unquote(field[4]);
    for (size_t i = 0; i < count; i++) {
        proxies[i] = at;
        at += strcspn(at, "\n");
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    code = pg_caller_key(field[1], strlen(field[1]), *field[2] == '=' ? field[2] + 1 : NULL,
                         *field[2] == '=' ? strlen(field[2] + 1) : 0, count > 0 ? proxies : NULL, count,
                         atoll(field[5]), key, sizeof key, &error);
    compare(field[6], code, &error, key);
}

/* =hexadecimal, expected */
static void plain_key(void)
{
    char bytes[1024], key[520] = "";
    size_t length = 0;
    pg_error error;
    pg_code code;

    for (const char *from = field[1] + 1; *from != '\0'; from += 2) {
        unsigned byte;

        sscanf(from, "%2x", &byte);
        bytes[length++] = (char)byte;
    }
    code = pg_plain_key(bytes, length, key, sizeof key, &error);
    compare(field[2], code, &error, key);
}

#endif
