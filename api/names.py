"""The syntax of label keys, label values and resource names (apimachinery's util/validation)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["is_label_value", "is_qualified_name", "is_subdomain"]

SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
MAX_SUBDOMAIN: Final = 253
MAX_NAME: Final = 63


def is_qualified_name(text: str) -> bool:
    """Whether the text is a name of at most 63 characters, optionally after a DNS subdomain and a slash."""
    return len(text) <= MAX_SUBDOMAIN + 1 + MAX_NAME and _is_qualified_name(text)


def is_subdomain(text: str) -> bool:
    """Whether the text is a DNS subdomain (RFC 1123), as the names of most objects are."""
    return len(text) <= MAX_SUBDOMAIN and SUBDOMAIN.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Whether the text is empty or valid as the name part of a qualified name."""
    return not text or (len(text) <= MAX_NAME and _is_name(text))


@lru_cache(maxsize=1 << 12)
def _is_qualified_name(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return _is_name(name)


@lru_cache(maxsize=1 << 12)
def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and NAME.fullmatch(text) is not None
