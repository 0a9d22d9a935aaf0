"""Cohort (Kueue's rules)."""

from __future__ import annotations

from collections.abc import Iterator

from schema.verdict import Cause, Verdict
from webhooks.rules.fields import child, text
from webhooks.rules.kueue import kueue_causes
from webhooks.rules.quotas import Owner, resource_group_causes, weight_causes
from webhooks.rules.request import Request

__all__ = ["validate"]


def validate(request: Request) -> Verdict:
    """The faults of the Cohort."""
    return Verdict() if request.subresource else Verdict.of(kueue_causes(_causes, request))


def _causes(request: Request) -> Iterator[Cause]:
    spec = child(request.new, "spec")
    yield from weight_causes(spec)
    owner = Owner("parent", has_parent=bool(text(spec, "parentName")), lends_own=False)
    yield from resource_group_causes(spec, owner)
