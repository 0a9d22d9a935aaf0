"""What is let in with a warning: `bad` gets one, `good` none. Of the cause only the field counts."""

from __future__ import annotations

from typing import Final

from tests.e2e.rules.table import Rule
from tests.e2e.rules.workload_status import checks
from tests.kit.manifests import cluster_queue, gate_state, preemption, reserved, workload

__all__ = ["WARNINGS"]

THRESHOLD: Final = "spec.preemption.borrowWithinCohort.maxPriorityThreshold"
BORROWS: Final = preemption(
    reclaimWithinCohort="Any", borrowWithinCohort={"policy": "LowerPriority", "maxPriorityThreshold": 1}
)
GATED: Final = workload(preemptionGates=[{"name": "a"}], status={})


WARNINGS: Final = (
    Rule.of(
        "KEP-1337 a threshold needs a policy",
        cluster_queue(),
        {"spec/preemption/borrowWithinCohort/maxPriorityThreshold": 100},
        f"{THRESHOLD} ",
        good={"spec/preemption": BORROWS},
    ),
    Rule.of(
        "KEP-8522 the annotation beside the field",
        cluster_queue(
            preemption=preemption(
                withinClusterQueue="LowerOrNewerEqualPriority",
                withinClusterQueueConfig={"minAdmitDuration": "1h"},
            )
        ),
        {"metadata/annotations": {"reprieve.dev/min-admit-duration": "2h"}},
        "metadata.annotations[reprieve.dev/min-admit-duration] ",
        good={"metadata/annotations": {"reprieve.dev/min-admit-duration": "1h"}},
    ),
    Rule.of(
        "KEP-8303 a gate after quota",
        workload(status=reserved()),
        {"spec/preemptionGates": [{"name": "late"}]},
        "spec.preemptionGates ",
        good={"spec/active": False},
        creates=False,
    ),
    Rule.of(
        "KEP-8303 a state of no gate",
        GATED,
        {"status/preemptionGates": [gate_state("b", "Closed")]},
        "status.preemptionGates[0] ",
        good={"status/preemptionGates": [gate_state("a", "Closed")]},
        subresource="status",
    ),
    Rule.of(
        "KEP-3258 a delay without Retry",
        workload(status={}),
        checks(state="Ready", requeueAfterSeconds=60),
        "status.admissionChecks[0].requeueAfterSeconds ",
        good=checks(state="Retry", requeueAfterSeconds=60),
        subresource="status",
    ),
)
