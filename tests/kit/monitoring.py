"""The expressions of manifests/components/monitoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
import yaml

__all__ = ["FOLDER", "alerts", "expressions", "panels", "proven"]

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


def proven() -> list[tuple[str, bool]]:
    """What rules_test.yaml proves: an alert, and whether it fires."""
    tests = yaml.safe_load((FOLDER / "rules_test.yaml").read_text())["tests"]
    return [
        (each["alertname"], bool(each.get("exp_alerts")))
        for test in tests
        for each in test.get("alert_rule_test", ())
    ]
