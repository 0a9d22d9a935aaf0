"""Rules of KEP-8303, for preemption gates, and of KEP-3258, for retries of admission checks."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.rules.table import ABSENT, Edits, Json, Rule
from tests.e2e.rules.workload_status import WAITING, checks, of
from tests.kit.manifests import LATER, TIME, condition, gate_state, workload

__all__ = ["GATE", "GATES", "OPENER", "RETRIES", "gated", "stands"]

BEFORE: Final = "2026-01-02T03:04:04Z"
GATE: Final = "example.com/kept"
OPENER: Final = "system:serviceaccount:dispatch:dispatcher"
"""Who may open it."""
JANE: Final = "jane@example.com"


def gated(position: str = "", time: str = TIME) -> Json:
    """A Workload with the gate that is kept, standing as said."""
    states = [gate_state(GATE, position, time)] if position else []
    return workload(preemptionGates=[{"name": GATE}], status={"preemptionGates": states})


def stands(position: str, time: str = LATER, name: str = GATE) -> Edits:
    """The gate in another position."""
    return {"status/preemptionGates": [gate_state(name, position, time)]}


def states(count: int) -> Edits:
    """`count` gates."""
    return {"status/preemptionGates": [gate_state(f"g{number}", "Closed") for number in range(count)]}


STATE: Final = "status.preemptionGates[0]"
GATES: Final = (
    of("KEP-8303 at most 8 states", WAITING, states(9), "status.preemptionGates TooMany", good=states(8)),
    of(
        "KEP-8303 a state once",
        WAITING,
        {"status/preemptionGates": [gate_state("a", "Open"), gate_state("a", "Closed")]},
        "status.preemptionGates[1] Duplicate",
        good={"status/preemptionGates": [gate_state("a", "Open"), gate_state("b", "Closed")]},
    ),
    of(
        "KEP-8303 the name of a state",
        WAITING,
        stands("Open", name="a b"),
        f"{STATE}.name Invalid",
        good=stands("Open", name="a.b"),
    ),
    of(
        "KEP-8303 positions",
        gated("Closed"),
        stands("Ajar"),
        f"{STATE}.position NotSupported",
        good=stands("Open"),
        user=OPENER,
    ),
    of(
        "KEP-8303 no earlier time",
        gated("Closed"),
        stands("Open", BEFORE),
        f"{STATE}.lastTransitionTime Invalid",
        good=stands("Open", TIME),
        user=OPENER,
    ),
    of(
        "KEP-8303 no earlier time for the same position",
        gated("Open"),
        stands("Open", BEFORE),
        f"{STATE}.lastTransitionTime Invalid",
        good=stands("Open"),
    ),
    of(
        "KEP-8303 who opens a gate",
        gated("Closed"),
        stands("Open"),
        f"{STATE}.position Forbidden",
        good=stands("Closed"),
        user=JANE,
    ),
    of(
        "KEP-8303 who opens a gate that has no state",
        gated(),
        stands("Open"),
        f"{STATE}.position Forbidden",
        good=stands("Closed"),
        user=JANE,
    ),
    of(
        "KEP-8303 anybody closes a gate",
        gated("Open"),
        stands("Closed", BEFORE),
        f"{STATE}.lastTransitionTime Invalid",
        good=stands("Closed"),
        user=JANE,
    ),
    of(
        "KEP-8303 anybody opens other gates",
        workload(preemptionGates=[{"name": GATE}, {"name": "a"}], status={}),
        stands("Open"),
        f"{STATE}.position Forbidden",
        good=stands("Open", name="a"),
        user=JANE,
    ),
    Rule.of(
        "KEP-8303 who removes a gate",
        gated("Closed"),
        {"spec/preemptionGates": ABSENT},
        "spec.preemptionGates Forbidden",
        good={"spec/preemptionGates/1": {"name": "a"}},
        creates=False,
        user=JANE,
    ),
    Rule.of(
        "KEP-8303 anybody removes a gate that is open",
        gated("Open"),
        {"spec/preemptionGates": [{"name": "-"}]},
        "spec.preemptionGates[0].name Invalid",
        good={"spec/preemptionGates": ABSENT},
        user=JANE,
    ),
)


def retry(count: int | None = None, **fields: Any) -> Edits:
    """A check that is to be tried again."""
    return checks(state="Retry", **({} if count is None else {"retryCount": count}), **fields)


RETRIED: Final = workload(status={"admissionChecks": retry(2)["status/admissionChecks"]})
CHECK: Final = "status.admissionChecks[0]"
RETRIES: Final = (
    *(
        of(
            f"KEP-3258 {field} is not negative",
            WAITING,
            checks(state="Retry", **{field: -1}),
            f"{CHECK}.{field} Invalid",
            good=checks(state="Retry", **{field: 0}),
        )
        for field in ("requeueAfterSeconds", "retryCount")
    ),
    *(
        of(
            f"KEP-3258 {field} is an int32",
            WAITING,
            checks(state="Retry", **{field: 2**31}),
            "status Invalid",
            good=checks(state="Retry", **{field: 2**31 - 1}),
        )
        for field in ("requeueAfterSeconds", "retryCount")
    ),
    of(
        "KEP-3258 requeueAfterSeconds is no duration",
        WAITING,
        retry(requeueAfterSeconds="1m0s"),
        f"{CHECK}.requeueAfterSeconds TypeInvalid",
        good=retry(requeueAfterSeconds=60),
    ),
    *(
        of(
            f"KEP-3258 retryCount from 2 to {count}",
            RETRIED,
            retry(1),
            f"{CHECK}.retryCount Invalid",
            good=retry(count),
        )
        for count in (2, 3, 0, None)
    ),
    of(
        "KEP-3258 late, after an eviction",
        workload(
            status={
                "conditions": [condition("Evicted")],
                "admissionChecks": retry(1)["status/admissionChecks"],
            }
        ),
        retry(-1, requeueAfterSeconds=600),
        f"{CHECK}.retryCount Invalid",
        good=retry(2, requeueAfterSeconds=600),
    ),
)
