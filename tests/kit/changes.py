"""Manifests with something changed in them, and what may be put in."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import strategies as st

JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def changed(thing: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy with one field set, or left out where the value is `...`; `path` is as in `spec.podSets.0.count`."""
    copy: dict[str, Any] = json.loads(json.dumps(thing))
    *parents, last = path.split(".")
    inner: Any = copy
    for step in parents:
        inner = inner[int(step)] if isinstance(inner, list) else inner.setdefault(step, {})
    if value is ...:
        del inner[last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = value
    return copy
