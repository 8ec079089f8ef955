# mypy: allow-untyped-calls
"""The list of limiters by prefix, and in pages."""

import asyncio

import pytest
from paddlegate import InvalidError, LimiterPage, Paddlegate, UnavailableError

# A server of its own: the test clocks of others end entries of the list.


def made(store, names):
    async def use():
        limiters = [store.window(name, 5, "hour") for name in names]
        await asyncio.gather(*(limiter.aallow() for limiter in limiters))

    asyncio.run(use())


def refused(argument, function, *arguments, **named):
    with pytest.raises(InvalidError) as caught:
        function(*arguments, **named)
    assert caught.value.argument == argument


def forms(store, run):
    """Return the synchronous and the asynchronous form of the pages and of the list."""
    return [
        (store.limiter_page, store.limiters),
        (
            lambda *given, **named: run(store.alimiter_page(*given, **named)),
            lambda *given, **named: run(store.alimiters(*given, **named)),
        ),
    ]


def test_pages(server, run):
    store = Paddlegate(server.url, timeout=20)
    shops = sorted(f"shop-{i}" for i in range(350))
    made(store, [*shops, "mail", "shop", "*", "[a]?", "ab"])
    for page_of, listed in forms(store, run):
        for prefix, expected in [
            ("shop-", shops),
            ("shop-1", [it for it in shops if it.startswith("shop-1")]),
            ("", sorted([*shops, "mail", "shop", "*", "[a]?", "ab"])),
            ("[a]", ["[a]?"]),
            ("*", ["*"]),
            ("nothing", []),
        ]:
            pages: list[LimiterPage] = []
            cursor = None
            while True:
                page = page_of(prefix, cursor)
                pages.append(page)
                cursor = page.cursor
                names = [it.name for it in page.limiters]
                assert names == sorted(names)
                if cursor is None:
                    break
                assert isinstance(cursor, str)
                assert len(names) >= 100
            assert sorted({it.name for page in pages for it in page.limiters}) == expected
            assert [it.name for it in listed(prefix)] == expected
            assert (len(pages) > 2) == (len(expected) > 300)
        assert listed(prefix="shop-") == listed("shop-")
        first = page_of(prefix="shop-", cursor=None)
        assert first == page_of("shop-")
        assert hash(first) == hash(page_of("shop-"))
        info = listed("mail")[0]
        assert page_of("mail").limiters == (info,)
        assert info.limits[0].amount == 5


def test_in_memory_there_is_one_page(run):
    store = Paddlegate("memory://")
    for name in [*map(str, range(400)), "shop"]:
        assert store.window(name, 5, "hour").allow()
    for page_of, listed in forms(store, run):
        page = page_of()
        assert (len(page.limiters), page.cursor) == (401, None)
        assert page.limiters == tuple(listed())
        assert [it.name for it in page_of("shop").limiters] == ["shop"]
        assert [it.name for it in listed("39")] == ["39", *(str(i) for i in range(390, 400))]
        refused("cursor", page_of, "", "0.0")


@pytest.mark.parametrize("bad", ["", "x", "1", "1.", ".1", "256.0", "-1.0", "1.2.3", "\ud800"])
def test_wrong_cursors(store, run, bad):
    for page_of, _ in forms(store, run):
        refused("cursor", page_of, "", bad)


@pytest.mark.parametrize("bad", [5, 1.0, True, b"1.0", ["1.0"]])
def test_wrong_types(store, run, bad):
    for page_of, listed in forms(store, run):
        refused("cursor", page_of, cursor=bad)
        refused("prefix", page_of, bad)
        refused("prefix", listed, bad)


def test_wrong_prefixes(store, run):
    for page_of, listed in forms(store, run):
        for bad in None, "\ud800":
            refused("prefix", page_of, bad)
            refused("prefix", listed, bad)


def test_a_loop_that_cannot_watch_sockets(server):
    class Blind(asyncio.SelectorEventLoop):
        add_reader = asyncio.AbstractEventLoop.add_reader

    store = Paddlegate(server.url, timeout=20)
    made(store, ["a", "b"])
    loop = Blind()
    page = loop.run_until_complete(store.alimiter_page("a"))
    assert ([it.name for it in page.limiters], page.cursor) == (["a"], None)
    assert [it.name for it in loop.run_until_complete(store.alimiters("b"))] == ["b"]
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_without_a_server(run):
    store = Paddlegate("redis://127.0.0.1:1", timeout=0.5)
    for page_of, listed in forms(store, run):
        for verb in page_of, listed:
            with pytest.raises(UnavailableError):
                verb()
