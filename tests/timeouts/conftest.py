def pytest_terminal_summary(terminalreporter):
    """Show what each client measured in each state."""
    reports = (report for kind in terminalreporter.stats.values() for report in kind)
    table = {
        (state, client): cell
        for report in reports
        for name, (state, client, cell) in getattr(report, "user_properties", ())
        if name == "cell"
    }
    states, clients = (sorted({key[i] for key in table}) for i in (0, 1))
    terminalreporter.write_line("median / worst milliseconds of a call with a time-out of 100 ms")
    for state in ["", *states]:
        cells = [table.get((state, client), "") if state else client for client in clients]
        terminalreporter.write_line(f"{state:26}" + "".join(f"{cell:>13}" for cell in cells))
