"""Writes the shared vectors as lines for vectors.c: fields between tabs, texts percent-encoded."""

import json
import sys
from functools import partial
from pathlib import Path
from urllib.parse import quote

NUMBERS = {"$2^53": 2**53}
ORDERS = ["pause", "block", "resume", "mode", "override", "overrides", "restore", "controls"]


def text(value):
    return quote(value, safe="")


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def number(value):
    return NUMBERS.get(value, value)


def some(value):
    # Nothing means "not given", and "=" stands before a text, which may be empty.
    return "" if value is None else f"={text(value)}"


def label(step):
    return some(step.get("label"))


def limit_lines(limits):
    for limit in limits:
        numbers = (number(limit.get(field, 0)) for field in ("amount", "interval_us", "offset_us"))
        names = (some(limit.get(field)) for field in ("per", "timezone", "starts", "refund"))
        yield "limit", text(limit["kind"]), *numbers, label(limit), *names


def pairs(value):
    for key, units in value.items():
        if isinstance(units, dict):
            yield from (f"{text(key)}/{text(label)}:{number(n)}" for label, n in units.items())
        else:
            yield f"{text(key)}:{number(units)}"


def cost(value):
    # "=" stands before a cost by label, which may be empty.
    return f"={','.join(pairs(value))}" if isinstance(value, dict) else number(value)


def request_fields(step):
    # 0 means "not given" in C, and -1 a cost of 0.
    for field in ("cost", "estimate"):
        value = cost(step.get(field))
        yield {None: 0, 0: -1}.get(value, value)
    # Here 1 stands for 0, which no call in C can ask for; both are too short.
    yield {None: 0, 0: 1}.get(step.get("settle_within_us"), step.get("settle_within_us"))


def order_fields(step):
    # -1 means "not given" in C.
    match step["do"]:
        case "pause" | "block":
            fields = "for_us", "until_us"
        case "override":
            fields = "amount", "interval_us", "expires_in_us", "expires_at_us"
        case "overrides" | "mode":
            fields = "expires_in_us", "expires_at_us"
        case _:
            fields = ()
    for field in fields:
        value = step.get(field)
        yield -1 if value is None else value


def expected(step):
    """The answer, or "!" and the argument of the error."""
    return f"!{step['error']}" if "error" in step else compact(step["expect"])


def with_names(step, names):
    """The step with a "." before the names of limiters in its costs, for their real names."""
    costs = {field: step[field] for field in ("cost", "estimate", "actual") if field in step}
    for field, value in costs.items():
        if isinstance(value, dict):
            costs[field] = {f".{key}" if key in names else key: of for key, of in value.items()}
    return step | costs


def members(step, of):
    # "*" stands before the mode of a limiter, "=" before its group, and "@" before its key.
    for name in of:
        marks = (("*", "modes"), ("=", "groups"), ("@", "keys"))
        given = ((mark, step.get(field, {}).get(name)) for mark, field in marks)
        yield text(name) + "".join(f"{mark}{text(of)}" for mark, of in given if of is not None)


def of_line(step, names):
    of = step.get("of", names)
    how, of = ("one", [of]) if isinstance(of, str) else ("all", of)
    return "of", how, *members(step, of)


def together_line(step):
    return "together", step["error"], *members(step, step["of"])


def limiter_lines(case):
    if "limits" in case:
        yield from limit_lines(case["limits"])
        yield ("make",)
    for limiter in case.get("limiters", []):
        yield from limit_lines(limiter["limits"])
        options = limiter.get("keyed", False), limiter.get("statistics", True)
        rule = limiter.get("block_after", {})
        rule = [rule.get(field, 0) for field in ("refusals", "within_us", "for_us")]
        mode = some(limiter.get("mode"))
        yield "member", text(limiter["name"]), *map(int, options), mode, *rule


