"""The story of the demo: two sessions record one run together, through the commands that everybody uses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

from agentlink_site.demo.agents import Json, ScriptedAgent
from agentlink_site.demo.example import Example
from boards import proof, telling
from boards import schemas as c
from boards.commands import execute
from boards.models import Contract
from boards.people import human_node_id
from boards.schemas import Actor, Command, Receipt
from peers import queries as peers

BOARD: Final = "event-camera-light"
RUN_15: Final = "run-015"
RUN_16: Final = "run-016"
RECORDING: Final = "recordings/run-015.csv"
PATTERN: Final = "firmware/pattern_a.ino"
RECORDER, LIGHT, NOTES = "camera-recorder", "light-patterns", "lab-notes"
PATIENCE: Final = 20.0
"""Seconds for something that must happen by itself."""

QUESTION: Final = (
    "Run 015 is recorded and proved. May I put pattern B on the light for run 016? "
    "It is brighter, so I want a person to agree. (Answer with “accepted” or “blocked”; I act on it.)"
)


class StoryError(Exception):
    """The story cannot go on; the text says why."""


class StoppedError(StoryError):
    """The server stops."""


class Story:
    """Who takes part, and what each of them does."""

    def __init__(self, example: Example, stop: threading.Event) -> None:
        self.stop = stop
        self.recorder = ScriptedAgent(RECORDER, "event-camera", example)
        self.light = ScriptedAgent(LIGHT, "light-sync", example)
        self.fencing: dict[str, int] = {}
        self.blocker = self.question = ""

    # --- means -----------------------------------------------------------------------------------------------------

    def rest(self, seconds: float) -> None:
        """Waits; raises :class:`StoppedError` when the server stops meanwhile."""
        if self.stop.wait(seconds):
            raise StoppedError("the server stops.")

    def until(self, ready: Callable[[], object], what: str) -> None:
        """Waits for something that the server does by itself."""
        for _ in range(int(PATIENCE / 0.1)):
            if ready():
                return
            self.rest(0.1)
        raise StoryError(f"{what} did not happen within {PATIENCE:.0f} s.")

    def person(self) -> Actor:
        """The visitor, as if they had typed the command."""
        return Actor(human_node_id(), "cli")

    def give(self, command: Command, actor: Actor) -> Receipt:
        """One command that the story needs to be accepted."""
        return needed(execute(command, actor))

    def takes_in(self, agent: ScriptedAgent) -> list[Json]:
        """The agent reads its inbox, as soon as something is there."""
        self.until(agent.waiting, f"A message for {agent.session_id}")
        return agent.take_in()

    # --- the board and the first contract --------------------------------------------------------------------------

    def makes_board(self) -> None:
        self.until(lambda: {RECORDER, LIGHT, NOTES} <= set(peers.session_ids()), "Finding the sessions")
        members: dict[str, str] = {RECORDER: "worker", LIGHT: "worker", NOTES: "observer"}
        wish = {
            "boardId": BOARD,
            "title": "Event camera and light in step",
            "objective": "One recording in which the camera's events and the light's pulses share a clock.",
            "members": members,
        }
        self.give(c.CreateBoard.model_validate(wish), self.person())

    def proposes(self) -> None:
        wish = {
            "boardId": BOARD,
            "contractId": RUN_15,
            "objective": "Record run 015 while the light plays pattern A",
            "owners": {RECORDER: ["recorder/", "recordings/"], LIGHT: ["firmware/"]},
            "allowedActions": ["write below the folders that one owns", "dry runs"],
            "stopConditions": ["The light flickers in the recording"],
            "requiredEvidence": ["The recording of run 015", "The pattern that the light played"],
            "tasks": [
                {"text": "Record run 015", "eligible": [RECORDER]},
                {"text": "Play pattern A", "eligible": [LIGHT]},
            ],
            "mutating": True,
        }
        self.give(c.ProposeContract.model_validate(wish), self.person())

    def recorder_accepts(self) -> None:
        self._accepts(self.recorder)

    def light_is_resumed(self) -> None:
        """A finished session reads nothing: its message waits in the inbox until somebody resumes it."""
        self.light.resume()
        self._accepts(self.light)

    def _accepts(self, agent: ScriptedAgent) -> None:
        for item in self.takes_in(agent):
            agent.answer(BOARD, item["agentlink"]["messageId"], "accepted", "I agree to this text.")
        self.agree(agent, RUN_15)

    def agree(self, agent: ScriptedAgent, contract_id: str, board_id: str = BOARD) -> None:
        """The agent accepts the present text of a contract."""
        text = Contract.objects.get(contract_id=contract_id).text_revision
        wish = c.AcceptContract(board_id=board_id, contract_id=contract_id, text_revision=text)
        self.give(wish, agent.actor)

    def refuse(self, agent: ScriptedAgent, contract_id: str, reason: str) -> None:
        """The agent rejects a contract."""
        self.give(c.RejectContract(board_id=BOARD, contract_id=contract_id, reason=reason), agent.actor)

    # --- work and proof --------------------------------------------------------------------------------------------

    def recorder_claims(self) -> None:
        self.claims(self.recorder, f"{RUN_15}.1")

    def light_claims(self) -> None:
        self.claims(self.light, f"{RUN_15}.2")

    def claims(self, agent: ScriptedAgent, task_id: str) -> None:
        """The agent takes a task and keeps the fencing number."""
        receipt = self.give(c.ClaimTask(board_id=BOARD, task_id=task_id), agent.actor)
        self.fencing[task_id] = int(receipt.extra["fencing"])

    def light_proves(self) -> None:
        """It changes its file and attaches what its own log says; the checks read file and log themselves."""
        self.light.think("Pattern A must announce itself with one long pulse.")
        before = (self.light.project / PATTERN).read_text()
        self.light.write(PATTERN, before.replace("void loop() {", "void loop() {\n  announce('A');"))
        self._attach(self.light, PATTERN, "proof-2", "Pattern A, which announces itself")

    def _attach(self, agent: ScriptedAgent, path: str, requirement_id: str, summary: str) -> None:
        shown = [item for item in proof.artifacts(agent.session_id).items if item.source == "workspace-file"]
        artifact = next(item for item in shown if item.path == path)
        where = {"board_id": BOARD, "contract_id": RUN_15, "requirement_id": requirement_id}
        what = {"session_id": agent.session_id, "artifact_id": artifact.id, "summary": summary}
        needed(proof.attach_artifact(agent.actor, **where, **what))

    def recorder_claims_too_much(self) -> None:
        """What it states does not fit the file, and the checks say so."""
        self.recorder.write(RECORDING, "t_us,channel,value\n1000,camera,17\n1250,light,255\n")
        file = {"root": "project", "path": RECORDING, "sessionId": RECORDER, "sizeBytes": 48_000, "sha256": "0" * 64}
        wish = {
            "boardId": BOARD,
            "contractId": RUN_15,
            "requirementId": "proof-1",
            "summary": "Run 015 is complete: 48,000 bytes",
            "artifacts": [file],
        }
        receipt = self.give(c.AttachEvidence.model_validate(wish), self.recorder.actor)
        needed(proof.recheck(BOARD, str(receipt.extra["evidenceId"])))

    # --- a blocker -------------------------------------------------------------------------------------------------

    def recorder_is_blocked(self) -> None:
        """A failed command is what proves a blocker."""
        ended = self.recorder.command("check run-015", "", 1, "flicker: 490 Hz beats with the camera\n")
        event = {"sessionId": RECORDER, "eventType": "tool.completed", "timestamp": ended}
        about = {"boardId": BOARD, "contractId": RUN_15}
        wish = {"evidenceKind": "command", "standsFor": "blocker", "summary": "The check of run 015 fails: flicker"}
        bundle = self.give(c.AttachEvidence.model_validate({**about, **wish, "events": [event]}), self.recorder.actor)
        evidence_id = str(bundle.extra["evidenceId"])
        needed(proof.recheck(BOARD, evidence_id))
        blocker = {"summary": "The light flickers: 490 Hz beats with the camera", "stopConditionId": "stop-1"}
        wish_ = c.OpenBlocker.model_validate({**about, **blocker, "evidenceIds": [evidence_id]})
        self.blocker = str(self.give(wish_, self.recorder.actor).extra["blockerId"])

    def recorder_asks(self) -> None:
        text = (
            "The light beats with the camera. Please raise PWM_HZ in firmware/pwm.h to 980 and tell me when it is done."
        )
        wish = {"boardId": BOARD, "to": [LIGHT], "content": text, "priority": "asap", "contractId": RUN_15}
        self.give(c.SendMessage.model_validate(wish), self.recorder.actor)

    def light_answers(self) -> None:
        self.until(lambda: any(_asks(item) for item in self.light.waiting()), f"A message for {LIGHT}")
        for item in filter(_asks, self.light.take_in()):
            message_id = item["agentlink"]["messageId"]
            self.light.answer(BOARD, message_id, "accepted", "980 Hz, at once.")
            self.light.write("firmware/pwm.h", "// One place for the light's base frequency.\n#define PWM_HZ 980\n")
            reply = {"type": "task_update", "content": "PWM_HZ is 980 now.", "replyTo": message_id}
            self.give(c.SendMessage.model_validate({"boardId": BOARD, "to": [RECORDER], **reply}), self.light.actor)

    def person_resolves(self) -> None:
        wish = c.ResolveBlocker(board_id=BOARD, blocker_id=self.blocker, resolution="The light runs at 980 Hz now.")
        self.give(wish, self.person())

    def recorder_proves(self) -> None:
        rows = (f"{1000 + n * 250},{'light' if n % 4 == 0 else 'camera'},{n * 53 % 256}" for n in range(64))
        self.recorder.take_in()
        self.recorder.write(RECORDING, "\n".join(["t_us,channel,value", *rows]) + "\n")
        self.recorder.command("check run-015", "no flicker, 64 samples, one clock\n")
        self._attach(self.recorder, RECORDING, "proof-1", "Run 015: 64 samples, camera and light on one clock")

    # --- the end of the first, the beginning of the second ---------------------------------------------------------

    def both_complete(self) -> None:
        for agent, task_id in ((self.recorder, f"{RUN_15}.1"), (self.light, f"{RUN_15}.2")):
            wish = c.CompleteTask(board_id=BOARD, task_id=task_id, fencing=self.fencing[task_id])
            self.give(wish, agent.actor)

    def person_asks_around(self) -> None:
        """A summary for the peers, and a question to a session that waits for something else."""
        needed(telling.summarize(self.person(), board_id=BOARD, node=RECORDER))
        needed(telling.request_status(self.person(), board_id=BOARD, node=NOTES))

    def recorder_goes_on(self) -> None:
        wish = {
            "boardId": BOARD,
            "contractId": RUN_16,
            "objective": "Record run 016 while the light plays pattern B",
            "owners": {RECORDER: ["recordings/run-016.csv"], LIGHT: ["firmware/pattern_b.ino"]},
            "requiredEvidence": ["The recording of run 016"],
            "mutating": True,
        }
        self.give(c.ProposeContract.model_validate(wish), self.recorder.actor)

    def light_asks_person(self) -> None:
        person = human_node_id()
        wish = {"boardId": BOARD, "to": [person], "content": QUESTION}
        receipt = self.give(c.SendMessage.model_validate(wish), self.light.actor)
        self.question = str(receipt.extra["messageId"])


def _asks(item: Json) -> bool:
    return bool(item["messageType"] == "task_request")


def needed(receipt: Receipt) -> Receipt:
    """The receipt of a command without which the story makes no sense; raises :class:`StoryError` for a refusal."""
    if not receipt.accepted:
        raise StoryError(receipt.detail)
    return receipt


class Step(NamedTuple):
    """What happens, and how it is told."""

    act: Callable[[Story], None]
    sentence: str


STEPS: Final = (
    Step(Story.makes_board, "You make a board and invite three of the sessions that were found."),
    Step(Story.proposes, "You propose a contract: who owns what, what stops it, and which proof closes it."),
    Step(Story.recorder_accepts, "camera-recorder finds the proposal in its inbox and accepts."),
    Step(Story.light_is_resumed, "light-patterns had finished; it is resumed, takes its message in and accepts."),
    Step(Story.recorder_claims, "camera-recorder claims its task: a lease of 30 minutes and a fencing number."),
    Step(Story.light_claims, "light-patterns claims the other."),
    Step(Story.light_proves, "light-patterns attaches a file; the checks read it themselves: verified."),
    Step(Story.recorder_claims_too_much, "camera-recorder states more than its file holds: rejected."),
    Step(Story.recorder_is_blocked, "A check fails: a stop condition is met, the contract is blocked."),
    Step(Story.recorder_asks, "camera-recorder asks light-patterns for help."),
    Step(Story.light_answers, "light-patterns takes it in, accepts, changes its file and says so."),
    Step(Story.person_resolves, "You resolve the blocker."),
    Step(Story.recorder_proves, "camera-recorder records again and attaches the file: verified."),
    Step(Story.both_complete, "Both complete their tasks; the gate lets the contract through."),
    Step(Story.person_asks_around, "You ask lab-notes for its status; it waits for an approval and reads nothing yet."),
    Step(Story.recorder_goes_on, "camera-recorder proposes the next contract."),
    Step(Story.light_asks_person, "light-patterns asks you before it agrees."),
)
