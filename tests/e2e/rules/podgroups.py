"""Rules for PodGroup (KEP-5710). What its rules are about cannot be changed, and an update gets that answer."""

from __future__ import annotations

from typing import Final

from api.disruption import BUDGETS_ANNOTATION, COST_ANNOTATION
from tests.e2e.rules.table import ABSENT, Edits, Json, Rule
from tests.kit.manifests import pod_group

__all__ = ["BARE", "CLASS", "GANG", "MEEK", "MEEK_CLASS", "POD_GROUPS", "SYSTEM_NAMESPACE", "VALUE"]

CLASS: Final = "rules-high"
MEEK_CLASS: Final = "rules-meek"
"""Its preemption policy is Never."""
VALUE: Final = 1000
SYSTEM_NAMESPACE: Final = "infra"

GANG: Final = pod_group(priorityClassName=CLASS, priority=VALUE, preemptionPolicy="PreemptLowerPriority")
MEEK: Final = pod_group(priorityClassName=MEEK_CLASS, priority=VALUE, preemptionPolicy="Never")
BARE: Final = pod_group(priority=0)
IMMUTABLE: Final = "spec Invalid"


def of(name: str, base: Json, bad: Edits, *causes: str, good: Edits | None = None) -> Rule:
    """A rule about what stays once it is there."""
    return Rule.of(f"KEP-5710 {name}", base, bad, *causes, good=good, on_update=IMMUTABLE)


def stays(field: str, value: object) -> Rule:
    """A field that cannot be changed."""
    return Rule.of(f"KEP-5710 {field} stays", GANG, {f"spec/{field}": value}, IMMUTABLE, creates=False)


POD_GROUPS: Final = (
    of(
        "all goes with a gang",
        pod_group(priority=0, schedulingPolicy={"basic": {}}),
        {"spec/disruptionMode": {"all": {}}},
        "spec.disruptionMode Invalid",
    ),
    Rule.of(
        "reprieve a disruption cost is a whole number",
        BARE,
        {"metadata/annotations": {COST_ANNOTATION: "1.5"}},
        f"metadata.annotations[{COST_ANNOTATION}] Invalid",
        good={"metadata/annotations": {COST_ANNOTATION: "2147483647"}},
    ),
    Rule.of(
        "reprieve budgets count in one of three ways",
        BARE,
        {"metadata/annotations": {BUDGETS_ANNOTATION: "respect"}},
        f"metadata.annotations[{BUDGETS_ANNOTATION}] Invalid",
        good={"metadata/annotations": {BUDGETS_ANNOTATION: "Respect"}},
    ),
    of("the priority is the class's", GANG, {"spec/priority": VALUE + 1}, "spec.priority Invalid"),
    of(
        "who preempts has a class that does",
        MEEK,
        {"spec/preemptionPolicy": "PreemptLowerPriority"},
        "spec.preemptionPolicy Invalid",
    ),
    of("a priority comes from a class", BARE, {"spec/priority": 1}, "spec.priority Invalid"),
    of("the class exists", GANG, {"spec/priorityClassName": "rules-gone"}, "spec.priorityClassName NotFound"),
    of("high priorities are the system's", GANG, {"spec/priority": 10**9 + 1}, "spec.priority Invalid"),
    of(
        "classes of the system are for its namespaces",
        GANG,
        {
            "spec/priorityClassName": "system-node-critical",
            "spec/priority": ABSENT,
            "spec/preemptionPolicy": ABSENT,
        },
        "spec.priorityClassName Forbidden",
    ),
    Rule.of(
        "KEP-5710 one policy",
        BARE,
        {"spec/schedulingPolicy/basic": {}},
        "spec.schedulingPolicy Invalid",
        on_update="spec.schedulingPolicy Invalid",
        good={"spec/schedulingPolicy/gang/minCount": 2},
    ),
    Rule.of(
        "KEP-5710 minCount",
        BARE,
        {"spec/schedulingPolicy/gang/minCount": 0},
        "spec.schedulingPolicy.gang.minCount Invalid",
        good={"spec/schedulingPolicy/gang/minCount": 1},
    ),
    Rule.of(
        "KEP-5710 a topology is the key of a label",
        BARE,
        {"spec/schedulingConstraints": {"topology": [{"key": "a rack"}]}},
        "spec.schedulingConstraints.topology[0].key Invalid",
        on_update="spec Invalid, spec.schedulingConstraints.topology[0].key Invalid",
    ),
    Rule.of(
        "KEP-5710 one mode",
        BARE,
        {"spec/disruptionMode": {"all": {}, "single": {}}},
        "spec.disruptionMode Invalid",
        on_update="spec Invalid, spec.disruptionMode Invalid",
    ),
    Rule.of(
        "KEP-5710 the kind of policy stays",
        BARE,
        {"spec/schedulingPolicy": {"basic": {}}},
        "spec.schedulingPolicy Invalid",
        good={"spec/schedulingPolicy": {"gang": {"minCount": 1}}},
        creates=False,
    ),
    stays("priority", VALUE + 1),
    stays("priorityClassName", "system-node-critical"),
    stays("preemptionPolicy", "Never"),
    stays("disruptionMode", {"all": {}}),
    stays("schedulingConstraints", {"topology": [{"key": "rack"}]}),
)
