"""The objects of a manager of several clusters, as examples/multikueue/manager.yaml has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ["EMBED", "TRAIN", "TURN", "Objects", "manager_objects"]

Objects = dict[tuple[str, str], dict[str, Any]]
"""By kind and name."""
TRAIN: Final = ("Workload", "job-train-5c1d0")
"""It waits for a cluster, and it is the turn of west."""
EMBED: Final = ("Workload", "job-embed-91e2b")
"""It runs in south, which is not active."""
TURN: Final = ("DispatchPlan", "job-train-5c1d0-7f3a9b20")
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "multikueue" / "manager.yaml"


def manager_objects() -> Objects:
    """New ones for each call."""
    return {
        (each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(EXAMPLE.read_text())
    }
