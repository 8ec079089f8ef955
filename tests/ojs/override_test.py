"""Limits that are changed over HTTP while the server runs."""

from urllib.parse import quote

import pytest
from conftest import CHECKED

POLICY = {"key": "api", "concurrency": 2, "rate": {"limit": 5, "period": "PT1M"}}
HOUR = "2026-11-21T13:00:00.000Z"


@pytest.fixture
def api(ojs):
    """A server with six jobs of one key."""
    for _ in range(6):
        ojs.enqueue(POLICY)
    return ojs


def numbers(shown):
    return shown["concurrency"]["limit"], shown["rate"]["limit"], shown["rate"]["period"]


@pytest.mark.parametrize("path", ["api", "api/override"])
def test_it_rules_at_once_and_says_so(api, path):
    shown = api.override(path, {"concurrency": 4})
    assert shown["override"] == {"concurrency": 4}
    assert numbers(shown) == (4, 5, "PT1M")
    assert shown == api.key("api")
    assert len(api.fetch(6)) == 4


def test_a_part_is_merged_and_null_removes_it(api):
    api.override("api", {"concurrency": 4, "expires_at": HOUR})
    shown = api.override("api", {"rate": {"limit": 3, "period": "PT1H"}})
    rate = {"limit": 3, "period": "PT1H"}
    assert shown["override"] == {"concurrency": 4, "rate": rate, "expires_at": HOUR}
    assert numbers(shown) == (4, 3, "PT1H")
    shown = api.override("api", {"concurrency": None})
    assert shown["override"] == {"rate": rate, "expires_at": HOUR}
    assert numbers(shown) == (2, 3, "PT1H")
    shown = api.override("api", {"limit": 9, "period": "5m", "expires_at": None})
    assert shown["override"] == {"rate": {"limit": 9, "period": "PT5M"}}
    shown = api.override("api", {"rate": None})
    assert "override" not in shown
    assert numbers(shown) == (2, 5, "PT1M")
    assert len(api.fetch(6)) == 2


def test_it_ends_by_itself(api):
    soon = "2026-11-21T12:00:10.000Z"
    assert api.override("api", {"concurrency": 0, "expires_at": soon})["override"] == {
        "concurrency": 0,
        "expires_at": soon,
    }
    assert api.override("api", {"expires_at": "2026-11-21T13:00:20+01:00"})["override"] == {
        "concurrency": 0,
        "expires_at": "2026-11-21T12:00:20.000Z",
    }
    api.clock.advance(19.999999)
    assert api.fetch(6) == []
    api.clock.advance(0.000001)
    assert "override" not in api.key("api")
    assert len(api.fetch(6)) == 2


@CHECKED
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"surprise": 1},
        {"concurrency": 3, "on_limit": "drop"},
        {"concurrency": 3, "max_per_second": 1},
        {"concurrency": 3, "key": "api"},
        {"concurrency": -1},
        {"concurrency": 1.5},
        {"concurrency": "3"},
        {"rate": {"limit": 0, "period": "PT1S"}},
        {"rate": {"limit": 1}},
        {"limit": 1},
        {"rate": {"limit": 1, "period": "PT1S"}, "limit": 1, "period": "1s"},
        {"throttle": {}},
        {"concurrency": 3, "expires_at": "2026-11-21T11:59:59Z"},
        {"concurrency": 3, "expires_at": "2026-11-21T12:00:00Z"},
        {"concurrency": 3, "expires_at": "tomorrow"},
        {"concurrency": 3, "expires_at": "2026-11-21T13:00:00"},
        {"concurrency": 3, "expires_at": 5},
        {"expires_at": HOUR},
    ],
    ids=repr,
)
def test_it_is_checked(api, body):
    before = api.key("api")
    assert api.override("api", body, 400)["error"]["code"] == "invalid_request"
    assert api.key("api") == before
    api.override("new", body, 400)
    assert api.ask("GET", "/rate-limits/new").status == 404


def test_a_bad_name_is_refused(api):
    for name in ".dot", "a%2Fb", "a%20b":
        assert api.override(name, {"concurrency": 1}, 400)["error"]["code"] == "invalid_request"


def test_an_unknown_key_comes_to_be_and_is_paused_before_use(ojs):
    shown = ojs.override("fresh", {"concurrency": 0})
    assert shown == {
        "key": "fresh",
        "concurrency": {"limit": 0, "active": 0, "available": 0},
        "waiting_count": 0,
        "override": {"concurrency": 0},
    }
    ojs.enqueue({"key": "fresh", "rate": {"limit": 5, "period": "PT1M"}})
    assert ojs.fetch() == []
    assert ojs.key("fresh")["override"] == {"concurrency": 0}
    assert ojs.delete("fresh/override") == 204
    assert "concurrency" not in ojs.key("fresh")
    assert len(ojs.fetch()) == 1
    assert ojs.key("fresh")["rate"]["current_count"] == 1


