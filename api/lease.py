"""The Lease of coordination.k8s.io/v1: who may act, and until when."""

from __future__ import annotations

from api.meta import ObjectMeta, Struct

__all__ = ["Lease", "LeaseSpec"]


class LeaseSpec(Struct):
    """coordination.k8s.io/v1 LeaseSpec, in part. Each write replaces all of these fields."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Struct, kw_only=True):
    """coordination.k8s.io/v1 Lease."""

    metadata: ObjectMeta
    spec: LeaseSpec | None = None
