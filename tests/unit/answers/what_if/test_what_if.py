"""what-if is a function of a picture: it leaves the picture as it was."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from answers.picture import Picture
from answers.reading.submissions import ClusterObjects, SubmissionReader
from answers.submission import Submission
from answers.what_if.answer import what_if
from nodes.state.groups.group_columns import columns_of
from quota.state.workloads import time_us
from tests.kit.pages import ROOT

EXAMPLES = ROOT / "examples"
MOMENT = time_us("2026-03-01T12:00:00Z", "now")


def asked(cluster: str, *files: str) -> tuple[Picture, Submission]:
    objects, reader = ClusterObjects(MOMENT), SubmissionReader("default")
    objects.add_file((EXAMPLES / cluster).read_bytes(), cluster)
    for each in files:
        reader.add_file((EXAMPLES / each).read_bytes(), each)
    return objects.picture(), reader.expand({}, {})


def held(picture: Picture) -> dict[str, Any]:
    """What a picture has, as far as what-if lays something over it."""
    snapshot = picture.nodes.snapshot
    return {
        "workloads": dict(picture.quota.workloads),
        "used": snapshot.used.tolist(),
        "nodes of pods": snapshot.pod_node.tolist(),
        "live": snapshot.pod_live.tolist(),
        "groups": [*zip(snapshot.group_keys, snapshot.groups, strict=True)],
        "minimum": snapshot.group_columns.minimum.tolist(),
    }


@pytest.mark.parametrize(
    ("cluster", "files", "outcome"),
    [
        ("what-if/cluster.yaml", ("what-if/train.yaml", "what-if/web.yaml"), "RunsAfterEvictions"),
        ("why/queue.yaml", ("what-if/queued.yaml",), "WaitsForQuota"),
    ],
)
def test_the_picture_stays_as_it_was(cluster: str, files: tuple[str, ...], outcome: str) -> None:
    picture, submission = asked(cluster, *files)
    before = deepcopy(held(picture))
    answer = what_if(picture, submission)
    assert outcome in [each.outcome for each in answer.steps]
    assert held(picture) == before
    assert what_if(picture, submission).plain() == answer.plain()


def test_the_columns_of_groups_are_made_anew_only_for_groups_that_are_submitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = list[int]()

    def noted(keys: Any, *given: Any) -> Any:
        made.append(len(keys))
        return columns_of(keys, *given)

    monkeypatch.setattr("nodes.answers.with_groups.columns_of", noted)
    picture, submission = asked("what-if/cluster.yaml", "what-if/web.yaml")
    what_if(picture, submission)
    assert (submission.groups, made) == ((), [])
    picture, submission = asked("what-if/cluster.yaml", "what-if/train.yaml")
    what_if(picture, submission)
    assert len(made) == bool(submission.groups)
