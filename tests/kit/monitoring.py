"""The expressions of manifests/components/monitoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
import yaml

__all__ = ["FOLDER", "alerts", "expressions", "panels"]

FOLDER: Final = Path(__file__).parents[2] / "manifests" / "components" / "monitoring"


def alerts() -> list[dict[str, Any]]:
    """The alerts of rules.yaml."""
    rules = yaml.safe_load((FOLDER / "rules.yaml").read_text())
    return [rule for group in rules["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """The panels of the dashboard, rows aside."""
    found = orjson.loads((FOLDER / "dashboard.json").read_bytes())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def expressions() -> list[str]:
    """All expressions of alerts and panels."""
    return [each["expr"] for each in alerts()] + [
        target["expr"] for panel in panels() for target in panel["targets"]
    ]
