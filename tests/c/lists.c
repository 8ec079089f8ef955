/* The limiters whose names begin with a text, all at once and in pages. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

enum { MANY = 330, OTHERS = 20 };

static char base[33], prefix[40];

static void use(const char *of, int number)
{
    pg_limiter *limiter;
    pg_decision d;
    char full[80];

    snprintf(full, sizeof full, "%s-%s-%d", base, of, number);
    OK(pg_limiter_window(here, full, 5, 60000000, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &d, &error));
    OK(pg_limiter_close(limiter, &error));
}

static void use_many(void)
{
    OK(pg_new_id(base, &error));
    snprintf(prefix, sizeof prefix, "%s-a-", base);
    for (int i = 0; i < MANY; i++) {
        use("a", i);
    }
    for (int i = 0; i < OTHERS; i++) {
        use("b", i);
    }
}

/* Adds the names of a list to seen, and checks that they are sorted. Returns how many there were. */
static int read_list(pg_list *list, char seen[MANY])
{
    static pg_limiter_info listed;
    char before[sizeof listed.name] = "";
    int count = 0;

    for (;; count++) {
        OK(pg_list_next(list, &listed, &error));
        if (listed.name[0] == '\0') {
            break;
        }
        CHECK(strcmp(before, listed.name) < 0);
        CHECK(strncmp(listed.name, prefix, strlen(prefix)) == 0);
        CHECK_INT(1, listed.count);
        CHECK_TEXT("enforce", listed.mode);
        CHECK_INT(PG_KIND_WINDOW, listed.limits[0].kind);
        seen[atoi(listed.name + strlen(prefix)) % MANY] = 1;
        strcpy(before, listed.name);
    }
    return count;
}

static int count_seen(const char seen[MANY])
{
    int count = 0;

    for (int i = 0; i < MANY; i++) {
        count += seen[i];
    }
    return count;
}

static void names_begin_with_a_text(void)
{
    char seen[MANY] = {0}, cursor[64] = "x";
    pg_list *list;
    pg_limiter_info listed;
    int all = 0, named = 0;

    use_many();
    OK(pg_list_open_prefix(here, prefix, &list, &error));
    CHECK_INT(MANY, read_list(list, seen));
    CHECK_INT(MANY, count_seen(seen));
    OK(pg_list_cursor(list, cursor, sizeof cursor, &error));
    CHECK_TEXT("", cursor);
    OK(pg_list_close(list, &error));
    /* NULL and an empty text are all names. */
    for (int i = 0; i < 2; i++) {
        OK(pg_list_open_prefix(here, i == 0 ? NULL : "", &list, &error));
        for (named = 0, all = 0;; all++) {
            OK(pg_list_next(list, &listed, &error));
            if (listed.name[0] == '\0') {
                break;
            }
            named += strncmp(listed.name, base, strlen(base)) == 0;
        }
        CHECK_INT(MANY + OTHERS, named);
        CHECK(all >= named);
        OK(pg_list_close(list, &error));
    }
    OK(pg_list_open_prefix(here, "nobody has this name", &list, &error));
    CHECK_INT(0, read_list(list, seen));
    OK(pg_list_close(list, &error));
}

static void pages_have_all_names(void)
{
    char seen[MANY] = {0}, cursor[64];
    const char *next = NULL;
    pg_list *list;
    int pages = 0, listed = 0, count;

    use_many();
    do {
        OK(pg_list_open_page(here, prefix, next, &list, &error));
        count = read_list(list, seen);
        OK(pg_list_cursor(list, cursor, sizeof cursor, &error));
        OK(pg_list_close(list, &error));
        CHECK(cursor[0] == '\0' || count >= 50);
        listed += count;
        pages++;
        next = cursor;
    } while (cursor[0] != '\0' && pages < 100);
    CHECK_INT(MANY, count_seen(seen));
    CHECK(listed >= MANY);
    CHECK(pg_store_is_memory(here) ? pages == 1 : pages >= 2 && pages <= 5);
}

static void a_page_of_no_names(void)
{
    char cursor[64];
    char seen[MANY];
    pg_list *list;

    OK(pg_list_open_page(here, "nobody has this name", NULL, &list, &error));
    CHECK_INT(0, read_list(list, seen));
    OK(pg_list_cursor(list, cursor, 1, &error));
    CHECK_TEXT("", cursor);
    OK(pg_list_close(list, &error));
}

static void prefixes_are_as_they_are(void)
{
    static const char *const odd[] = {"*", "?", "[ab]", "\\", "\\*", "\xc3\xa9", "%", "{x}", "a b"};
    pg_limiter *limiter;
    pg_list *list;
    pg_limiter_info listed;
    pg_decision d;
    char full[80], asked[60];

    OK(pg_new_id(base, &error));
    use("plain", 1);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        snprintf(asked, sizeof asked, "%s-%s", base, odd[i]);
        snprintf(full, sizeof full, "%s-name", asked);
        OK(pg_limiter_window(here, full, 5, 60000000, &limiter, &error));
        OK(pg_acquire(limiter, NULL, &d, &error));
        OK(pg_limiter_close(limiter, &error));
        OK(pg_list_open_prefix(here, asked, &list, &error));
        OK(pg_list_next(list, &listed, &error));
        CHECK_TEXT(full, listed.name);
        OK(pg_list_next(list, &listed, &error));
        CHECK_TEXT("", listed.name);
        OK(pg_list_close(list, &error));
    }
}

static void wrong_cursors(void)
{
    static const char *const wrong[] = {"",     "x",     "0",     ".",   "0.",   ".0",   "-1.0",  "256.0", "999999.0",
                                        "0.-1", "0.1.2", "0.x",   " 0.0", "0.0 ", "\xff", "0.99999999999999999999999999"};
    pg_list *list = (pg_list *)here;
    pg_error e;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(PG_INVALID, pg_list_open_page(here, "", wrong[i], &list, &e));
        CHECK_TEXT("cursor", e.argument);
        CHECK(list == NULL);
    }
    CHECK_INT(PG_INVALID, pg_list_open_page(here, "\xff", NULL, &list, &e));
    CHECK_TEXT("prefix", e.argument);
    CHECK_INT(PG_INVALID, pg_list_open_prefix(here, "\xff", &list, &e));
    CHECK_TEXT("prefix", e.argument);
    CHECK(list == NULL);
}

int main(void)
{
    ON_EACH_STORE(names_begin_with_a_text);
    ON_EACH_STORE(pages_have_all_names);
    ON_EACH_STORE(a_page_of_no_names);
    ON_EACH_STORE(prefixes_are_as_they_are);
    ON_EACH_STORE(wrong_cursors);
    return check_report();
}
