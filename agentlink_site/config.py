"""The values AgentLink is started with: `AGENTLINK_*`, checked once, with a readable sentence when one is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "AGENTLINK_"

# What would be right, per setting: the second half of every error sentence.
RIGHT = {
    "agintiflow_home": "an absolute path",
    "home": "an absolute path",
    "port": "a whole number from 0 (any free port) to 65535",
    "host": "127.0.0.1 or ::1, because AgentLink listens on this machine only",
    "database_url": "unset, because this version keeps everything in its own file",
    "node": "the id of a node: letters, digits and . _ : - only, at most 128 characters, without '..'",
    "board": "the id of a board: letters, digits and . _ : - only, at most 128 characters, without '..'",
    "mode": "off or local (the other modes are not there yet, and mesh is not a coordination mode)",
    "log_level": "debug, info, warning or error",
}
SECRET = {"database_url"}


class ConfigError(Exception):
    """A setting or the home cannot be used; the text is one sentence for people."""


def _absolute(path: Path) -> Path:
    path = path.expanduser()
    if not path.is_absolute():
        raise ValueError("relative path")
    return path


def _foreign_id(value: str) -> str:
    """AgInTiFlow's own wider ids are accepted, path steps never (interfaces, Ids)."""
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", value) or value == "." or ".." in value:
        raise ValueError("not an id")
    return value


def _loopback(value: object) -> object:
    return {"localhost": "127.0.0.1", "[::1]": "::1"}.get(value, value) if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _postgres(value: SecretStr) -> SecretStr:
    if not re.match(r"postgres(ql)?://[^/]*/[^/?#]+", value.get_secret_value()):
        raise ValueError("not a PostgreSQL address")
    return value


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
ForeignId = Annotated[str, AfterValidator(_foreign_id)]


class Config(BaseSettings):
    """One start's settings. `home` is ours, `agintiflow_home` is AgInTiFlow's."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True)

    agintiflow_home: AbsolutePath = Field(
        default_factory=lambda: Path.home() / ".agintiflow", validation_alias="AGINTIFLOW_HOME"
    )
    home: AbsolutePath = Field(default_factory=lambda data: data["agintiflow_home"] / "agentlink")
    port: int = Field(default=8767, ge=0, le=65535)
    host: Annotated[Literal["127.0.0.1", "::1"], BeforeValidator(_loopback)] = "127.0.0.1"
    database_url: Annotated[SecretStr, AfterValidator(_postgres)] | None = None
    node: ForeignId | None = None
    board: ForeignId | None = None
    mode: Literal["off", "local"] | None = None
    """None: `local`; no mode is kept in the home yet."""
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = "warning"

    _options: frozenset[str] = PrivateAttr(default=frozenset())

    def source(self, name: str) -> str:
        """Where the value of `name` came from: an option, the environment, or the default."""
        if name in self._options:
            return f"option --{name.replace('_', '-')}"
        return f"environment {env_name(name)}" if name in self.model_fields_set else "default"


class Explained(NamedTuple):
    """One line of `doctor`: a setting, its value as it may be shown, and its source."""

    name: str
    value: str
    source: str


def env_name(name: str) -> str:
    """The environment variable of a setting."""
    return "AGINTIFLOW_HOME" if name == "agintiflow_home" else PREFIX + name.upper()


def load(**options: Any) -> Config:
    """The settings of this start; options that are not None win over the environment.

    Raises ConfigError with one sentence that says what was wrong and what would be right.
    """
    given = {name: value for name, value in options.items() if value is not None}
    try:
        config = Config(**given)
    except ValidationError as error:
        raise ConfigError(_sentence(error, given)) from None
    except RuntimeError as error:  # Path.home() without HOME and without an entry for this user
        raise ConfigError(
            f"Your home folder cannot be found ({error}); set AGENTLINK_HOME to {RIGHT['home']}."
        ) from None
    config._options = frozenset(given)
    return config


def explain(config: Config) -> list[Explained]:
    """Every setting with its value and where it came from; passwords are not shown."""
    return [Explained(env_name(n), _shown(n, getattr(config, n)), config.source(n)) for n in Config.model_fields]


def unknown_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """`AGENTLINK_*` variables that mean nothing: most likely a typo."""
    known = {env_name(name) for name in Config.model_fields}
    return sorted(name for name in environ if name.startswith(PREFIX) and name not in known)


def _shown(name: str, value: object) -> str:
    if value is None:
        return "not set"
    return "(set, not shown)" if name in SECRET else str(value)


def _sentence(error: ValidationError, given: Mapping[str, object]) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "home"
    name = "agintiflow_home" if name == "AGINTIFLOW_HOME" else name
    label = f"--{name.replace('_', '-')}" if name in given else env_name(name)
    is_what = "cannot be used" if name in SECRET else f"is {str(first['input'])[:200]!r}"
    return f"{label} {is_what}; it must be {RIGHT[name]}."
