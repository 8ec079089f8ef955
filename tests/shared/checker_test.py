"""The checker itself: sound histories pass, and each of them with one thing wrong does not."""

import json

import pytest
from checker import Grant, History, Refusal, Settlement, read, rules, violations

BUCKET = [("bucket", 3, 1000)]
WINDOW = [("window", 3, 1000)]
LEAKY = [("leaky", 2, 1000)]
THIRDS = [("leaky", 3, 1000)]
POINTS = [("points", 10, 1000)]
THROTTLE = [("throttle", 1000)]
COMPOSITE = [*WINDOW, *LEAKY, ("throttle", 100)]


def grants(*times, units=1):
    return [Grant(at, units) for at in times]


def refused(at, retry, units=1):
    return Refusal(at, units, retry)


def settled(permit, actual, after, before, answer="settled"):
    return Settlement(permit, actual, answer, after, before)


TEN = Grant(5000, 10, "a")

SOUND = {
    "bucket": (BUCKET, grants(5000, 5000, 5999, 6000, 6001, 6002), [refused(5999, 1)]),
    "bucket of costs": (BUCKET, [Grant(5000, 2), Grant(5001, 1)], [refused(5001, 999, 3)]),
    "window": (WINDOW, grants(5001, 5002, 5003, 6001, 6002), [refused(6000, 1)]),
    "window of costs": (WINDOW, [Grant(5001, 2), Grant(6001, 3)], [refused(6000, 1, 2)]),
    "leaky": (LEAKY, grants(5000, 5000, 5500, 6000), [refused(5499, 1)]),
    "leaky thirds": (THIRDS, grants(5000, 5000, 5000, 5334, 5667, 6000), [refused(5001, 333)]),
    "throttle": (THROTTLE, grants(5000, 6000, 7000, units=5), [refused(6001, 999)]),
    "composite": (COMPOSITE, grants(5000, 5100, 5600, 6100), [refused(5700, 800, 2)]),
    "refund": (POINTS, [TEN, Grant(5010, 5)], [refused(5009, 591, 6)], [settled("a", 4, 5, 5005)]),
    "refund at some time": (POINTS, [TEN, Grant(5010, 5)], [], [settled("a", 5, 5000, 5020)]),
    "debt": (POINTS, [TEN, Grant(5200, 1)], [refused(5100, 100)], [settled("a", 11, 5000, 5000)]),
    "window of refunds": (
        WINDOW,
        [Grant(5000, 3, "a"), Grant(5002, 2)],
        [],
        [settled("a", 1, 5000, 5001)],
    ),
    "settled again": (POINTS, [TEN], [], [settled("a", 5, 1, 2), settled("a", 6, 3, 4, "already")]),
}
WRONG = {
    "bucket: one too many": (BUCKET, grants(5000, 5001, 5002, 5999)),
    "bucket: a cost too many": (BUCKET, [Grant(5000, 2), Grant(5999, 2)]),
    "bucket: 1 us early": (BUCKET, [*grants(5000, 5001, 5002), Grant(5999, 1)]),
    "window: one too many": (WINDOW, grants(5001, 5002, 5003, 5004)),
    "window: 1 us early": (WINDOW, grants(5001, 5002, 5003, 6000)),
    "window: 1 us early at last": (WINDOW, grants(5001, 5002, 5003, 6001, 6002, 6003, 7000)),
    "leaky: one too many": (LEAKY, grants(5000, 5000, 5000)),
    "leaky: 1 us early": (LEAKY, grants(5000, 5000, 5499)),
    "leaky: 1 us early at last": (LEAKY, grants(5000, 5000, 5500, 6000, 6499)),
    "leaky: a third early": (THIRDS, grants(5000, 5000, 5000, 5333)),
    "throttle: 1 us early": (THROTTLE, grants(5000, 5999)),
    "throttle: two at once": (THROTTLE, grants(5000, 6000, 6000)),
    "composite: the window": (COMPOSITE, grants(5000, 5100, 5500, 5999)),
    "composite: the meter": (COMPOSITE, grants(5000, 5100, 5499)),
    "composite: the throttle": (COMPOSITE, grants(5000, 5099)),
    "refund: too early": (POINTS, [TEN, Grant(5010, 5)], [], [settled("a", 4, 5011, 5012)]),
    "refund: too much": (POINTS, [TEN, Grant(5010, 7)], [], [settled("a", 4, 5001, 5002)]),
    "debt: forgotten": (POINTS, [TEN, Grant(5199, 1)], [], [settled("a", 11, 5000, 5000)]),
    "never settled": (POINTS, [TEN, Grant(5010, 5)]),
    "settled twice": (POINTS, [TEN], [], [settled("a", 5, 1, 2), settled("a", 5, 3, 4)]),
    "settled by none": (POINTS, [TEN], [], [settled("a", 5, 1, 2, "already")]),
    "settled, but unknown": (POINTS, [TEN], [], [settled("a", 5, 1, 2, "unknown")]),
    "settled, but never granted": (POINTS, [TEN], [], [settled("b", 5, 1, 2)]),
    "one permit for two": (POINTS, [TEN, Grant(6000, 10, "a")]),
    "refused: an empty bucket": (BUCKET, grants(5000, 5001), [refused(5002, 998)]),
    "refused: an empty window": (WINDOW, grants(5001, 5002, 5003), [refused(6001, 1)]),
    "refused: an empty meter": (LEAKY, grants(5000, 5000), [refused(5500, 1)]),
    "refused: all": (LEAKY, [], [refused(5500, 1)]),
    "refused: the throttle": (THROTTLE, grants(5000), [refused(6000, 1)]),
    "refused: too short": (LEAKY, grants(5000, 5000), [refused(5001, 498)]),
    "refused: too long": (LEAKY, grants(5000, 5000), [refused(5001, 500)]),
}


@pytest.mark.parametrize("title", SOUND)
def test_sound(title):
    limits, *records = SOUND[title]
    assert list(violations(rules(limits), History(*records))) == []


@pytest.mark.parametrize("title", WRONG)
def test_wrong(title):
    limits, *records = WRONG[title]
    assert list(violations(rules(limits), History(*records)))


@pytest.mark.parametrize("title", SOUND)
def test_one_grant_more(title):
    limits, made, refusals, *settlements = SOUND[title]
    for refusal in refusals:
        one_more = [*made, Grant(refusal.at, refusal.units)]
        assert list(violations(rules(limits), History(one_more, [], *settlements)))


def test_read(tmp_path):
    lines = [
        {"limiter": "x", "is": "grant", "at": 1, "units": 2, "permit": "a"},
        {"limiter": "x", "is": "refusal", "at": 2, "units": 3, "retry": 4, "reason": "r"},
        {
            "limiter": "x",
            "is": "settlement",
            "permit": "a",
            "actual": 5,
            "answer": "settled",
            "after": 6,
            "before": 7,
        },
    ]
    path = tmp_path / "records"
    path.write_text("\n".join(map(json.dumps, lines)))
    expected = History([Grant(1, 2, "a")], [Refusal(2, 3, 4, "r")], [settled("a", 5, 6, 7)])
    assert read(path) == {"x": expected}
