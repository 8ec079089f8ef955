"""Many callers of all languages that want few places."""

import pytest
from holders import Holder, build, most_at_once

LANGUAGES = ("python", "node", "ruby", "go", "kotlin")


@pytest.mark.timeout(300)
def test_twenty_callers_a_thousand_rounds_and_five_places(urls, name, soak):
    """An error of any of them ends its process, which `finish` finds."""
    build()
    rounds = 1000 if soak else 150
    holders = [
        Holder(language, urls["redis"], name, 5, 30_000, 0, rounds, 4) for language in LANGUAGES
    ]
    for holder in holders:
        holder.finish(240)
    leases = [lease for holder in holders for lease in holder.leases]
    assert len(leases) == 20 * rounds
    assert 1 < most_at_once(leases) <= 5
