"""A plane whose scheduler places Kubernetes' own PodGroups, with one `planning.nativeGroups` after the other."""

from __future__ import annotations

from typing import Final

import yaml

from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.versions import knows
from tests.e2e.other_kinds import NATIVE
from tests.kit.versions import THERE

__all__ = ["options", "use_mode"]

SETTINGS: Final = {"planning": {"nativeGroups": "Steer"}}
"""The webhooks read only whether the mode is Off."""


def options() -> Options:
    """Of that plane, with the webhooks. Its mode is Steer."""
    gates, served = ({"GenericWorkload": True}, {NATIVE: True}) if knows(THERE, NATIVE) else ({}, {})
    return Options(
        reprieve=True,
        webhooks=True,
        feature_gates=gates,
        runtime_config=served,
        reprieve_settings=SETTINGS,
        webhooks_settings=SETTINGS,
    )


def use_mode(plane: ControlPlane, mode: str, gates: str = "Gathering", *, elects: bool = False) -> None:
    """reprieve runs with this mode from now on, Steer or Drive, and without failpoints. `gates`: `planning.gates`.

    `elects`: it holds a Lease, where it says what it does. `reprieve why` reads that.
    """
    path = plane.directory / "reprieve.yaml"
    settings = yaml.safe_load(path.read_text())
    planning, election = settings["planning"], {"leaderElect": elects}
    wanted = {**planning, "nativeGroups": mode, "gates": gates}
    is_same = {"gates": "Gathering", **planning} == wanted and settings["leaderElection"] == election
    is_used = is_same and not plane.reprieve.environment
    if is_used and plane.is_ready("reprieve"):
        return
    settings |= {"planning": wanted, "leaderElection": election}
    path.write_text(yaml.safe_dump(settings))
    plane.reprieve.stop()
    plane.reprieve.environment = {}
    plane.start_reprieve()
