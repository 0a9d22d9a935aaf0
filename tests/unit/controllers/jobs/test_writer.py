"""Which pods of a Job are left."""

from __future__ import annotations

from typing import cast

from controllers.jobs.writer import JobWriter
from kube.client import ApiClient
from kube.sender import Sender
from tests.kit.apiserver import Api


async def test_pods_that_are_left_are_found_behind_many_that_have_ended() -> None:
    api = Api()
    labels = {"batch.kubernetes.io/controller-uid": "u"}
    for name, phase in [(f"ended-{number}", "Succeeded") for number in range(5)] + [("left", "Running")]:
        meta = {"name": name, "namespace": "ns", "labels": labels}
        api.put("/api/v1/pods", {"metadata": meta, "status": {"phase": phase}})
    client = cast(ApiClient, api)
    writer = JobWriter(client, Sender(client), lambda _: None, lambda _: None)
    assert await writer.pods_of("ns", "u") == ["left"]
