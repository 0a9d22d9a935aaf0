"""What follows for a life from a decision that is only observed: it is stored or counted, and nothing is done for it.

A pure function, which the reducer calls. There is no Commit here, so no plan holds room, and no effect that writes to a
pod can follow. See docs/decisions/0108.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from api.plans import PreemptionPlanSpec
from api.words import counted
from controllers.gangs.lifecycle.effects import CountObserved, Effect, record_of
from controllers.gangs.lifecycle.life import Life, victim_uids
from controllers.gangs.lifecycle.observations import Decided
from controllers.gangs.lifecycle.settings import FITS_SECONDS, OBSERVED_SECONDS
from nodes.search.unmodelled import why_blocked

__all__ = ["enforced", "observed"]

State = Literal["Same", "Changed"]


def observed(life: Life, decided: Decided, now: float) -> tuple[Life, tuple[Effect, ...]]:
    """The decision that Enforce would act on. A gang gets one new plan in OBSERVED_SECONDS at most."""
    spec, name = decided.spec, decided.name
    state: State = "Changed" if decided.changed else "Same"
    if spec.outcome == "Fits":
        return _fits(life, now, state)
    is_new = name != life.observed
    if is_new and now < life.observed_until:
        return replace(life, looked=False, due=life.observed_until), ()
    until = now + OBSERVED_SECONDS
    outcome, message = _said(spec, name)
    life = replace(
        life, phase="Observed", reason=outcome, message=message, looked=True, due=until, observed=name
    )
    record = record_of(spec)
    stored = (replace(record, changed=decided.changed),) if record is not None else ()
    if not is_new:
        return life, stored
    return replace(life, observed_until=until), (*stored, CountObserved(outcome, state))


def enforced(life: Life, now: float) -> Life:
    """The namespace of a gang that was observed is enforced from now on. Nothing that was only observed counts.

    A gang in pieces counts from now on: reprieve has not kept it whole before. That a gang has run whole stays known.
    """
    return replace(
        life,
        phase="Bound" if life.phase == "Bound" else "Gathering",
        reason="",
        message="",
        looked=False,
        placed=False,
        replans=0,
        failures=0,
        due=0.0,
        untried_until=None,
        partial_since=None if life.partial_since is None else now,
        kept="",
        observed="",
        observed_until=0.0,
    )


def _fits(life: Life, now: float, state: State) -> tuple[Life, tuple[Effect, ...]]:
    is_new = (life.phase, life.reason) != ("Observed", "Fits")
    message = "it fits, and no pod would be evicted for it"
    life = replace(
        life, phase="Observed", reason="Fits", message=message, looked=True, due=now + FITS_SECONDS
    )
    return life, (CountObserved("Fits", state),) if is_new else ()


def _said(spec: PreemptionPlanSpec, name: str) -> tuple[str, str]:
    """The outcome, and what people read of it."""
    blocked = why_blocked(spec)
    if blocked:
        return "Blocked", f"no pod would be evicted for it: {blocked} (plan {name})"
    pods = len(victim_uids(spec))
    if pods:
        return spec.outcome, f"{counted(pods, 'pod')} would be evicted for it (plan {name})"
    return spec.outcome, f"no pod would be evicted for it: {spec.reason} (plan {name})"
