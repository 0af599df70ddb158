"""state.json: what the session's program saved last. Its messages (the raw history) are never decoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from peers.adapters.agintiflow.events import decoded_object, reason
from peers.adapters.agintiflow.files import read_bounded
from peers.adapters.base import Json, Problem
from peers.times import canonical

# It holds the whole conversation; beyond this only the log is used.
STATE_LIMIT = 256 << 20

CAPABILITIES = {
    "allowShellTool": "shell",
    "allowFileTools": "files",
    "allowWebSearch": "web-search",
    "allowMcpTools": "mcp",
    "allowWrapperTools": "wrappers",
    "allowAuxiliaryTools": "auxiliary",
    "allowParallelScouts": "scouts",
    "allowHostedImagePerception": "image-perception",
    "allowHostedWebResearch": "web-research",
    "allowHostedJsonSpecialist": "json-specialist",
    "allowHostedWritingSpecialist": "writing-specialist",
}
POLICIES = ("permissionMode", "sandboxMode", "packageInstallPolicy", "workspaceWritePolicy")
LICENCES = {
    "allowPasswords": "passwords",
    "allowDestructive": "destructive",
    "allowOutsideWorkspaceFileTools": "outside-workspace",
}


class _State(msgspec.Struct):
    """The keys that are used, of any type: one odd value must not hide the others."""

    sessionId: Any = ""
    createdAt: Any = ""
    updatedAt: Any = ""
    provider: Any = ""
    model: Any = ""
    goal: Any = ""
    title: Any = ""
    baseDir: Any = ""
    commandCwd: Any = ""
    stepsCompleted: Any = 0
    meta: msgspec.Raw = msgspec.Raw(b"{}")


class _Meta(msgspec.Struct):
    goalContract: Any = None
    runtimeConfig: Any = None


@dataclass(frozen=True, slots=True)
class State:
    created_at: str = ""
    updated_at: str = ""
    provider: str = ""
    model: str = ""
    goal: str = ""
    title: str = ""
    command_cwd: str = ""
    steps: int = 0
    goal_status: str = ""
    config: Json = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What the runtime configuration lets the session do."""
        return tuple(name for key, name in CAPABILITIES.items() if self.config.get(key) is True)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Its modes and policies as `name=value`, then `no-<licence>` for each dangerous one that it does not have."""
        modes = tuple(f"{key}={self.config[key]}" for key in POLICIES if isinstance(self.config.get(key), str))
        return modes + tuple(f"no-{name}" for key, name in LICENCES.items() if self.config.get(key) is False)


def read_state(folder: Path, session_id: str) -> State:
    """What state.json says. One that cannot be read gives an empty state with the problem: the log still counts."""
    try:
        raw = read_bounded(folder / "state.json", STATE_LIMIT)
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        return State(problems=(Problem("state_unreadable", f"state.json cannot be read: {why}.", session_id),))
    found = _decoded(raw)
    if found is None:
        sentence = "state.json is not the JSON object that AgInTiFlow writes; AgInTiFlow cannot resume this session."
        return State(problems=(Problem("state_malformed", sentence, session_id),))
    return _facts(found, session_id)


def _decoded(raw: bytes) -> _State | None:
    """The used keys; where Node cut a text inside a surrogate pair the whole file is decoded the slow way."""
    try:
        return msgspec.json.decode(raw, type=_State)
    except (ValueError, RecursionError):
        found = decoded_object(raw)
    if found is None:
        return None
    used = {key: found[key] for key in _State.__struct_fields__ if key in found}
    return _State(**used | {"meta": msgspec.Raw(msgspec.json.encode(found.get("meta")))})


def _facts(found: _State, session_id: str) -> State:
    meta = _meta(found.meta)
    contract = meta.goalContract if isinstance(meta.goalContract, dict) else {}
    steps = found.stepsCompleted
    named = _text(found.sessionId)
    sentence = "state.json names another session than its folder; the folder's name counts."
    return State(
        created_at=canonical(found.createdAt),
        updated_at=canonical(found.updatedAt),
        provider=_text(found.provider),
        model=_text(found.model),
        goal=_text(found.goal),
        title=_text(found.title),
        command_cwd=_text(found.commandCwd) or _text(found.baseDir),
        steps=steps if isinstance(steps, int) and 0 <= steps < 1 << 31 else 0,
        goal_status=_text(contract.get("status")),
        config=meta.runtimeConfig if isinstance(meta.runtimeConfig, dict) else {},
        problems=(Problem("other_session_named", sentence, session_id),) if named not in ("", session_id) else (),
    )


def _meta(raw: msgspec.Raw) -> _Meta:
    try:
        return msgspec.json.decode(raw, type=_Meta)
    except (ValueError, RecursionError):
        found = decoded_object(bytes(raw)) or {}
    return _Meta(found.get("goalContract"), found.get("runtimeConfig"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
