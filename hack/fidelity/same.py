"""Objects in a form in which two of them are equal if no engine tells them apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from api.core import Pod, PodDisruptionBudget
from api.meta import ObjectMeta
from api.quantity import QuantityError, parse
from api.requests import pod_requests
from nodes.state.groups.allowances import is_counted

__all__ = ["plain"]

Json = Any

OF_THE_SERVER: Final = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "finalizers"}
)
"""Metadata that an API server gives to every object, and names, which are the same."""
BOOKKEEPING: Final = frozenset(
    {
        "kubernetes.io/limit-ranger",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "job-name",
        "batch.kubernetes.io/job-name",
    }
)
"""Annotations and labels that say what was added, or which Job pods are of. The Job has them, too, if it has its labels
from its template."""
NOT_READY: Final = "node.kubernetes.io/not-ready"
"""Every new Node has this taint until its kubelet says that it is ready. A Node in a file counts as ready."""
EMPTY: Final[tuple[Any, ...]] = (None, False, "", [], {})
"""What a field has that is not set."""


def plain(thing: Any) -> Json:
    """The object as JSON, without what an API server gives to every object. Quantities are exact numbers."""
    value = _builtins(thing)
    if isinstance(thing, PodDisruptionBudget) and not is_counted(thing):
        # An API server stores zeros. What counts is that no controller has counted yet.
        value.pop("status", None)
    if isinstance(thing, Pod):
        spec = value["spec"]
        # An API server may write requests of the whole pod that change nothing: what counts is compared.
        spec.pop("resources", None)
        spec["counted"] = pod_requests(thing)
        spec["tolerations"] = _needed(spec.get("tolerations") or [])
        labels = value["metadata"].get("labels") or {}
        for each in [*(spec.get("topologySpreadConstraints") or []), *_terms(spec.get("affinity") or {})]:
            _merge_keys(each, labels)
    status = value.get("status")
    if isinstance(status, dict):
        status.pop("conditions", None)
        if isinstance(thing, Pod):
            status.pop("phase", None)
    if taints := (value.get("spec") or {}).get("taints") if isinstance(value.get("spec"), dict) else None:
        value["spec"]["taints"] = [each for each in taints if each["key"] != NOT_READY]
    if isinstance(thing, ObjectMeta):
        return _clean(_own(value))
    return _clean({**value, "metadata": _own(value.get("metadata") or {})})


def _own(meta: Json) -> Json:
    return {name: meta[name] for name in meta.keys() - OF_THE_SERVER}


def _builtins(value: Any) -> Json:
    """The value with all its fields, also those that have their defaults."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        return {encoded: _builtins(getattr(value, name)) for name, encoded in names}
    if isinstance(value, dict):
        return {name: _builtins(part) for name, part in value.items()}
    return [_builtins(each) for each in value] if isinstance(value, list) else value


def _clean(value: Json) -> Json:
    if isinstance(value, dict):
        parts = {name: _clean(part) for name, part in value.items() if name not in BOOKKEEPING}
        return {name: part for name, part in parts.items() if not _is_empty(part)}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return _exact(value)


def _is_empty(value: Json) -> bool:
    return any(value is each or (type(value) is type(each) and value == each) for each in EMPTY)


def _exact(value: Json) -> Json:
    """A quantity as a number; every other text as it is. Numbers that are no quantities become texts on both sides."""
    if isinstance(value, bool) or value is None:
        return value
    try:
        found = parse(value)
    except QuantityError:
        return value
    unscaled, exponent = found.unscaled, found.exponent
    while unscaled and unscaled % 10 == 0:
        unscaled, exponent = unscaled // 10, exponent + 1
    return f"{unscaled}e{exponent}" if unscaled else "0"


# ---- pods


def _terms(affinity: Json) -> Iterator[Json]:
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from (affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def _merge_keys(thing: Json, labels: Json) -> None:
    """Put what matchLabelKeys and mismatchLabelKeys mean into the selector, as an API server and our filters do."""
    selector = thing.get("labelSelector")
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in thing.get(field) or () if selector is not None else ():
            own = {"key": key, "operator": operator, "values": [labels[key]]} if key in labels else None
            expressions = selector["matchExpressions"] = selector.get("matchExpressions") or []
            if own is not None and own not in expressions:
                expressions.append(own)


def _needed(tolerations: list[Json]) -> list[Json]:
    """The tolerations without those that another one includes, in one order."""
    found = list[Json]()
    for each in tolerations:
        each.pop("tolerationSeconds", None)
        if each.get("operator") == "Equal":
            del each["operator"]
        if each not in found:
            found.append(each)
    kept = [each for each in found if not any(_includes(other, each) for other in found if other is not each)]
    return sorted(kept, key=str)


def _includes(one: Json, other: Json) -> bool:
    if one.get("effect", "") not in ("", other.get("effect", "")):
        return False
    if one.get("operator") == "Exists":
        return one.get("key", "") in ("", other.get("key", ""))
    same = [one.get(name, "") == other.get(name, "") for name in ("key", "value", "operator")]
    return all(same)
