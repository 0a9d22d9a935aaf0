"""Labels, annotations and other qualified names, checked as apimachinery checks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from api.names import is_label_value, is_qualified_name
from api.syntax import label_key_faults, label_value_faults
from schema.verdict import INVALID, TOO_LONG, Cause

__all__ = ["annotation_causes", "invalid", "label_causes", "label_key_causes"]

MAX_ANNOTATIONS: Final = 256 * 1024


def invalid(path: str, faults: Iterable[str]) -> Iterator[Cause]:
    """A cause for each fault."""
    return (Cause(path, INVALID, fault) for fault in faults)


def label_key_causes(key: str, path: str) -> Iterator[Cause]:
    """The faults of one label key or other qualified name."""
    return invalid(path, label_key_faults(key))


def label_causes(labels: Mapping[str, str], path: str) -> Iterator[Cause]:
    """The faults of a map of labels. Every cause has the path of the map."""
    for key, value in labels.items():
        # Nearly all labels are right. To look for their faults anyway would take a fifteenth of the review of a
        # Workload.
        if not is_qualified_name(key):
            yield from invalid(path, label_key_faults(key))
        if not is_label_value(value):
            yield from invalid(path, label_value_faults(value))


def annotation_causes(annotations: Mapping[str, str], path: str) -> Iterator[Cause]:
    """The faults of a map of annotations. Every cause has the path of the map."""
    for key in annotations:
        yield from invalid(path, label_key_faults(key.lower()))
    size = sum(len(part.encode(errors="replace")) for pair in annotations.items() for part in pair)
    if size > MAX_ANNOTATIONS:
        yield Cause(path, TOO_LONG, f"all annotations together are {size} bytes, more than {MAX_ANNOTATIONS}")
