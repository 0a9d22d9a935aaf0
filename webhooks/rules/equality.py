"""Compares two JSON values as Go's API machinery does (`apiequality.Semantic.DeepEqual`)."""

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
"""Maps whose keys users choose. Their keys are not fields."""
VALUES: Final = frozenset({"metadata", "resources", "spec", "template"}) | AMOUNTS | MAPS
"""Maps, and fields that are not pointers in Go. If they are empty, they equal an absent field."""
MEANINGFUL: Final = frozenset({
    "cachingMode", "fsGroupChangePolicy", "gmsaCredentialSpec", "gmsaCredentialSpecName", "hostnameOverride",
    "localhostProfile", "mountPropagation", "nodeAffinityPolicy", "nodeTaintsPolicy", "podIndexLabel",
    "podSetGroupName", "podSetSliceRequiredTopology", "preemptionPolicy", "preferred", "procMount",
    "recursiveReadOnly", "required", "resourceClaimName", "resourceClaimTemplateName", "runAsUserName",
    "runtimeClassName", "seLinuxChangePolicy", "service", "stopSignal", "storageClassName",
    "subGroupIndexLabel", "supplementalGroupsPolicy", "volumeAttributesClassName", "volumeMode",
})  # fmt: skip
"""Texts that are pointers in Go. An empty one does not equal an absent field."""
FLAGS: Final = frozenset({
    "chapAuthDiscovery", "chapAuthSession", "hostIPC", "hostNetwork", "hostPID", "readOnly", "sslEnabled",
    "stdin", "stdinOnce", "tty",
})  # fmt: skip
"""Booleans that are not pointers in Go."""
COUNTS: Final = frozenset({
    "failureThreshold", "hostPort", "initialDelaySeconds", "partition", "periodSeconds", "successThreshold",
    "timeoutSeconds", "weight",
})  # fmt: skip
"""Numbers that are not pointers in Go."""


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same. An absent value equals an empty list or map. As quantities, 1 equals 1000m."""
    return bool(left == right) or bool(_plain(left) == _plain(right))


def _plain(value: Any) -> Any:
    """The value in a form in which equal values are written alike."""
    if isinstance(value, dict):
        return {key: plain for key, item in value.items() if (plain := _field(key, item)) is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _field(name: str, value: Any) -> Any:
    """The value of the field; None if it is the same as an absent field."""
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
    """A quantity. It equals any quantity of the same amount."""

    __slots__ = ("_quantity",)
    __hash__ = None  # type: ignore[assignment]  # equal ones would have to have the same

    def __init__(self, amount: Quantity) -> None:
        self._quantity = amount

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Amount):
            return NotImplemented
        left, right = self._quantity, other._quantity
        return not left.exceeds(right) and not right.exceeds(left)