def case_lines(file, index, case):
    name = case.get("name", str(index))
    names = [limiter["name"] for limiter in case.get("limiters", [])]
    yield "case", text(f"{file}: {case['title']}"), text(f"{file}-{name}")
    yield from limiter_lines(case)
    for given in case["steps"]:
        step = with_names(given, names)
        if "at_us" in step:
            yield "at", step["at_us"]
        if names and step["do"] != "together":
            yield of_line(step, names)
        match step["do"]:
            case "acquire" | "peek" as verb:
                expect = expected(step)
                permit = text(step.get("permit", ""))
                asked = step.get("times", 1), f"={permit}", expect, int("describe" in step)
                yield verb, *request_fields(step), *asked
            case "headers":
                lines = (f"{name}: {value}" for name, value in step.get("expect", {}).items())
                expect = expected(step) if "error" in step else some("\n".join(lines))
                yield "headers", f"={text(step['fields'])}", expect
            case "caller_key":
                asked = text(step["address"]), some(step.get("forwarded_for"))
                proxies = text("\n".join(step.get("trusted_proxies", [])))
                count = len(step.get("trusted_proxies", []))
                expect = expected(step) if "error" in step else some(step["expect"])
                yield "caller-key", *asked, count, proxies, step.get("ipv6_prefix", -1), expect
            case "plain_key":
                given = step["hex"] if "hex" in step else step["text"].encode().hex()
                yield "plain-key", f"={given}", some(step["expect"])
            case "enter":
                expect = expected(step)
                waits = "patience_us" in step
                wait = step["patience_us"] if waits else "", step.get("grace_us", 0)
                place = {"kept": -1}.get(step.get("place", 0), step.get("place", 0))
                permit = text(step.get("permit", ""))
                who = text(step["id"])
                # 0 means "not given" in C, so that -1 stands for a weight of 0; both are too small.
                weight = {None: 0, 0: -1}.get(step.get("weight"), step.get("weight"))
                order = step.get("priority", 0), some(step.get("share")), weight
                call = who, *wait, place, f"={permit}", expect
                yield "enter", *request_fields(step), *call, *order
            case "correct":
                permit = text(step["permit"])
                answer = step["expect"] if "expect" in step else expected(step)
                yield "correct", permit, cost(step["actual"]), answer
            case "extend":
                answer = step.get("expect")
                answer = answer if isinstance(answer, str) else expected(step)
                kept = text(step.get("as", step["permit"]))
                yield "extend", text(step["permit"]), cost(step["units"]), f"={kept}", answer
            case "debit":
                yield "debit", cost(step["cost"]), expected(step)
            case "refund":
                yield "refund", cost(step["units"]), expected(step)
            case "release" | "renew" as verb:
                expect = -1 if step["expect"] is None else step["expect"]
                yield verb, text(step["permit"]), expect
            case "cancel":
                gave_up = int(step.get("gave_up", False))
                yield "cancel", text(step["id"]), gave_up, step["expect"]
            case "inspect" | "queue" as verb:
                page = step.get("offset", 0), step.get("count", 100)
                yield verb, *page, expected(step)
            case "ready":
                yield "ready", step.get("count", 100), expected(step)
            case "statistics" | "history":
                yield step["do"], expected(step)
            case verb if verb in ORDERS:
                yield from limit_lines(step.get("limits", []))
                expect = compact(step["expect"]) if "expect" in step else ""
                of = some(step.get("mode")) if verb == "mode" else label(step)
                yield verb, expect, step.get("error", ""), of, *order_fields(step)
            case "sync":
                numbers = ("remaining", "amount", "interval_us", "reset_in_us", "reset_at_us")
                given = (step.get(field, -1) for field in numbers)
                permit = text(step.get("permit", ""))
                expect = compact(step["expect"])
                yield "sync", expect, permit, label(step), *given
            case "learn":
                headers = text("\n".join(word for pair in step.get("headers", []) for word in pair))
                answer = step.get("status", -1), headers, text(step.get("body", ""))
                asked = text(step.get("permit", "")), step.get("provider", "auto")
                bounds = step.get("default_pause_us", -1), step.get("max_learned", -1)
                unread = text("\n".join(step.get("unread", [])))
                chunks = step.get("chunk_bytes", 0), unread
                yield "learn", compact(step["expect"]), *asked, *answer, *bounds, *chunks
            case "together":
                yield together_line(step)
            case "reset":
                yield ("reset",)
            case "limits":
                yield from limit_lines(step["limits"])
                yield ("make",)
            case verb:
                raise ValueError(verb)
    yield ("end",)


def error_lines(index, case):
    yield "case", text(f"errors: {case['title']}"), text(f"errors-{index}")
    yield from limit_lines(case["limits"])
    if "name" in case:
        yield "name", text(case["name"])
    expect = case["expect"]
    wanted = expect["code"], expect["kind"], expect["argument"]
    match case["do"]:
        case "limiter":
            yield "bad-make", *wanted
        case "acquire" | "peek" as verb:
            yield ("make",)
            yield f"bad-{verb}", *wanted, *request_fields(case)
        case "correct":
            yield ("make",)
            permit = text(case.get("permit", "p"))
            yield "bad-correct", *wanted, permit, cost(case["actual"])
        case "debit":
            yield ("make",)
            yield "bad-debit", *wanted, cost(case["cost"])
        case "clock":
            yield ("make",)
            yield "bad-clock", *wanted, case["now_us"]
        case verb:
            raise ValueError(verb)
    yield ("end",)


def waiter_fields(step, ticket):
    match step["do"]:
        case "next":
            expect, channel = step["expect"], step["channel"]
            used = expect.get("channel", channel)
            return step["now_us"], channel, expect["max_wait_us"], expect["ticket"] or 0, used
        case "decision":
            status = ("refused", "granted", "queued").index(step["status"])
            given = (step[field] for field in ("retry_after_us", "ticket"))
            given = (-1 if value is None else value for value in given)
            flags = int(step["degraded"]), int(step["expect"]), int(ticket)
            return step["now_us"], status, *given, *flags
        case "error":
            return (int(step["may_have_counted"]),)
        case "wakeup":
            return (step["at_us"],)
        case "retry_at":
            return step["channel"], step["expect"]
        case "must_cancel":
            return int(step["delivered"]), int(step["expect"])


def waiter_lines(index, case):
    ticket = False
    yield "case", text(f"waiting: {case['title']}"), text(f"waiting-{index}")
    if "patience_us" in case:
        yield "waiter-init_job", case["claim_timeout_us"], case["patience_us"], case["now_us"]
    else:
        yield "waiter-init", int(case["owns_id"]), case["max_wait_us"], case["now_us"]
    for step in case["steps"]:
        ticket = ticket or step.get("status") == "queued"
        yield f"waiter-{step['do']}", *waiter_fields(step, ticket)
    yield ("end",)


def pause_lines(pauses):
    yield "case", text("waiting: pauses between connections"), "pauses"
    for failures, pause in enumerate(pauses):
        yield "waiter-pause", failures, pause
    yield ("end",)


def document_lines(document):
    if document["name"] == "waiting":
        yield from pause_lines(document["reconnect_pauses_us"])
    lines = {"errors": error_lines, "waiting": waiter_lines}.get(
        document["name"], partial(case_lines, document["name"])
    )
    for index, case in enumerate(document["cases"] + document.get("jobs", [])):
        if "c" not in case.get("not_in", []):
            yield from lines(index, case)


def main():
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        for fields in document_lines(json.loads(path.read_text(encoding="utf-8"))):
            print(*fields, sep="\t")


main()
