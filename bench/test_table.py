"""The table shows every row, says which aims are met, and notices what was not measured."""

import json

import pytest
import table
from aim import (
    at_least,
    at_least_per_second,
    at_most,
    at_most_bytes,
    at_most_microseconds,
    faster,
)

KEYS = [(*key, place) for _, _, key, places, _ in table.ROWS for place in places]


def lines(reference=2.0, ours=1.0, rounds=table.MIN_ROUNDS, unit="us", keys=KEYS):
    return [
        json.dumps(
            {
                "case": case,
                "variant": variant,
                "placement": place,
                "reference": reference,
                "ours": ours,
                "unit": unit,
            }
        )
        for case, variant, place in keys
        for _ in range(rounds)
    ]


def test_every_row_is_there_once():
    rows, missing = table.table(lines())
    assert len(rows) == len(KEYS) == len(set(KEYS))
    assert missing == []


@pytest.mark.parametrize(
    ("aim", "met", "missed"),
    [
        (at_most(0.7), (10, 7), (10, 7.01)),
        (at_least(3), (10, 30), (10, 29.9)),
        (faster(10), (100, 10), (100, 10.1)),
        (at_most_bytes(12), (20, 12), (20, 12.1)),
        (at_least_per_second(40), (90, 40), (30, 39.9)),
        (at_most_microseconds(1_000), (10, 1_000), (5_000, 1_000.1)),
    ],
)
def test_an_aim_is_met_up_to_its_bound(aim, met, missed):
    assert aim.is_met(*met)
    assert not aim.is_met(*missed)


def test_a_row_shows_medians_and_the_verdict():
    key = [("python", "one", "apart")]
    some = [*lines(10, 6, 3, keys=key), *lines(20, 16, 2, keys=key), *lines(10, 99, 2, keys=key)]
    rows, _ = table.table(some)
    assert rows[1] == (
        "Python, one caller",
        "apart",
        "10 us",
        "redis-py, hiredis",
        "16 us",
        "1.6 x",
        "at most 0.80 x",
        "NO",
    )


@pytest.mark.parametrize(
    ("rounds", "unit"), [(0, "us"), (table.MIN_ROUNDS - 1, "us"), (0, "bytes")]
)
def test_what_was_not_measured_or_too_rarely_is_named(rounds, unit):
    rows, missing = table.table(
        [*lines(keys=KEYS[1:]), *lines(rounds=rounds, unit=unit, keys=KEYS[:1])]
    )
    assert rows[0][-1] == "not measured"
    assert missing == ["Python, one caller, one core"]


def test_a_line_is_as_wide_as_its_columns():
    rows, _ = table.table(lines())
    assert len({len(line.split(" | ")) for line in table.markdown(rows).splitlines()}) == 1
    assert len(table.text(rows).splitlines()) == len(rows) + 2
