"""What a running process serves at /metrics, beside what alerts and dashboard ask for."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterable
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from hack.controlplane.plane import ControlPlane
from hack.metrics import SUFFIXES, metrics
from tests.kit.monitoring import expressions
from tests.kit.promql import Named, named

__all__ = ["asked", "asked_of_webhooks", "differences", "not_served", "read_metrics"]

MANAGER: Final = "reprieve_multikueue_"
"""Only a process that manages several clusters has them."""
WEBHOOK_CHECKS: Final = ("certificate", "facts")


def read_metrics(plane: ControlPlane) -> dict[str, float]:
    """Values by name and labels, of the plane's process of reprieve."""
    lines = _text(plane.ops_url).splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def asked_of_webhooks(selector: Named) -> bool:
    """Whether it is about the processes of the Deployment reprieve-webhooks."""
    return selector.name.startswith("reprieve_webhook_") or any(
        ("name", check, True) in selector.matchers for check in WEBHOOK_CHECKS
    )


def differences(url: str) -> list[str]:
    """Metrics of ours that are served otherwise than the code describes them, or not at all."""
    described = {each.name.removesuffix("_total"): each for each in metrics()}
    found, seen = list[str](), set[str]()
    for family in text_string_to_metric_families(_text(url)):
        if not family.name.startswith(("reprieve_", "kueue_")) or family.name.endswith("_created"):
            continue
        seen.add(family.name)
        each = described.get(family.name)
        if each is None or (each.type, each.text) != (family.type, family.documentation):
            found.append(f"{family.name} is described otherwise")
            continue
        labels = [
            set(sample.labels) - {"le"} for sample in family.samples if not sample.name.endswith("_created")
        ]
        found += [
            f"{family.name} has the labels {sorted(each)}"
            for each in labels
            if each != set(described[family.name].labels)
        ]
    ours = {name for name in described if name.startswith("reprieve_") and not name.startswith(MANAGER)}
    missing = ours - seen
    return found + [f"{name} is not served" for name in sorted(missing)]


def not_served(url: str, selectors: Iterable[Named]) -> list[str]:
    """Selectors that select nothing. One whose metric has no sample yet need only be served by name."""
    families = list(text_string_to_metric_families(_text(url)))
    samples = [(sample.name, sample.labels) for family in families for sample in family.samples]
    empty = {
        family.name + suffix for family in families if not family.samples for suffix in SUFFIXES[family.type]
    }
    missing = []
    for each in selectors:
        wanted = {label: value for label, value, is_equal in each.matchers if is_equal}
        if each.name not in empty and not any(
            name == each.name and wanted.items() <= labels.items() for name, labels in samples
        ):
            missing.append(f"{each.name}{wanted or ''}")
    return missing


def _text(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:  # noqa: S310  # loopback
        text: str = answer.read().decode()
    return text


def asked() -> list[Named]:
    """Everything that alerts and dashboard select, but for what only a manager of several clusters has."""
    found = [each for expression in expressions() for each in named(expression)]
    return [each for each in found if not each.name.startswith(MANAGER)]
