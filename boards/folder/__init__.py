"""The board folder: a projection that AgInTiFlow can read, and a mailbox that it may write to.

The log is the truth. What stands in ``boards/<id>/`` can be deleted and is written again; what others write there is
taken in as untrusted, and never owns, proves or changes anything by itself.
"""

from __future__ import annotations

from boards.folder.abroad import ForeignBoard, adopt, foreign_board, foreign_boards, foreign_stamp
from boards.folder.moving import Imported, export_board, import_board
from boards.folder.passing import attempt_once, problems

__all__ = [
    "ForeignBoard",
    "Imported",
    "adopt",
    "attempt_once",
    "export_board",
    "foreign_board",
    "foreign_boards",
    "foreign_stamp",
    "import_board",
    "problems",
]
