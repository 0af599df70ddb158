"""What answers look like, as JSON Schema: made from the rows' own columns, so that a new column is never missing here.

Everything is closed (``additionalProperties: false``): the tests hold real answers against these forms, and an answer
with a field that is not documented fails there.
"""

from __future__ import annotations

from typing import Final

from boards.api.forms.answers import ANSWERS
from boards.api.forms.base import Json, also, but, ref
from boards.api.forms.parts import ARTIFACT, COUNTS, EVENT, INBOX_ITEM, MEMBER, MISSING, NEED, PEER, REACH
from boards.api.forms.rows import KINDS, ROWS

FORMS: Final[dict[str, Json]] = {
    **ROWS,
    "BoardHead": also(but(ROWS["Board"], "report"), counts=ref("Counts")),
    "Member": MEMBER,
    "Reach": REACH,
    "Missing": MISSING,
    "Counts": COUNTS,
    "Peer": PEER,
    "Need": NEED,
    "InboxItem": INBOX_ITEM,
    "Event": EVENT,
    "Artifact": ARTIFACT,
    **ANSWERS,
}
"""Every form by its name in the OpenAPI document."""

__all__ = ["ANSWERS", "EVENT", "FORMS", "KINDS", "ref"]
