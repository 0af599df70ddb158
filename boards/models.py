"""The tables: the log (truth), receipts, projections (rebuildable), and the delivery worker's own bookkeeping."""

from __future__ import annotations

from django.db import models


class Row(models.Model):
    """Every table here: shown by its key."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.pk}"


class Event(Row):
    """One line of the log. ``stream`` is the board id, or empty for the home stream.

    Never updated, but for the payload that a person erased: ``data`` then has no texts any more, and
    ``data_digest`` still speaks of what stood there.
    """

    position = models.BigIntegerField(primary_key=True)
    event_id = models.CharField(max_length=64, unique=True)
    stream = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    type = models.CharField(max_length=64)
    version = models.IntegerField()
    at = models.CharField(max_length=24)
    actor = models.CharField(max_length=64)
    origin = models.TextField()
    data = models.TextField()
    data_digest = models.CharField(max_length=64)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["stream", "revision"], name="event_stream_revision"),)


class StoredReceipt(Row):
    """The result of an applied command, by who asked and with which key."""

    actor = models.CharField(max_length=64)
    key = models.CharField(max_length=200)
    content_digest = models.CharField(max_length=64)
    body = models.TextField()
    at = models.CharField(max_length=24)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["actor", "key"], name="receipt_actor_key"),)


class Node(Row):
    """Projection: a durable mailbox with a name."""

    node_id = models.CharField(max_length=64, primary_key=True)
    name = models.CharField(max_length=200)
    name_key = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=16)
    session_id = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=40, blank=True)
    role = models.TextField(blank=True)
    capabilities = models.JSONField(default=list)
    constraints = models.JSONField(default=list)
    trust = models.CharField(max_length=32)
    project_name = models.CharField(max_length=200, blank=True)
    project_key = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    revision = models.BigIntegerField()

    class Meta:
        indexes = (
            models.Index(fields=["source", "session_id"]),
            models.Index(fields=["session_id"], name="node_session"),
            models.Index(fields=["kind"], name="node_kind"),
        )


class Discovery(Row):
    """Projection: a session that was found once."""

    key = models.CharField(max_length=250, primary_key=True)
    source = models.CharField(max_length=40)
    session_id = models.CharField(max_length=200)
    title = models.TextField(blank=True)
    at = models.DateTimeField()


class Board(Row):
    """Projection: a board's head. ``head`` is the stream's last revision, ``revision`` the board's own."""

    board_id = models.CharField(max_length=64, primary_key=True)
    title = models.CharField(max_length=200)
    objective = models.TextField(blank=True)
    status = models.CharField(max_length=16)
    trust = models.CharField(max_length=32)
    link_id = models.CharField(max_length=64)
    created_by = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    final_status = models.CharField(max_length=32, blank=True)
    report = models.JSONField(null=True)
    project_name = models.CharField(max_length=200, blank=True)
    project_key = models.CharField(max_length=64, blank=True)
    adopted_from = models.CharField(max_length=16, blank=True)
    revision = models.BigIntegerField()
    head = models.BigIntegerField()


class Member(Row):
    """Projection: a node's role on a board."""

    key = models.CharField(max_length=140, primary_key=True)
    board_id = models.CharField(max_length=64, db_index=True)
    node_id = models.CharField(max_length=64, db_index=True)
    role = models.CharField(max_length=16)
    state = models.CharField(max_length=16)
    invited_by = models.CharField(max_length=64)
    revision = models.BigIntegerField()


class Contract(Row):
    """Projection: who owns what, and which proof closes it."""

    contract_id = models.CharField(max_length=64, primary_key=True)
    board_id = models.CharField(max_length=64, db_index=True)
    objective = models.TextField()
    owners = models.JSONField(default=dict)
    allowed_actions = models.JSONField(default=list)
    stop_conditions = models.JSONField(default=list)
    required_evidence = models.JSONField(default=list)
    mutating = models.BooleanField(default=False)
    status = models.CharField(max_length=16)
    outcome = models.CharField(max_length=32, blank=True)
    proposed_by = models.CharField(max_length=64)
    accepted_by = models.JSONField(default=list)
    rejected_by = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    text_revision = models.IntegerField(default=1)
    trust = models.CharField(max_length=32, blank=True)
    stated_sender = models.CharField(max_length=200, blank=True)
    resumes_as = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    revision = models.BigIntegerField()


class Task(Row):
    """Projection: one piece of a contract, its holder and its lease."""

    task_id = models.CharField(max_length=80, primary_key=True)
    board_id = models.CharField(max_length=64, db_index=True)
    contract_id = models.CharField(max_length=64, db_index=True)
    title = models.TextField()
    eligible = models.JSONField(default=list)
    status = models.CharField(max_length=16)
    holder = models.CharField(max_length=64, blank=True)
    fencing = models.IntegerField(default=0)
    lease_seconds = models.IntegerField(default=0)
    lease_until = models.DateTimeField(null=True, db_index=True)
    claimed_at = models.DateTimeField(null=True)
    last_holder = models.CharField(max_length=64, blank=True)
    offered_to = models.CharField(max_length=64, blank=True)
    offer_note = models.TextField(blank=True)
    revision = models.BigIntegerField()


