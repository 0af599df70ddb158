"""Local facts about sessions. Nothing here has a history: a scan can rebuild every row but the secrets' digests.

`Session` holds only redacted text and may be shown. `SessionRoots`, `FileCursor` and `HomeKey` stay on this machine.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Session(models.Model):
    """One session of an agent, as its store told it at the last scan."""

    key = models.CharField(primary_key=True, max_length=300)
    """`<source>:<session id>`."""
    session_id = models.CharField(max_length=255, db_index=True)
    source = models.CharField(max_length=32)
    present = models.BooleanField(default=True)
    """False when the store has no such session any more; the row stays, nodes may be bound to it."""
    title = models.TextField(blank=True, default="")
    goal = models.TextField(blank=True, default="")
    project_name = models.TextField(blank=True, default="")
    project_key = models.CharField(max_length=32, blank=True, default="", db_index=True)
    provider = models.TextField(blank=True, default="")
    model = models.TextField(blank=True, default="")
    status = models.CharField(max_length=16, default="unknown")
    reason = models.TextField(blank=True, default="")
    result = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(null=True)
    last_activity_at = models.DateTimeField(null=True)
    """When the session itself last did something; what others write into its log does not count."""
    observed_at = models.DateTimeField()
    """When the scan looked that made this row what it is."""
    steps = models.PositiveIntegerField(default=0)
    goal_status = models.CharField(max_length=32, blank=True, default="")
    capabilities = models.JSONField(default=list)
    constraints = models.JSONField(default=list)
    problems = models.JSONField(default=list)
    """[{code, sentence}]: what could not be read."""
    reach = models.JSONField(default=dict)
    """{kind, wakesIdle, maxBytes, sentence, resumeCommand}."""
    details = models.JSONField(default=dict)
    """What it last did: filesChanged, lastEvents, lastTool, jobs, blocked, rejected, eventCount, ownEventCount."""
    life = models.JSONField(default=dict)
    """What the status was derived from."""
    stamp = models.TextField(blank=True, default="")
    """Of the files that this row was read from; "" makes the next scan read them again."""

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-last_activity_at", "key"], name="peers_session_newest"),
            # The source comes second: with it in front SQLite takes this index to look one session up, and reads all.
            models.Index(fields=["observed_at", "source"], name="peers_session_observed"),
        ]

    def __str__(self) -> str:
        return self.key


class SessionRoots(models.Model):
    """Where a session lives on this machine. Never shown, never in an event or an answer."""

    session = models.OneToOneField(Session, on_delete=models.CASCADE, primary_key=True, related_name="roots")
    project_root = models.TextField(blank=True, default="")
    command_cwd = models.TextField(blank=True, default="")
    session_dir = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return self.session_id


class FileCursor(models.Model):
    """How far a session's log was read (`adapters.base.Cursor`)."""

    session = models.OneToOneField(Session, on_delete=models.CASCADE, primary_key=True, related_name="cursor")
    path = models.TextField()
    inode = models.DecimalField(max_digits=20, decimal_places=0)  # 64 bits without a sign
    size = models.BigIntegerField()
    mtime_ns = models.BigIntegerField()
    offset = models.BigIntegerField()
    tail = models.CharField(max_length=16)

    def __str__(self) -> str:
        return f"{self.session_id} at {self.offset}"


class InboxMark(models.Model):
    """One proved step of an inbox item of ours, recorded once."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="marks")
    item_id = models.CharField(max_length=160)
    message_id = models.CharField(max_length=120, db_index=True)
    step = models.CharField(max_length=8)
    at = models.DateTimeField(null=True)
    """When the store says that it happened; for `removed` when the scan missed it."""

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["session", "item_id", "step"], name="peers_mark_once")
        ]

    def __str__(self) -> str:
        return f"{self.item_id} {self.step}"


class NodeSecret(models.Model):
    """The digest of a node's secret. The secret itself is in the node's own file only."""

    node_id = models.CharField(max_length=120, db_index=True)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.node_id}{' (revoked)' if self.revoked_at else ''}"


class HomeKey(models.Model):
    """This home's random key: project keys of two homes cannot be compared, and roots cannot be guessed from them."""

    name = models.CharField(primary_key=True, max_length=32)
    key = models.BinaryField()

    def __str__(self) -> str:
        return self.name


class ScanMark(models.Model):
    """When each store was last looked at, for processes that do not scan themselves."""

    source = models.CharField(primary_key=True, max_length=32)
    scanned_at = models.DateTimeField()
    seen = models.PositiveIntegerField(default=0)
    problems = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.source} at {self.scanned_at}"
