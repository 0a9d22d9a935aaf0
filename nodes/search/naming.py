"""The names of plans, live and offline."""

from __future__ import annotations

import hashlib

import msgspec

from api.plans import PreemptionPlanSpec

__all__ = ["plan_name"]

MAX_PREFIX = 242


def plan_name(spec: PreemptionPlanSpec) -> str:
    """The name of the plan object: at most 253 characters. Equal decisions get equal names.

    Different decisions for one preemptor get different names, because the name ends with a digest.
    """
    digest = hashlib.sha256(msgspec.json.encode(spec)).hexdigest()[:10]
    # After the cut, the prefix may end in a character that a DNS label must not end in.
    return f"{spec.preemptor.name[:MAX_PREFIX].rstrip('.-')}-{digest}"
