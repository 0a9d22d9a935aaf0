"""A worker that was taken over. Its cluster is inactive, or out. What it answers is in no status of the manager, and
the other worker does the work."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from aiohttp import web

from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import REPRIEVE, wait_for
from tests.kit.often import SELDOM
from tests.multicluster.box import Box, Boxes
from tests.multicluster.liar import STOLEN, Answer, liar_before, poured
from tests.multicluster.trio import MANAGER, Trio


def _active(trio: Trio, name: str) -> tuple[str, str]:
    """Reason and message of the condition Active of a MultiKueueCluster."""
    found = trio.client(MANAGER).get(KUEUE, "MultiKueueCluster", name)
    conditions = found.get("status", {}).get("conditions") or ()
    said = next((each for each in conditions if each["type"] == "Active"), {"reason": "", "message": ""})
    return said["reason"], said["message"]


def _until_active(trio: Trio, name: str, reason: str, text: str = "") -> None:
    wait_for(
        lambda: _active(trio, name)[0] == reason and text in _active(trio, name)[1],
        what=lambda: f"{name}: {_active(trio, name)}",
    )


def _nothing_is_shown(box: Box, trio: Trio) -> None:
    """No object of the manager has a text of the worker's answers."""
    client = trio.client(MANAGER)
    kinds = (
        (KUEUE, "Workload"),
        (REPRIEVE, "DispatchPlan"),
        ("events.k8s.io/v1", "Event"),
        ("batch/v1", "Job"),
    )
    for version, kind in kinds:
        assert STOLEN not in str(client.list(version, kind, box.name)), kind
    for kind in ("MultiKueueCluster", "AdmissionCheck"):
        assert STOLEN not in str(client.list(KUEUE, kind)), kind


def pours(part: str, *, watch: bool) -> Answer:
    """Answers without end to GETs whose path ends so."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        is_watch = request.query.get("watch") == "true"
        if request.method != "GET" or not request.path.endswith(part) or is_watch is not watch:
            return None
        return await poured(request)

    return answer


def says(code: int, method: str, part: str) -> Answer:
    """Requests of that method whose path has `part` get the code and a text."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if request.method != method or part not in request.path:
            return None
        body = {"kind": "Status", "code": code, "reason": STOLEN, "message": STOLEN}
        return web.Response(status=code, body=orjson.dumps(body), headers={"Retry-After": "2"})

    return answer


@SELDOM
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (pours("/workloads", watch=False), "workloads: an answer has more than 64 MiB"),
        (pours("/workloads", watch=True), "workloads: a line of a watch has more than 8 MiB"),
        (pours("/jobs", watch=True), "jobs: a line of a watch has more than 8 MiB"),
        (says(401, "GET", "/jobs"), "jobs: HTTP 401 Unauthorized"),
    ],
)
def test_answers_that_no_api_server_gives_make_the_cluster_inactive(
    boxes: Boxes, trio: Trio, tmp_path: Path, answer: Answer, said: str
) -> None:
    box = boxes("excess", beta=4)
    with liar_before(trio, "alpha", tmp_path, answer) as liar:
        box.job("train", 1)
        workload = box.workload_of("train")
        _until_active(trio, "alpha", "ClientConnectionFailed", said)
        box.until_admitted(workload)
        _nothing_is_shown(box, trio)
        liar.answer = None
        _until_active(trio, "alpha", "Active")
    _until_active(trio, "alpha", "Active")


@SELDOM
@pytest.mark.parametrize(
    ("code", "method", "part"),
    [
        (403, "POST", "/workloads"),
        (500, "POST", "/workloads"),
        (429, "POST", "/jobs"),
        (500, "POST", "/jobs"),
    ],
)
def test_a_worker_that_refuses_or_fails_says_nothing_here(
    boxes: Boxes, trio: Trio, tmp_path: Path, code: int, method: str, part: str
) -> None:
    """The line of the cluster has our words and the code, as long as it fails."""
    box = boxes("codes", beta=0)
    with liar_before(trio, "alpha", tmp_path) as liar:
        wait_for(lambda: liar.asked, what=lambda: "nobody asks")
        _until_active(trio, "alpha", "Active")
        liar.answer = says(code, method, part)
        box.job("train", 1)
        workload = box.workload_of("train")

        def line() -> str:
            checks = box.manager.get(workload).get("status", {}).get("admissionChecks") or [{}]
            return str(checks[0].get("message", ""))

        wait_for(lambda: str(code) in line(), what=lambda: f"{line()}\n{box.story()}")
        _nothing_is_shown(box, trio)
        liar.answer = None
        if code != 403:
            assert box.until_admitted(workload) == "alpha"
        else:
            box.beta.set_quota("q", 4)
            assert box.until_admitted(workload) == "beta"
    _until_active(trio, "alpha", "Active")
