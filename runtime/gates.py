"""Feature gates: which parts of the KEPs this version has, and which of them can be turned on or off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from api.validation import FieldError, join

__all__ = ["DEFAULTS", "GATES", "Gate", "completed"]


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature. `locked`: it is as its default says, and cannot be changed."""

    name: str
    """The KEP's."""
    default: bool
    locked: bool = False


GATES: Final[tuple[Gate, ...]] = (Gate("WorkloadAwarePreemption", default=True, locked=True),)
"""All that this version knows."""

DEFAULTS: Final[Mapping[str, bool]] = {gate.name: gate.default for gate in GATES}


def completed(
    settings: Mapping[str, bool], path: str = "featureGates", *, gates: tuple[Gate, ...] = GATES
) -> dict[str, bool]:
    """Every gate by name, with its default where the settings do not name it.

    Raises FieldError for a gate that is not known, and for a locked one that is to be changed; `path` is the field's.
    """
    known = {gate.name: gate for gate in gates}
    for name, enabled in settings.items():
        if name not in known:
            names = ", ".join(sorted(known))
            raise FieldError(join(path, name), f"is no feature gate of this version (known: {names})")
        gate = known[name]
        if gate.locked and enabled != gate.default:
            locked = "true: this version does nothing else" if gate.default else "false: it is not finished"
            raise FieldError(join(path, name), f"is locked to {locked}")
    return {name: gate.default for name, gate in known.items()} | dict(settings)
