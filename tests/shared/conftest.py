import os
import uuid

import pytest
from fleet import LANGUAGES, Fleet
from servers import own_redis

SERVERS = ("redis", "cluster")


@pytest.fixture(scope="session")
def seed():
    return int(os.environ["PADDLEGATE_SEED"])


@pytest.fixture(scope="session")
def fleet(urls):
    """Give one worker process per language, which ends before the servers do."""
    with Fleet(LANGUAGES) as fleet:
        yield fleet


@pytest.fixture(scope="session")
def urls():
    variables = ("PADDLEGATE_TEST_URL", "PADDLEGATE_TEST_CLUSTER_URL")
    with own_redis():
        yield dict(zip(SERVERS, map(os.environ.__getitem__, variables), strict=True))


@pytest.fixture(scope="session", params=SERVERS)
def url(request, urls):
    return urls[request.param]


@pytest.fixture
def opened(fleet, url):
    """Give the workers, all on the same server."""
    for worker in fleet.values():
        worker.ask("open", url=url, timeout=5)
    return fleet


@pytest.fixture(scope="session")
def soak():
    """Tell whether the clock is judged, and the long forms of the tests are run: `make soak`."""
    return bool(os.environ.get("PADDLEGATE_SOAK"))


@pytest.fixture
def name():
    return uuid.uuid4().hex


# The closing line is the one that scripts/tally.sh counts in all languages.
@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.getplugin("terminalreporter").summary_stats = lambda: None


def pytest_unconfigure(config):
    stats = config.pluginmanager.getplugin("terminalreporter").stats
    passed, failed, errors = (len(stats.get(key, ())) for key in ("passed", "failed", "error"))
    print(f"{passed} passed, {failed + errors} failed")
