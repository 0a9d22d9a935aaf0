"""One run in which one namespace is enforced and all others are observed: random load and faults, judged at rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from hack.controlplane.plane import ControlPlane
from tests.e2e.audit import writes_of_reprieve
from tests.e2e.stress.actions import Action
from tests.e2e.stress.cluster import HOMES, Cluster
from tests.e2e.stress.run import REPLICATED, Result, judge, load_for
from tests.kit.stress.canary import breaches

__all__ = ["CANARY", "ENFORCED", "canary"]

ENFORCED: Final = HOMES[0]
"""The only namespace in which reprieve acts. Namespaces that come later are observed."""
LABELS: Final = {"reprieve": "enforce"}

_settings: Final = REPLICATED["reprieve_settings"]
CANARY: Final[dict[str, Any]] = {
    **REPLICATED,
    "reprieve_settings": {
        **_settings,
        "planning": {**_settings["planning"], "enforcedNamespaceSelector": {"matchLabels": LABELS}},
    },
}
"""Of the plane."""


def canary(plane: ControlPlane, seed: int, seconds: float, actions: Mapping[Action, int]) -> Result:
    """Load the plane for `seconds` seconds, and see what is wrong after a rest, also in observed namespaces."""
    print(f"\ncanary for {seconds:.0f} s with seed {seed}", flush=True)
    result = judge(
        plane,
        seed,
        partial(_load, seconds=seconds, actions=actions),
        gated=0.0,
        more=lambda history: [*breaches(history, {ENFORCED}), *_written(plane.audit_log)],
    )
    unexplained = [each for each in result.unexplained if f"gang {ENFORCED}/" in each]
    return replace(result, unexplained=unexplained)


def _load(cluster: Cluster, seconds: float, actions: Mapping[Action, int]) -> None:
    cluster.client.patch("v1", "Namespace", ENFORCED, {"metadata": {"labels": LABELS}})
    load_for(cluster, seconds, actions)


def _written(audit_log: Path) -> Iterator[str]:
    """What reprieve has sent about pods and events of observed namespaces, besides questions."""
    for event in writes_of_reprieve(audit_log):
        named = event.get("objectRef") or {}
        if named.get("resource") in ("pods", "events") and named.get("namespace") != ENFORCED:
            yield f"reprieve sent {event['verb']} {event['requestURI']}"
