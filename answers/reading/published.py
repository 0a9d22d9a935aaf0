"""The Lease of the leader, for commands that decide as it would. It is one object among many Leases."""

from __future__ import annotations

from typing import Final

from answers.native_gangs import NativeSaid
from answers.reading.documents import Kind, One
from api.meta import ObjectMeta, Struct
from api.owner_annotations import ByOwner, parse_by_owner
from api.published import BY_OWNER, MAX_BACKOFF, NAMESPACE, NATIVE_GROUPS, PLANNING_MODE, PROCESS
from api.validation import FieldError

__all__ = ["LEASE", "LEASE_KIND", "PublishedLease", "by_owner_said", "native_said"]

LEASE: Final = ("coordination.k8s.io/v1", "Lease")


class PublishedLease(Struct):
    """coordination.k8s.io/v1 Lease, as far as it says what the process does."""

    metadata: ObjectMeta


LEASE_KIND: Final = Kind(PublishedLease, True, one=One("leases", NAMESPACE, PROCESS))


def by_owner_said(lease: PublishedLease) -> ByOwner | None:
    """The `groups.byOwner` of the process; None if it does not say it. Raises FieldError."""
    said = (lease.metadata.annotations or {}).get(BY_OWNER)
    if said is None:
        return None
    try:
        return parse_by_owner(said)
    except ValueError as error:
        raise FieldError(f"metadata.annotations[{BY_OWNER}]", str(error)) from None


def native_said(lease: PublishedLease) -> NativeSaid:
    """What the process says about gangs of kube-scheduler's own kind. Raises FieldError."""
    said = lease.metadata.annotations or {}
    text = said.get(MAX_BACKOFF)
    try:
        return NativeSaid(
            said.get(NATIVE_GROUPS, ""), float(text) if text else None, said.get(PLANNING_MODE, "")
        )
    except ValueError:
        raise FieldError(f"metadata.annotations[{MAX_BACKOFF}]", f"must be a number, not {text!r}") from None
