"""What says whether two specs of Workloads mean the same.

The manager's Workload and its copy pass through different API servers and writers. One leaves out what another writes
as null or as an empty object, and Go writes quantities anew (1000m becomes 1). None of that is a difference. Fields
that the manager passes on by themselves, or that a worker may change, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import orjson

from api.quantity import QuantityError, parse

__all__ = ["digest"]

BYTES: Final = 16
LEFT_OUT: Final = frozenset({"preemptionGates", "priority", "priorityClassRef", "active"})
AMOUNTS: Final = frozenset({"requests", "limits", "overhead", "capacity"})
"""Fields that are maps of quantities, wherever they are in a pod template."""
AMOUNT: Final = frozenset({"sizeLimit", "divisor", "storage"})
"""Fields that are quantities."""
LONGEST: Final = 64
"""Quantities of more characters are compared as texts."""


def digest(spec: Mapping[str, Any]) -> bytes:
    """16 bytes that are equal for specs that mean the same, apart from gates, priority and `active`.

    `spec` is the spec of a Workload as decoded JSON.
    """
    kept = {
        name: clean
        for name, value in spec.items()
        if name not in LEFT_OUT and not _is_empty(clean := _clean(name, value))
    }
    return blake2b(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS), digest_size=BYTES).digest()


def _clean(name: str, value: Any) -> Any:
    """The value of a field without what means nothing."""
    if isinstance(value, dict):
        amounts = name in AMOUNTS
        return {
            key: clean
            for key, each in value.items()
            if not _is_empty(clean := _amount(each) if amounts else _clean(key, each))
        }
    if isinstance(value, list):
        return [_clean("", each) for each in value]  # an empty element has its place
    return _amount(value) if name in AMOUNT else value


def _amount(value: Any) -> Any:
    """A quantity in one form; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return _clean("", value)
    if isinstance(value, str) and len(value) > LONGEST:
        return value
    try:
        unscaled, exponent, _ = parse(value)
    except QuantityError:
        return value
    if not unscaled:
        return "0"
    digits = str(unscaled)
    short = digits.rstrip("0")
    return f"{short}e{exponent + len(digits) - len(short)}"


def _is_empty(value: Any) -> bool:
    return value is None or value == {} or value == []
