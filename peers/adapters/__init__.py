"""One package per kind of agent session; `adapter(source)` is the only way in."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from peers.adapters.agintiflow import AgInTiFlow
from peers.adapters.base import Adapter


def _remembered(session_id: str, item_id: str) -> set[str]:
    """Steps that earlier scans recorded for an inbox item."""
    from peers.models import InboxMark  # models need loaded apps; adapters are used without Django in tests of the lock

    rows = InboxMark.objects.filter(session_id=f"{AgInTiFlow.source}:{session_id}", item_id=item_id)
    return set(rows.values_list("step", flat=True))


@lru_cache(maxsize=16)
def _agintiflow(home: Path) -> AgInTiFlow:
    return AgInTiFlow(home, remembered=_remembered)


_FACTORIES: dict[str, Callable[[], Adapter]] = {
    AgInTiFlow.source: lambda: _agintiflow(Path(settings.AGINTIFLOW_HOME)),
}


def sources() -> tuple[str, ...]:
    return tuple(_FACTORIES)


def adapter(source: str) -> Adapter:
    """The adapter for one kind of session. Raises LookupError with the nearest name for an unknown one."""
    factory = _FACTORIES.get(source)
    if factory is None:
        near = difflib.get_close_matches(source, _FACTORIES, n=1)
        hint = f" Did you mean {near[0]}?" if near else f" There is: {', '.join(_FACTORIES)}."
        raise LookupError(f"There is no adapter for sessions of {source!r}.{hint}")
    return factory()