class Message(Row):
    """Projection: a typed message; who got how far stands in its deliveries."""

    message_id = models.CharField(max_length=64, primary_key=True)
    board_id = models.CharField(max_length=64)
    sender = models.CharField(max_length=64)
    recipients = models.JSONField(default=list)
    message_type = models.CharField(max_length=32)
    priority = models.CharField(max_length=8)
    content = models.TextField()
    contract_id = models.CharField(max_length=64, null=True)
    task_id = models.CharField(max_length=80, null=True)
    reply_to = models.CharField(max_length=64, null=True)
    thread_id = models.CharField(max_length=64)
    refs = models.JSONField(default=list)
    requires_ack = models.BooleanField()
    expires_at = models.DateTimeField(null=True)
    chain_origin = models.CharField(max_length=64)
    hops = models.IntegerField()
    trust = models.CharField(max_length=32, blank=True)
    stated_sender = models.CharField(max_length=200, blank=True)
    stated_to = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    position = models.BigIntegerField()
    revision = models.BigIntegerField()

    class Meta:
        indexes = (
            models.Index(fields=["board_id", "position"]),
            models.Index(fields=["sender", "created_at"]),
            models.Index(fields=["board_id"], condition=models.Q(requires_ack=True), name="message_asking"),
            models.Index(fields=["expires_at"], condition=models.Q(expires_at__isnull=False), name="message_expiring"),
            models.Index(fields=["contract_id"], condition=models.Q(contract_id__isnull=False), name="message_about"),
        )


class Delivery(Row):
    """Projection: one recipient's copy of a message, and a time for each step.

    What its message says of it is kept here too, so that "unanswered requests between these two" is one index.
    """

    key = models.CharField(max_length=140, primary_key=True)
    message_id = models.CharField(max_length=64, db_index=True)
    board_id = models.CharField(max_length=64, db_index=True)
    node_id = models.CharField(max_length=64)
    sender = models.CharField(max_length=64, blank=True)
    message_type = models.CharField(max_length=32, blank=True)
    requires_ack = models.BooleanField(default=False)
    step = models.CharField(max_length=16)
    adapter = models.CharField(max_length=40, blank=True)
    answer = models.CharField(max_length=24, blank=True)
    unverified_answer = models.CharField(max_length=64, blank=True)
    note = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    queued_at = models.DateTimeField()
    handed_at = models.DateTimeField(null=True)
    applied_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["step"]),
            models.Index(fields=["node_id", "step"]),
            models.Index(fields=["sender", "node_id", "step"], name="delivery_between"),
        )


class Evidence(Row):
    """Projection: a bundle, its checks and its verdict."""

    evidence_id = models.CharField(max_length=64, primary_key=True)
    board_id = models.CharField(max_length=64, db_index=True)
    contract_id = models.CharField(max_length=64, db_index=True)
    requirement_id = models.CharField(max_length=64, null=True)
    node_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=40)
    stands_for = models.CharField(max_length=8)
    summary = models.TextField()
    events = models.JSONField(default=list)
    artifacts = models.JSONField(default=list)
    url = models.TextField(blank=True)
    verdict = models.CharField(max_length=16)
    checks = models.JSONField(default=list)
    judged_by = models.CharField(max_length=64, blank=True)
    judged_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True)
    trust = models.CharField(max_length=32, blank=True)
    stated_sender = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    revision = models.BigIntegerField()


class Blocker(Row):
    """Projection: what stands in the way."""

    blocker_id = models.CharField(max_length=64, primary_key=True)
    board_id = models.CharField(max_length=64, db_index=True)
    contract_id = models.CharField(max_length=64, null=True)
    task_id = models.CharField(max_length=80, null=True)
    stop_condition_id = models.CharField(max_length=64, null=True)
    cause = models.CharField(max_length=32)
    summary = models.TextField()
    evidence_ids = models.JSONField(default=list)
    status = models.CharField(max_length=16)
    opened_by = models.CharField(max_length=64)
    opened_at = models.DateTimeField()
    resolved_by = models.CharField(max_length=64, blank=True)
    resolved_at = models.DateTimeField(null=True)
    resolution = models.TextField(blank=True)
    revision = models.BigIntegerField()


class Summary(Row):
    """Projection: a node's newest summary on a board."""

    key = models.CharField(max_length=140, primary_key=True)
    board_id = models.CharField(max_length=64, db_index=True)
    node_id = models.CharField(max_length=64)
    session_id = models.CharField(max_length=200, blank=True)
    summary = models.JSONField(default=dict)
    text = models.TextField()
    created_by = models.CharField(max_length=64)
    created_at = models.DateTimeField()


class Outbox(Row):
    """The delivery worker's bookkeeping for one delivery; not a projection, and lost without harm.

    ``trying`` stays set from before the first byte reaches a store until the outcome is recorded, so that a
    withdrawal can never race a write that already happened.
    """

    key = models.CharField(max_length=140, primary_key=True)
    trying = models.BooleanField(default=False)
    owner = models.CharField(max_length=64, blank=True)
    until = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    next_at = models.DateTimeField(db_index=True)
    last_reason = models.TextField(blank=True)
    noted_at = models.DateTimeField(null=True, db_index=True)
    """When ``last_reason`` became what it is; whoever shows it looks only at what was noted since."""


class Position(Row):
    """How far a reader of something that only grows has come; not a projection, and lost without harm."""

    reader = models.CharField(max_length=40, primary_key=True)
    position = models.BigIntegerField()


class FolderCursor(Row):
    """The board folder's bookkeeping for one board (``board_id`` is empty for the home's own files); not a projection.

    Lost without harm: the files are read again from their beginning, and nothing is written or taken in twice.
    """

    board_id = models.CharField(max_length=120, primary_key=True)
    exported = models.BigIntegerField(default=0)
    files = models.JSONField(default=dict)
    stamps = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    taken = models.IntegerField(default=0)


HOME_PROJECTIONS: tuple[type[models.Model], ...] = (Node, Discovery)
BOARD_PROJECTIONS: tuple[type[models.Model], ...] = (
    Board,
    Member,
    Contract,
    Task,
    Message,
    Delivery,
    Evidence,
    Blocker,
    Summary,
)
