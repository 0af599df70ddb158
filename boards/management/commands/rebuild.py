"""``manage.py rebuild [--check]``: replays the log into the projections, or proves that doing so changes nothing."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from boards import log


class Command(BaseCommand):
    """Rebuilds every projection, one stream at a time."""

    help = "Rebuild the projections from the log; --check only compares and changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="compare and change nothing; exit 1 on a difference")

    def handle(self, *args: Any, **options: Any) -> None:
        with log.writer():
            different = [stream for stream in log.streams() if self._differs(stream)]
            if options["check"]:
                transaction.set_rollback(True)
        names = ", ".join(stream or "home stream" for stream in different) or "none"
        if options["check"] and different:
            raise CommandError(f"These streams differ from a replay of their log: {names}. Run 'rebuild' to mend them.")
        self.stdout.write(f"Replayed {len(log.streams())} streams; different before: {names}.")

    def _differs(self, stream: str) -> bool:
        before = log.state(stream)
        log.rebuild(stream)
        return before != log.state(stream)
