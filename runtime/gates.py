"""Feature gates: the parts of the KEPs in this version, and whether a user can turn them on or off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from api.validation import FieldError, join

__all__ = ["DEFAULTS", "GATES", "ORCHESTRATED_PREEMPTION", "TIME_BASED_PREEMPTION", "Gate", "completed"]

TIME_BASED_PREEMPTION: Final = "TimeBasedSamePriorityPreemption"
"""The gate of KEP-8522: minAdmitDuration has an effect."""

ORCHESTRATED_PREEMPTION: Final = "MultiKueueOrchestratedPreemption"
"""The gate of KEP-8303: copies in worker clusters have a preemption gate, which opens in one cluster at a time."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature. A locked gate always has its default, and nobody can change it."""

    name: str
    """The name in the KEP."""
    default: bool
    locked: bool = False


GATES: Final[tuple[Gate, ...]] = (
    Gate("WorkloadAwarePreemption", default=True, locked=True),
    Gate(TIME_BASED_PREEMPTION, default=True),
    Gate("ACRequeueAfter", default=True, locked=True),
    Gate(ORCHESTRATED_PREEMPTION, default=True),
)
"""All feature gates of this version: those of KEP-5710, KEP-8522, KEP-3258 and KEP-8303. KEP-1337 has none. Preemption
gates of Workloads are always in force; that of KEP-8303 says whether a manager of several clusters uses them."""

DEFAULTS: Final[Mapping[str, bool]] = {gate.name: gate.default for gate in GATES}


def completed(
    settings: Mapping[str, bool], path: str = "featureGates", *, gates: tuple[Gate, ...] = GATES
) -> dict[str, bool]:
    """Every gate by name. A gate that the settings do not name has its default.

    Raises FieldError for an unknown gate, and for a changed locked gate. `path` is the path of the field.
    """
    known = {gate.name: gate for gate in gates}
    for name, enabled in settings.items():
        if name not in known:
            names = ", ".join(sorted(known))
            raise FieldError(join(path, name), f"is not a feature gate of this version (known: {names})")
        gate = known[name]
        if gate.locked and enabled != gate.default:
            locked = "true: this version does nothing else" if gate.default else "false: it is not finished"
            raise FieldError(join(path, name), f"is locked to {locked}")
    return {name: gate.default for name, gate in known.items()} | dict(settings)
