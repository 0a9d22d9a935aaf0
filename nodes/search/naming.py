"""What plans are called, live and offline."""

from __future__ import annotations

import hashlib

import msgspec

from api.plans import PreemptionPlanSpec

__all__ = ["plan_name"]

MAX_PREFIX = 242


def plan_name(spec: PreemptionPlanSpec) -> str:
    """One name per decision: the same decision for the same preemptor has the same name, another one another."""
    digest = hashlib.sha256(msgspec.json.encode(spec)).hexdigest()[:10]
    # Cut within a name, what is left may end in a character that a DNS label cannot end in.
    return f"{spec.preemptor.name[:MAX_PREFIX].rstrip('.-')}-{digest}"
