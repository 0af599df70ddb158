"""What was rendered once is kept in this process's memory, bounded, by everything that it depends on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from django.utils.safestring import SafeString


class Kept:
    """The texts that were asked for last, at most ``limit`` characters of them; for every thread.

    Two threads that miss at once both render; the texts are the same.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.characters = 0
        self._texts: OrderedDict[Hashable, SafeString] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._texts

    def get(self, key: Hashable, make: Callable[[], str]) -> SafeString:
        """The text for this key, made when it is not here."""
        with self._lock:
            found = self._texts.get(key)
            if found is not None:
                self._texts.move_to_end(key)
                return found
        return self._keep(key, SafeString(make()))

    def _keep(self, key: Hashable, text: SafeString) -> SafeString:
        with self._lock:
            self._drop(key)
            self._texts[key] = text
            self.characters += len(text)
            while self.characters > self.limit:
                self._drop(next(iter(self._texts)))
        return text

    def _drop(self, key: Hashable) -> None:
        self.characters -= len(self._texts.pop(key, ""))
