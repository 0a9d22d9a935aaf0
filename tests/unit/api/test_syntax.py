"""Faults of names, as many as apimachinery finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from api.syntax import (
    condition_reason_faults,
    domain_path_faults,
    label_key_faults,
    label_value_faults,
    subdomain_faults,
)
from api.words import shown

LONG = "x" * 64


@pytest.mark.parametrize(
    ("faults", "text", "count"),
    [
        (label_key_faults, "a", 0),
        (label_key_faults, "example.com/A_b.c-1", 0),
        (label_key_faults, "x" * 63, 0),
        (label_key_faults, f"{'a.' * 126}a/b", 0),
        (label_key_faults, "", 2),
        (label_key_faults, "/", 3),
        (label_key_faults, "/a", 1),
        (label_key_faults, "a/", 2),
        (label_key_faults, "a/b/c", 1),
        (label_key_faults, "A/b", 1),
        (label_key_faults, LONG, 1),
        (label_key_faults, f"{LONG}-", 2),
        (label_key_faults, f"{'a.' * 127}a/b", 1),
        (label_key_faults, "\u00e9" * 32, 2),
        (label_key_faults, "a\n", 1),
        (label_value_faults, "", 0),
        (label_value_faults, "A.b_c-1", 0),
        (label_value_faults, "-", 1),
        (label_value_faults, "a/b", 1),
        (label_value_faults, LONG, 1),
        (subdomain_faults, "a.b-c.1", 0),
        (subdomain_faults, "", 1),
        (subdomain_faults, "a..b", 1),
        (subdomain_faults, "x" * 254, 1),
        (subdomain_faults, "X" * 254, 2),
        (domain_path_faults, "acme.io/foo/bar", 0),
        (domain_path_faults, "acme.io/!$&'()*+,;=:%~", 0),
        (domain_path_faults, "acme.io", 1),
        (domain_path_faults, "/foo", 1),
        (domain_path_faults, "acme.io/", 1),
        (domain_path_faults, "ACME.io/a b", 2),
        (condition_reason_faults, "A_b,C:d1", 0),
        (condition_reason_faults, "Ends_", 0),
        (condition_reason_faults, "1a", 1),
        (condition_reason_faults, "a:", 1),
        (condition_reason_faults, "a-b", 1),
    ],
)
def test_faults(faults: Callable[[str], Iterator[str]], text: str, count: int) -> None:
    found = list(faults(text))
    assert len(found) == count
    assert all(shown(text) in fault for fault in found)
