"""The player of the demo: the story from its first to its last step, then life, in a thread of the server."""

from __future__ import annotations

import shlex
import sys
import threading
from pathlib import Path
from typing import Final

import structlog
from django.db import connections

from agentlink_site.demo.example import Example
from agentlink_site.demo.life import Life
from agentlink_site.demo.story import STEPS, StoppedError, Story, StoryError

logger = structlog.get_logger(__name__)

PAUSE: Final = 2.0
"""Seconds before each step, so that one can watch it."""
NEXT: Final = (
    "Now it is your turn: answer the question of light-patterns under “Needs you”, "
    "or send camera-recorder a message and watch it arrive."
)


def play(example: Example, home: Path, stop: threading.Event) -> None:
    """Plays every step, then keeps the agents alive until ``stop`` is set."""
    story = Story(example, stop)
    try:
        both = f"AGENTLINK_HOME={shlex.quote(str(home))} AGINTIFLOW_HOME={shlex.quote(str(home.parent))}"
        _tell(f"Commands find the demo with: export {both}")
        for step in STEPS:
            story.rest(PAUSE)
            step.act(story)
            _tell(step.sentence)
        _tell(NEXT)
    except StoppedError:
        return
    except StoryError as end:
        _tell(f"The story ends here: {end} The agents stay.")
    except Exception:
        logger.exception("demo_story_failed")
        _tell("The story ends here, because of a fault that is in the log above. The agents stay.")
    try:
        Life(story).go_on()
    except StoppedError:
        pass
    finally:
        connections.close_all()


def _tell(sentence: str) -> None:
    sys.stdout.write(f"  {sentence}\n")
    sys.stdout.flush()
