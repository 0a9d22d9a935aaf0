"""Whether two JSON values are the same to Go's API machinery (`apiequality.Semantic.DeepEqual`)."""

from __future__ import annotations

from typing import Any, Final

from api.quantity import Quantity
from webhooks.rules.quantities import quantity

__all__ = ["same"]

AMOUNTS: Final = frozenset({"limits", "overhead", "requests", "resourceUsage"})
"""Maps whose values are quantities."""
AMOUNT: Final = frozenset({"divisor", "sizeLimit"})
MAPS: Final = frozenset(
    {
        "annotations",
        "flavors",
        "labels",
        "matchLabels",
        "nodeSelector",
        "options",
        "userAnnotations",
        "volumeAttributes",
    }
)
"""Maps whose keys are anybody's, and no fields."""
VALUES: Final = frozenset({"metadata", "resources", "spec", "template"}) | AMOUNTS | MAPS
"""Fields that are no pointers in Go, or maps: empty, they are the same as absent."""
MEANINGFUL: Final = frozenset({
    "cachingMode", "fsGroupChangePolicy", "gmsaCredentialSpec", "gmsaCredentialSpecName", "hostnameOverride",
    "localhostProfile", "mountPropagation", "nodeAffinityPolicy", "nodeTaintsPolicy", "podIndexLabel",
    "podSetGroupName", "podSetSliceRequiredTopology", "preemptionPolicy", "preferred", "procMount",
    "recursiveReadOnly", "required", "resourceClaimName", "resourceClaimTemplateName", "runAsUserName",
    "runtimeClassName", "seLinuxChangePolicy", "service", "stopSignal", "storageClassName",
    "subGroupIndexLabel", "supplementalGroupsPolicy", "volumeAttributesClassName", "volumeMode",
})  # fmt: skip
"""Text that is a pointer in Go: empty, it is not the same as absent."""
FLAGS: Final = frozenset({
    "chapAuthDiscovery", "chapAuthSession", "hostIPC", "hostNetwork", "hostPID", "readOnly", "sslEnabled",
    "stdin", "stdinOnce", "tty",
})  # fmt: skip
"""Booleans that are no pointers in Go."""
COUNTS: Final = frozenset({
    "failureThreshold", "hostPort", "initialDelaySeconds", "partition", "periodSeconds", "successThreshold",
    "timeoutSeconds", "weight",
})  # fmt: skip
"""Numbers that are no pointers in Go."""


def same(left: Any, right: Any) -> bool:
    """Nothing and an empty list or map are the same, as are 1 and 1000m where quantities stand."""
    return bool(left == right) or bool(_plain(left) == _plain(right))


def _plain(value: Any) -> Any:
    """One way of writing each value."""
    if isinstance(value, dict):
        return {key: plain for key, item in value.items() if (plain := _field(key, item)) is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _field(name: str, value: Any) -> Any:
    """The field's value, None if it is the same as absent."""
    if isinstance(value, dict):
        if name in AMOUNTS:
            plain: Any = {key: _amount(amount) for key, amount in value.items()}
        elif name in MAPS:
            plain = value
        else:
            plain = _plain(value)
        return None if not plain and name in VALUES else plain
    if value == "" and name in MEANINGFUL:
        return value
    if value in ("", []) or (value is False and name in FLAGS) or (value == 0 and name in COUNTS):
        return None
    return _amount(value) if name in AMOUNT else _plain(value)


def _amount(value: Any) -> Any:
    amount = quantity(value)
    return value if amount is None else _Amount(amount)


class _Amount:
    """A quantity that equals whatever is as much."""

    __slots__ = ("_quantity",)
    __hash__ = None  # type: ignore[assignment]  # equal ones would have to have the same

    def __init__(self, amount: Quantity) -> None:
        self._quantity = amount

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Amount):
            return NotImplemented
        left, right = self._quantity, other._quantity
        return not left.exceeds(right) and not right.exceeds(left)
