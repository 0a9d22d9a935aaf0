"""How deep JSON is nested: a limit for what is judged recursively."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["is_shallow", "nested_deeper"]

ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
IRRELEVANT: Final = bytes(set(range(256)) - set(b'[]{}"'))
FEW: Final = 1 << 14
"""Brackets, of a review a few hundred. With more of them, one look at every value is less than many at all brackets."""


def is_shallow(text: bytes, limit: int) -> bool:
    """True only if nothing in this text, which is valid JSON, is nested more than `limit` deep.

    Never looks at a value, so that it takes a quarter of the time of `nested_deeper`; what it cannot tell (a string
    has a bracket in it) is False.
    """
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    left = text.translate(ONE_KIND, IRRELEVANT).replace(b'""', b"")
    if b'"' in left or len(left) > FEW:
        return False
    for _ in range(limit):
        if not left:
            return True
        left = left.replace(b"[]", b"")
    return not left


def nested_deeper(value: Any, limit: int) -> bool:
    """Whether objects and lists are nested more than `limit` deep; level by level, so that depth costs no stack."""
    level = [] if value is None else [value]
    for _ in range(limit):
        inner = []
        for each in level:
            for child in each.values() if type(each) is dict else each:
                kind = type(child)  # isinstance takes three times as long, and this looks at every value
                if kind is dict or kind is list:
                    inner.append(child)
        if not inner:
            return False
        level = inner
    return bool(level)
