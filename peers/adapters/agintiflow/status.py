"""A session's status, derived: AgInTiFlow stores none (the index's `status` column says "saved" whatever happened).

The last of the five lifecycle events decides. After `created` or `resumed` a run is going on or its program was killed,
and nothing in the folder tells which: no pid, no lock, no heartbeat. It counts as running only with proof.
"""

from __future__ import annotations

from datetime import datetime

from peers.adapters.base import Json, Status, StatusWord
from peers.processes import was_alive_at
from peers.times import parse

# A run writes an event every few seconds; only a long tool call is silent. Two minutes is also the age at which
# AgInTiFlow itself takes an inbox lock for abandoned, whatever its pid.
RECENT_SECONDS = 120
# A clock that runs ahead is no proof of life: events from further in the future than this are not recent.
AHEAD_SECONDS = 60
# AgInTiFlow's own rule: a claim older than a day is not live.
CLAIM_SECONDS = 24 * 3600

STARTED = ("session.created", "session.resumed")
ENDED: dict[str, StatusWord] = {"session.finished": "idle", "session.stopped": "stopped", "session.failed": "failed"}
# For a session whose log is lost: its goal contract is the only durable status.
GOAL: dict[str, StatusWord] = {"completed": "idle", "paused": "stopped", "failed": "failed"}


def derive(life: Json, now: datetime) -> Status:
    """The status at `now` from the facts that `adapter.life` gathered."""
    if life.get("behind"):
        return Status("unknown", "its log is still being read")
    last = life.get("type", "")
    if last in STARTED or (not last and life.get("goalStatus") == "active"):
        return _started(life, now)
    if last in ENDED:
        return _ended(life, ENDED[last])
    word = GOAL.get(life.get("goalStatus", ""))
    if word:
        return Status(word, f"no start or end in its log; its goal is {life['goalStatus']}")
    return Status("unknown", "no start or end in its log")


def _ended(life: Json, word: StatusWord) -> Status:
    if word == "idle" and life.get("approval"):
        return Status("waiting", f"waits for an approval: {life['approval']}")
    return Status(word, life.get("reason", ""))


def _started(life: Json, now: datetime) -> Status:
    if claim_is_live(life.get("pid"), life.get("claimedAt"), now):
        return Status("running", "the process that reads its inbox is alive")
    if _is_recent(life.get("lastAt", ""), now):
        return Status("running", "it wrote to its log just now")
    return Status("stale", "it started and never ended; no process of it can be proved alive")


def claim_is_live(pid: object, claimed_at: object, now: datetime) -> bool:
    """True when the claim is less than a day old and the very process that made it is alive."""
    moment = parse(claimed_at)
    if not isinstance(pid, int) or isinstance(pid, bool) or moment is None:
        return False
    age = (now - moment).total_seconds()
    return -AHEAD_SECONDS <= age < CLAIM_SECONDS and was_alive_at(pid, moment.timestamp())


def _is_recent(last_at: str, now: datetime) -> bool:
    moment = parse(last_at)
    return moment is not None and -AHEAD_SECONDS <= (now - moment).total_seconds() < RECENT_SECONDS
