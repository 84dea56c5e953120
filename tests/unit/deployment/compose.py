"""The compose file as data, with what it must name looked up beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
DOCKER = ROOT / "docker"
TEXT = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def one_shots() -> set[str]:
    """Services that end: others wait for their success."""
    return {
        waited_for
        for service in SERVICES.values()
        for waited_for, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }


def variables() -> dict[str, set[str]]:
    """Environment variables of all services, each with the values that it is given here.

    None are given to one that comes from the environment of `docker compose`.
    """
    found: dict[str, set[str]] = {}
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            found.setdefault(name, set()).update([] if value is None else [str(value)])
    return found


def instructions(keyword: str) -> list[list[str]]:
    """The words of each instruction of the Dockerfile that begins with a keyword."""
    text = (DOCKER / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line.split() for line in text.splitlines())
    return [words[1:] for words in lines if words and words[0] == keyword]
