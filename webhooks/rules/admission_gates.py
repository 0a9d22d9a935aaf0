"""The annotation that prevents the admission of a Workload (Kueue's rules)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api.syntax import domain_path_faults
from api.words import listed, shown
from schema.labels import invalid
from schema.verdict import FORBIDDEN, INVALID, TOO_LONG, Cause
from webhooks.rules.fields import child, entries
from webhooks.rules.request import Object

__all__ = ["admission_gate_causes", "admission_gate_update_causes"]

ANNOTATION: Final = "kueue.x-k8s.io/admission-gated-by"
PATH: Final = f"metadata.annotations[{ANNOTATION}]"
MAX_NAME: Final = 63


def admission_gate_causes(workload: Object) -> Iterator[Cause]:
    """The faults in the names of gates. Commas separate the names."""
    seen: set[str] = set()
    for gate in _gates(_annotation(workload)):
        if not gate:
            yield Cause(PATH, INVALID, "a gate's name is empty")
        elif gate in seen:
            yield Cause(PATH, INVALID, f"{shown(gate)} is there already")
        else:
            seen.add(gate)
            yield from invalid(PATH, domain_path_faults(gate))
            if len(gate.encode(errors="replace")) > MAX_NAME:
                yield Cause(PATH, TOO_LONG, f"{shown(gate)} is longer than {MAX_NAME} bytes")


def admission_gate_update_causes(workload: Object, old: Object) -> Iterator[Cause]:
    """The faults in an update. An update can only remove gates."""
    new, before = _annotation(workload), _annotation(old)
    if new and not before:
        yield Cause(PATH, FORBIDDEN, "cannot be added to a Workload that is there already")
    elif added := set(_gates(new)) - set(_gates(before)):
        yield Cause(PATH, FORBIDDEN, f"gates can only be removed; new: {listed(sorted(added))}")
    # On an update Kueue checks the names twice, and reports each fault twice.
    yield from admission_gate_causes(workload)


def _annotation(workload: Object) -> str:
    return entries(child(workload, "metadata"), "annotations").get(ANNOTATION, "")


def _gates(annotation: str) -> list[str]:
    return [gate.strip() for gate in annotation.split(",")] if annotation.strip() else []