def test_a_pause_by_a_signal_holds_when_a_strategy_is_added(ojs):
    job, _ = ojs.enqueue({"key": "grown"}), ojs.enqueue({"key": "grown"})
    ojs.fetch()
    ojs.nack(job, {"type": "rate_limited", "retry_after": 30})
    ojs.override("grown", {"throttle": {"interval": "PT1S"}})
    ojs.enqueue({"key": "grown", "rate": {"limit": 5, "period": "PT1M"}})
    assert ojs.fetch(3) == []
    assert ojs.key("grown")["paused_until"] == "2026-11-21T12:00:30.000Z"
    ojs.clock.advance(30)
    assert len(ojs.fetch(3)) == 1
    assert ojs.delete("grown/override") == 204
    ojs.clock.advance(1)
    assert len(ojs.fetch(3)) == 1


def test_delete_is_idempotent(api):
    assert api.ask("DELETE", "/rate-limits/none/override").status == 404
    api.override("api", {"concurrency": 4})
    for _ in range(2):
        answer = api.ask("DELETE", "/rate-limits/api/override")
        assert (answer.status, answer.body) == (204, None)
        assert numbers(api.key("api")) == (2, 5, "PT1M")


def test_a_lower_limit_evicts_nobody(api):
    running = api.fetch(6)
    assert len(running) == 2
    shown = api.override("api", {"concurrency": 1})
    assert shown["concurrency"] == {"limit": 1, "active": 2, "available": 0}
    api.ack(running[0])
    assert api.fetch(6) == []
    api.ack(running[1])
    assert len(api.fetch(6)) == 1


def test_clearing_a_key_forgets_counts_and_is_refused_while_jobs_run(api):
    api.override("api", {"concurrency": 1})
    [job] = api.fetch(6)
    assert api.delete("api") == 409
    assert api.key("api")["rate"]["current_count"] == 1
    api.ack(job)
    assert api.delete("api") == 204
    assert api.delete("none") == 404
    shown = api.key("api")
    assert "override" not in shown
    assert shown["rate"]["current_count"] == 0
    assert len(api.fetch(6)) == 2


def test_the_list_has_pages(ojs):
    for letter in "bac":
        ojs.enqueue({"key": letter, "concurrency": 1})
    answer = ojs.get("/rate-limits")
    assert [it["key"] for it in answer["items"]] == ["a", "b", "c"]
    assert answer["rate_limits"] == answer["items"]
    pages = {"total": 3, "page": 1, "per_page": 50, "has_more": False, "next_cursor": None}
    assert answer["pagination"] == pages
    answer = ojs.get("/rate-limits?page=2&per_page=2")
    assert answer["items"] == [ojs.key("c")]
    first = ojs.get("/rate-limits?limit=2")
    assert [it["key"] for it in first["items"]] == ["a", "b"]
    assert first["pagination"]["has_more"]
    cursor = first["pagination"]["next_cursor"]
    assert ojs.get(f"/rate-limits?limit=2&cursor={cursor}")["items"] == [ojs.key("c")]
    assert ojs.ask("GET", "/rate-limits?page=0").status == 400
    # The limiters of queues have another order than their keys.
    ojs.enqueue({"key": "stripe", "concurrency": 1})
    assert ojs.ask("PUT", "/admin/queues/mail/rate-limit", {"concurrency": 1}).status == 200
    keys, cursor = [], ""
    while cursor is not None:
        page = ojs.get(f"/rate-limits?limit=1&cursor={quote(cursor, safe='')}")
        keys += [it["key"] for it in page["items"]]
        cursor = page["pagination"]["next_cursor"]
    assert keys == ["a", "b", "c", "queue/mail", "stripe"]


def test_headers_tell_what_is_left(api):
    headers = api.ask("GET", "/rate-limits/api").headers
    assert headers["X-RateLimit-Limit"] == "2"
    assert headers["X-RateLimit-Remaining"] == "2"
    api.fetch(2)
    headers = api.ask("GET", "/rate-limits/api").headers
    assert headers["X-RateLimit-Remaining"] == "0"
    noon = api.clock.now_us // 1_000_000
    assert headers["X-RateLimit-Reset"] == str(noon + 30)
    assert api.override("api", {"concurrency": 9})
    assert api.ask("GET", "/rate-limits/api").headers["X-RateLimit-Remaining"] == "3"
