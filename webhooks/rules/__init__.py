"""What is checked, and completed, when an object is written: one module for each kind.

Everything here is a function of its request: no clock, no client, and nothing that is given is changed. The schema,
its defaults and its CEL rules come first (an API server's own work); what is here may rely on none of it, since an
API server tolerates what was invalid before. Rules taken from Kueue apply to the whole object at every update, as
Kueue's do; rules of our own do not hold up an update for a fault that is stored already.
"""

from __future__ import annotations

from schema.verdict import Verdict
from webhooks.rules.kinds import KINDS
from webhooks.rules.request import Object, Operation, Request

__all__ = ["KINDS", "Object", "Operation", "Request", "default", "validate"]


def validate(request: Request) -> Verdict:
    """What is wrong with the object after defaulting; nothing, for a kind without rules.

    An object that is being deleted is not checked unless more changes than its metadata: it has to lose its
    finalizers whatever else is wrong with it.
    """
    rules = KINDS.get(request.kind)
    if rules is None or (_is_deleted(request) and _only_metadata_changes(request)):
        return Verdict()
    return rules.validate(request)


def default(request: Request) -> Object:
    """The object with what is filled in; the same object if that is nothing.

    Raises NotSynced if that depends on objects that are not mirrored yet.
    """
    rules = KINDS.get(request.kind)
    if rules is None or rules.default is None or _is_deleted(request):
        return request.new
    return rules.default(request)


def _is_deleted(request: Request) -> bool:
    metadata = (request.old or {}).get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))


def _only_metadata_changes(request: Request) -> bool:
    old = request.old or {}
    return {**request.new, "metadata": None} == {**old, "metadata": None}
