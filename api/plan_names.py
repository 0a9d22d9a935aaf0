"""The names of plans, live and offline."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from api.plans import PreemptionPlanSpec

__all__ = ["PlanKey", "plan_name", "whole_plan_name"]

PlanKey = tuple[str, str]
"""(namespace, name) of a PreemptionPlan."""

MAX_PREFIX = 242
DIGEST = 10
MAX_NAME = 253


def plan_name(spec: PreemptionPlanSpec) -> str:
    """The name of the plan object: at most 253 characters. Equal decisions get equal names.

    Different decisions for one preemptor get different names, because the name ends with a digest. How far the search
    went is no part of the decision.
    """
    decision = replace(spec, search=UNSET)
    digest = hashlib.sha256(msgspec.json.encode(decision)).hexdigest()[:DIGEST]
    # Groups of other kinds have names with colons and capitals: see nodes.groups.keys.
    name = spec.preemptor.name.replace(":", ".").lower()
    # After the cut, the prefix may end in a character that a DNS label must not end in.
    return f"{name[:MAX_PREFIX].rstrip('.-')}-{digest}"


def whole_plan_name(namespace: str, plan: str) -> str:
    """The name of the ClusterPreemptionPlan of a plan: NAMESPACE.NAME, at most 253 characters. No namespace has a dot.

    If that is too long, the middle is left out. The digest stays.
    """
    name = f"{namespace}.{plan}"
    if len(name) <= MAX_NAME:
        return name
    end = plan[-DIGEST - 1 :]
    return name[: MAX_NAME - len(end)].rstrip(".-") + end
