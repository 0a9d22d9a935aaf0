"""The faults of a name, in words. Like apimachinery's util/validation, a check may find several faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from api.names import MAX_NAME, MAX_SUBDOMAIN, NAME, SUBDOMAIN, is_label_value, is_qualified_name
from api.words import shown

__all__ = [
    "condition_reason_faults",
    "domain_path_faults",
    "label_key_faults",
    "label_value_faults",
    "subdomain_faults",
    "whole_number",
]

PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
DIGITS: Final = 10
"""No number of 32 bits has more."""
NAME_WORDS: Final = "letters, digits, '-', '_' and '.', with a letter or digit at either end"


def label_key_faults(key: str) -> Iterator[str]:
    """The faults of a label key, resource name, taint key or condition type.

    A valid one is a name, optionally after a subdomain and a slash.
    """
    if is_qualified_name(key):
        return
    parts = key.split("/")
    if len(parts) > 2:
        yield f"{shown(key)} has more than one slash"
        return
    if len(parts) == 2:
        if not parts[0]:
            yield f"the prefix of {shown(key)} is empty"
        else:
            yield from (f"the prefix of {shown(key)} {fault}" for fault in _subdomain(parts[0]))
    yield from (f"the name in {shown(key)} {fault}" for fault in _name(parts[-1]))


def label_value_faults(value: str) -> Iterator[str]:
    """The faults of a label value, which may be empty."""
    if not is_label_value(value):
        yield from (f"{shown(value)} {fault}" for fault in _name(value))


def subdomain_faults(text: str) -> Iterator[str]:
    """The faults of a DNS subdomain (RFC 1123), which is the form of object names."""
    yield from (f"{shown(text)} {fault}" for fault in _subdomain(text))


def domain_path_faults(text: str) -> Iterator[str]:
    """The faults of a subdomain with a path, as in acme.io/foo."""
    host, _, path = text.partition("/")
    if not host or not path:
        yield f"{shown(text)} is not a domain and a path, as in acme.io/foo"
        return
    yield from (f"the domain of {shown(text)} {fault}" for fault in _subdomain(host))
    if PATH.fullmatch(path) is None:
        yield f"the path of {shown(text)} has characters that a URL's path may not have"


def condition_reason_faults(reason: str) -> Iterator[str]:
    """The faults of the reason of a condition, which must not be empty."""
    if REASON.fullmatch(reason) is None:
        yield f"{shown(reason)} is not a word of letters, digits, '_', ',' and ':' that begins with a letter"


def whole_number(text: str, least: int, most: int) -> int | None:
    """The number that the text is, in ASCII digits and within these bounds; None if it is no such number."""
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS):
        return None
    number = int(text)
    return number if least <= number <= most else None


def _subdomain(text: str) -> Iterator[str]:
    if len(text.encode(errors="replace")) > MAX_SUBDOMAIN:
        yield f"is longer than {MAX_SUBDOMAIN} bytes"
    if SUBDOMAIN.fullmatch(text) is None:
        yield "is not made of lower case letters, digits, '-' and '.', with a letter or digit at either end"


def _name(text: str) -> Iterator[str]:
    if not text:
        yield "is empty"
    elif len(text.encode(errors="replace")) > MAX_NAME:
        yield f"is longer than {MAX_NAME} bytes"
    if NAME.fullmatch(text) is None:
        yield f"is not made of {NAME_WORDS}"
