"""What every test shares: "replay equals state" after each test that wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def replay_equals_state(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test that wrote: every stream rebuilt from its log, one at a time, in another order, is the same."""
    marked = request.node.get_closest_marker("django_db") or {"db", "transactional_db"} & set(request.fixturenames)
    if not marked:
        yield
        return
    # Asked for here so that it is torn down after this fixture has looked.
    request.getfixturevalue("transactional_db" if "transactional_db" in request.fixturenames else "_django_db_helper")
    yield
    from django.db import transaction

    from boards import log

    with transaction.atomic():
        for stream in reversed(log.streams()):
            before = log.state(stream)
            log.rebuild(stream)
            assert log.state(stream) == before, f"the replay of {stream or 'the home stream'} differs"
        transaction.set_rollback(True)
    assert log.verify() == []
