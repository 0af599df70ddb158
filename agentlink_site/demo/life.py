"""After the story: signs of life every few seconds, and an answer to whatever the visitor sends."""

from __future__ import annotations

from typing import Final

import structlog

from agentlink_site.demo.agents import Json, ScriptedAgent
from agentlink_site.demo.story import RUN_16, StoppedError, Story, StoryError
from boards import schemas as c
from boards.commands import execute
from boards.models import Delivery, Message

logger = structlog.get_logger(__name__)

BEAT: Final = 0.5
"""Seconds between two looks of the agents."""
THOUGHTS: Final = (
    "The preview is steady.",
    "No events are dropped.",
    "The clocks drift by less than a microsecond.",
    "I keep the camera warm.",
)
AGREES: Final = "This is a scripted agent: it agrees to everything and does nothing."


class Life:
    """The scripted agents, left alone with the visitor."""

    def __init__(self, story: Story) -> None:
        self.story, self.beats = story, 0
        self.agents = (story.recorder, story.light)
        self.question = story.question

    def go_on(self) -> None:
        """Until the server stops; raises :class:`StoppedError` then."""
        while True:
            self.story.rest(BEAT)
            self.beats += 1
            try:
                self._beat()
            except StoppedError:
                raise
            except StoryError as no:  # the visitor was quicker, or closed the board
                logger.info("demo_agent_refused", detail=str(no))
            except Exception:
                logger.exception("demo_agent_failed")

    def _beat(self) -> None:
        if self.beats % 8 == 0:
            self.story.recorder.think(THOUGHTS[self.beats // 8 % len(THOUGHTS)])
        if self.beats % 60 == 0:
            self.story.light.think("The light is steady.")
        for agent in self.agents:
            for item in agent.take_in():
                self.story.rest(3 * BEAT)
                self._reply(agent, item)
        if self.question:
            self._hear()

    def _reply(self, agent: ScriptedAgent, item: Json) -> None:
        """A scripted agent agrees to everything; only the contract that it asked about waits for the visitor."""
        message_id = item["agentlink"]["messageId"]
        if item["messageType"] == "contract_proposed" and item["contractId"] == RUN_16 and self.question:
            return
        if item["requiresAck"]:
            agent.answer(item["boardId"], message_id, "accepted", AGREES)
        if item["messageType"] == "contract_proposed":
            self.story.agree(agent, item["contractId"], item["boardId"])
        if item["messageType"] == "status_request":
            self._tell_status(agent, item, message_id)

    def _tell_status(self, agent: ScriptedAgent, item: Json, message_id: str) -> None:
        text = f"{agent.session_id} is a scripted agent of the demo: run 015 is done, and nothing stands in the way."
        reply = {"type": "status_response", "content": text, "replyTo": message_id}
        wish = {"boardId": item["boardId"], "to": [item["fromNodeId"]], **reply}
        execute(c.SendMessage.model_validate(wish), agent.actor)

    def _hear(self) -> None:
        """The visitor's answer to the open question decides about the second contract."""
        copy = Delivery.objects.filter(message_id=self.question, step="acknowledged").exclude(answer="read").first()
        if copy is None:
            return
        self.question, light, agreed = "", self.story.light, copy.answer == "accepted"
        for proposal in Delivery.objects.filter(node_id=light.session_id, message_id__in=self._proposals()):
            light.answer(proposal.board_id, proposal.message_id, "accepted" if agreed else "blocked")
        if agreed:
            self.story.agree(light, RUN_16)
            self.story.claims(self.story.recorder, RUN_16)
        else:
            self.story.refuse(light, RUN_16, copy.note or "The person did not agree to pattern B.")

    def _proposals(self) -> list[str]:
        rows = Message.objects.filter(message_type="contract_proposed", contract_id=RUN_16)
        return list(rows.values_list("message_id", flat=True))
