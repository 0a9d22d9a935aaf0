"""Cohort: Kueue's rules, and our own ones for whole amounts and for a Cohort that is its own parent."""

from __future__ import annotations

from collections.abc import Iterator

from api.words import shown
from schema.verdict import INVALID, Cause, Verdict
from webhooks.rules.fields import child, text
from webhooks.rules.kueue import kueue_causes
from webhooks.rules.quotas import Owner, resource_group_causes, weight_causes
from webhooks.rules.ratchet import new_causes
from webhooks.rules.request import Object, Request
from webhooks.rules.whole_amounts import quota_causes

__all__ = ["validate"]


def validate(request: Request) -> Verdict:
    """The faults of the Cohort."""
    if request.subresource:
        return Verdict()
    return Verdict.of([*kueue_causes(_causes, request), *new_causes(_own_causes, request)])


def _causes(request: Request) -> Iterator[Cause]:
    spec = child(request.new, "spec")
    yield from weight_causes(spec)
    owner = Owner("parent", has_parent=bool(text(spec, "parentName")), lends_own=False)
    yield from resource_group_causes(spec, owner)


def _own_causes(cohort: Object) -> Iterator[Cause]:
    """Kueue takes such a Cohort, and then none of its ClusterQueues admits anything."""
    spec, name = child(cohort, "spec"), text(child(cohort, "metadata"), "name")
    yield from quota_causes(spec)
    if name and text(spec, "parentName") == name:
        yield Cause("spec.parentName", INVALID, f"{shown(name)} is the Cohort itself")
