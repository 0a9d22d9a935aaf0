"""Names by which clusters know each other."""

from __future__ import annotations

import pytest

from api.meta import ObjectMeta
from api.multikueue import ORIGIN_LABEL, is_copy, prebuilt_workload

NAME = "kueue.x-k8s.io/prebuilt-workload-name"


@pytest.mark.parametrize(
    ("label", "annotation", "name"),
    [("", "", ""), ("a", "", "a"), ("", "b", "b"), ("a", "b", "b"), ("a" * 63, "b" * 100, "b" * 100)],
)
def test_the_annotation_is_read_first(label: str, annotation: str, name: str) -> None:
    meta = ObjectMeta(labels={NAME: label} if label else None, annotations={NAME: annotation})
    assert prebuilt_workload(meta) == name


def test_a_copy_has_the_label_of_its_manager() -> None:
    assert is_copy(ObjectMeta(labels={ORIGIN_LABEL: "multikueue"}))
    assert not is_copy(ObjectMeta(labels={"other": "x"}))
    assert not is_copy(ObjectMeta())
