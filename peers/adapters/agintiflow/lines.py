"""Lines of a file of any size in constant memory. Only b"\\n" ends a line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

CHUNK = 1 << 20
# Longer lines are skipped and reported: the longest that AgInTiFlow writes is a tool's output of well under 1 MB.
MAX_LINE = 8 << 20


@dataclass(frozen=True, slots=True)
class Line:
    offset: int
    end: int
    body: bytes | None
    """Without the newline; None when longer than `MAX_LINE`."""
    whole: bool
    """Ended by a newline. Only the last line of a file may be not whole."""

    @property
    def blank(self) -> bool:
        return self.body is not None and not self.body.strip()


class Lines:
    """Iterate over the lines of `fd` from `start` on. After `budget` bytes it stops between two lines (`behind`)."""

    def __init__(self, fd: int, start: int = 0, *, budget: int | None = None, limit: int = MAX_LINE) -> None:
        self.behind = False
        self._fd, self._begin, self._position, self._limit = fd, start, start, limit
        self._stop = None if budget is None else start + budget
        self._pending: list[bytes] = []
        self._length = 0

    def __iter__(self) -> Iterator[Line]:
        while chunk := os.pread(self._fd, CHUNK, self._position):
            self._position += len(chunk)
            *ended, rest = chunk.split(b"\n")
            for piece in ended:
                self._add(piece)
                yield self._take(newline=1)
            self._add(rest)
            if self._spent():
                self.behind = self._position < os.fstat(self._fd).st_size
                if self.behind:
                    return
        if self._length:
            yield self._take(newline=0)

    def _spent(self) -> bool:
        """Never inside a line that is too long: it has to be passed in one go."""
        return self._stop is not None and self._position >= self._stop and self._length <= self._limit

    def _add(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > self._limit:
            self._pending.clear()
        elif piece:
            self._pending.append(piece)

    def _take(self, newline: int) -> Line:
        body = b"".join(self._pending) if self._length <= self._limit else None
        line = Line(self._begin, self._begin + self._length + newline, body, bool(newline))
        self._begin, self._length = line.end, 0
        self._pending.clear()
        return line
