import pytest

TABLE = pytest.StashKey[dict]()


def pytest_configure(config):
    config.stash[TABLE] = {}


@pytest.fixture(scope="session")
def table(request):
    """Take what a client measured in a state, by (state, client)."""
    return request.config.stash[TABLE]


def pytest_terminal_summary(terminalreporter, config):
    table = config.stash[TABLE]
    states, clients = (list(dict.fromkeys(key[i] for key in table)) for i in (0, 1))
    terminalreporter.write_line("median / worst milliseconds of a call with a time-out of 100 ms")
    for state in ["", *states]:
        cells = [table.get((state, client), "") if state else client for client in clients]
        terminalreporter.write_line(f"{state:26}" + "".join(f"{cell:>13}" for cell in cells))
