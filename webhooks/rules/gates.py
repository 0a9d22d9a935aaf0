"""Preemption gates of a Workload (KEP-8303).

See docs/decisions/0016.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from api.times import instant
from api.words import shown
from schema.labels import label_key_causes
from schema.verdict import FORBIDDEN, INVALID, Cause
from webhooks.rules.fields import child, items, text
from webhooks.rules.request import Object, Request
from webhooks.rules.workload_status import has_quota

__all__ = ["gate_name_causes", "gate_transition_causes", "gate_warnings", "stamped"]

GATES: Final = "preemptionGates"
TIME: Final = "lastTransitionTime"


def gate_name_causes(workload: Object) -> Iterator[Cause]:
    """The faults in the names of gates. A gate in the status that is also in spec is checked there."""
    names: set[str] = set()
    for part in ("spec", "status"):
        for index, gate in enumerate(items(child(workload, part), GATES)):
            if (name := text(gate, "name")) not in names:
                yield from label_key_causes(name, f"{part}.{GATES}[{index}].name")
            names.add(name)


def gate_transition_causes(request: Request) -> Iterator[Cause]:
    """The faults in position changes: who opens a gate, and when."""
    before = _states(request.old or {})
    for index, state in enumerate(items(child(request.new, "status"), GATES)):
        path, stored = f"status.{GATES}[{index}]", before.get(text(state, "name"), {})
        since, time = instant(text(stored, TIME)), instant(text(state, TIME))
        if since is not None and time is not None and time < since:
            yield Cause(
                f"{path}.{TIME}", INVALID, f"{state[TIME]} is earlier than {stored[TIME]}, which it was"
            )
        if _opens(state, stored) and _is_kept_from(request, text(state, "name")):
            yield Cause(f"{path}.position", FORBIDDEN, _refusal(request, text(state, "name"), "open"))
    for name in _removed(request):
        if _is_kept_from(request, name):
            yield Cause(f"spec.{GATES}", FORBIDDEN, _refusal(request, name, "remove"))


def gate_warnings(request: Request) -> Iterator[str]:
    """Warnings about gates that do not do what the user may think, or that could not be checked."""
    spec, old = child(request.new, "spec"), request.old or {}
    names = {text(gate, "name") for gate in items(spec, GATES)}
    if request.subresource == "status":
        before = _states(old)
        for index, state in enumerate(items(child(request.new, "status"), GATES)):
            name = text(state, "name")
            if name not in names:
                yield f"status.{GATES}[{index}]: spec has no gate {shown(name)}"
            if (
                not request.user
                and name in request.settings.gate_openers
                and _opens(state, before.get(name, {}))
            ):
                yield f"status.{GATES}[{index}].position: whether the user may open gate {shown(name)} was not checked"
        return
    if not request.user:
        for name in _removed(request):
            if name in request.settings.gate_openers:
                yield f"spec.{GATES}: whether the user may remove gate {shown(name)} was not checked"
    if has_quota(old):
        for gate in items(child(old, "spec"), GATES):
            names.discard(text(gate, "name"))
        for name in sorted(names):
            yield f"spec.{GATES}: gate {shown(name)} comes after quota was reserved; it counts after an eviction"


def stamped(request: Request) -> Object:
    """The Workload with the present time in each gate that has changed its position but not its time."""
    before, status = _states(request.old or {}), child(request.new, "status")
    states = items(status, GATES)
    moved = [_moved(state, before.get(text(state, "name")), request.now) for state in states]
    if all(state is same for state, same in zip(states, moved, strict=True)):
        return request.new
    return {**request.new, "status": {**status, GATES: moved}}


def _moved(state: Object, stored: Object | None, now: str) -> Object:
    if stored is None or _position(state) == _position(stored):
        return state
    since, present = instant(text(stored, TIME)), instant(now)
    if instant(text(state, TIME)) != since or present is None or (since is not None and present < since):
        return state
    return {**state, TIME: now}


def _removed(request: Request) -> Iterator[str]:
    """Closed gates that were removed from spec. A gate that is not there blocks nobody, so to
    remove it is to open it."""
    before = _states(request.old or {})
    kept = {text(gate, "name") for gate in items(child(request.new, "spec"), GATES)}
    for gate in items(child(request.old or {}, "spec"), GATES):
        name = text(gate, "name")
        if name not in kept and _position(before.get(name, {})) != "Open":
            yield name


def _states(workload: Object) -> Mapping[str, Object]:
    return {text(state, "name"): state for state in items(child(workload, "status"), GATES)}


def _position(state: Object) -> str:
    """The position of a gate. A gate without a state is closed."""
    return text(state, "position") or "Closed"


def _opens(state: Object, stored: Object) -> bool:
    return _position(state) == "Open" and _position(stored) != "Open"


def _is_kept_from(request: Request, gate: str) -> bool:
    """Whether only other users may open the gate. Offline, the user may not be known."""
    openers = request.settings.gate_openers.get(gate)
    return openers is not None and bool(request.user) and request.user not in openers


def _refusal(request: Request, gate: str, verb: str) -> str:
    openers = ", ".join(request.settings.gate_openers[gate]) or "nobody"
    return f"{shown(request.user)} may not {verb} gate {shown(gate)}; it is for {openers} to open"
