"""``manage.py verify_log``: checks every digest and every chain of the log."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from boards import log


class Command(BaseCommand):
    """Fails with one sentence for each fault."""

    help = "Verify the digests of every event and the chain of every stream."

    def handle(self, *args: Any, **options: Any) -> None:
        faults = log.verify()
        if faults:
            raise CommandError("\n".join(faults))
        self.stdout.write(f"The log is whole: {log.last_position():,} events in {len(log.streams())} streams.")
