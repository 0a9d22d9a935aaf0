"""A small controller of admission checks (docs/admission-checks.md): Workloads are admitted while a window is open.

It serves every AdmissionCheck whose spec.controllerName is example.com/window. The window is open while the ConfigMap
`window` in its own namespace has `open: "true"`. While it is closed, the check says Retry, and each time the Workload
waits twice as long. A Workload with the annotation example.com/never is rejected.

    pip install kubernetes-asyncio
    python examples/checks/window.py --namespace window
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client.exceptions import ApiException

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
CONTROLLER = "example.com/window"
FIRST_DELAY, LONGEST_DELAY = 5, 600
APPLY = "application/apply-patch+yaml"

log = logging.getLogger("window")

Json = dict[str, Any]


# ---- what the check says: plain functions


def verdict(workload: Json, retries: int, is_open: bool) -> Json:
    """State, message and delay. `retries`: how often this check has said Retry so far (`retryCount`)."""
    if "example.com/never" in (workload["metadata"].get("annotations") or {}):
        return {"state": "Rejected", "message": "it has the annotation example.com/never"}
    if is_open:
        return {"state": "Ready", "message": "the window is open"}
    delay = min(FIRST_DELAY * 2 ** min(retries, 20), LONGEST_DELAY)
    return {"state": "Retry", "message": "the window is closed", "requeueAfterSeconds": delay}


def to_judge(workload: Json, checks: set[str]) -> list[Json]:
    """The checks of the Workload that wait for us: it holds quota, and they are Pending."""
    status = workload.get("status") or {}
    true = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
    if "QuotaReserved" not in true or true & {"Evicted", "Finished"}:
        return []
    return [
        each
        for each in status.get("admissionChecks") or ()
        if each["name"] in checks and each["state"] == "Pending"
    ]


def patch_of(workload: Json, check: str, said: Json) -> Json:
    """For server-side apply: the entry of this check alone. The resourceVersion makes the write fail if the Workload
    has changed meanwhile, so a verdict never comes too late."""
    meta = workload["metadata"]
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Workload",
        "metadata": {each: meta[each] for each in ("name", "namespace", "uid", "resourceVersion")},
        "status": {"admissionChecks": [{"name": check, "lastTransitionTime": now(), **said}]},
    }


def now() -> str:
    """The present time as objects have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- the API server


class Window:
    """The controller."""

    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self.objects, self.core, self.namespace = (
            client.CustomObjectsApi(api),
            client.CoreV1Api(api),
            namespace,
        )

    async def activate(self) -> set[str]:
        """Say of our AdmissionChecks that somebody looks after them. Returns their names."""
        found = await self.objects.list_cluster_custom_object(GROUP, VERSION, "admissionchecks")
        ours = [each for each in found["items"] if each["spec"]["controllerName"] == CONTROLLER]
        for check in ours:
            conditions = (check.get("status") or {}).get("conditions") or ()
            if any(each["type"] == "Active" and each["status"] == "True" for each in conditions):
                continue
            active = {
                "type": "Active",
                "status": "True",
                "reason": "Active",
                "message": "example.com/window looks after it",
                "lastTransitionTime": now(),
            }
            await self.objects.patch_cluster_custom_object_status(
                GROUP,
                VERSION,
                "admissionchecks",
                check["metadata"]["name"],
                {
                    "apiVersion": f"{GROUP}/{VERSION}",
                    "kind": "AdmissionCheck",
                    "status": {"conditions": [active]},
                },
                field_manager=CONTROLLER,
                force=True,
                _content_type=APPLY,
            )
        return {each["metadata"]["name"] for each in ours}

    async def is_open(self) -> bool:
        """Whether the ConfigMap says so."""
        try:
            found = await self.core.read_namespaced_config_map("window", self.namespace)
        except ApiException as error:
            if error.status == 404:
                return False
            raise
        data: Mapping[str, str] = found.data or {}
        return data.get("open") == "true"

    async def judge(self, workload: Json, checks: set[str]) -> None:
        """Write what our checks say of the Workload, if they wait for us."""
        meta = workload["metadata"]
        for check in to_judge(workload, checks):
            said = verdict(workload, check.get("retryCount", 0), await self.is_open())
            try:
                workload = await self.objects.patch_namespaced_custom_object_status(
                    GROUP,
                    VERSION,
                    meta["namespace"],
                    "workloads",
                    meta["name"],
                    patch_of(workload, check["name"], said),
                    field_manager=CONTROLLER,
                    force=True,
                    _content_type=APPLY,
                )
            except ApiException as error:
                if error.status not in (404, 409):
                    raise
                return  # it has changed: the watch brings the newer state
            log.info("%s/%s: %s says %s", meta["namespace"], meta["name"], check["name"], said["state"])

    async def run(self) -> None:
        """List, then watch; and again from the start when the stream ends."""
        while True:
            checks = await self.activate()
            found = await self.objects.list_cluster_custom_object(GROUP, VERSION, "workloads")
            for workload in found["items"]:
                await self.judge(workload, checks)
            version = found["metadata"]["resourceVersion"]
            async with watch.Watch() as stream:
                async for event in stream.stream(
                    self.objects.list_cluster_custom_object,
                    GROUP,
                    VERSION,
                    "workloads",
                    resource_version=version,
                    timeout_seconds=20,
                ):
                    if event["type"] in ("ADDED", "MODIFIED"):
                        await self.judge(event["object"], checks)


async def main() -> None:
    """Run until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespace", default="window", help="of the ConfigMap")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    try:
        config.load_incluster_config()
    except config.ConfigException:
        await config.load_kube_config()
    async with client.ApiClient() as api:
        while True:
            try:
                await Window(api, arguments.namespace).run()
            except (TimeoutError, ApiException, OSError) as error:
                log.warning("once more in a moment: %s", error)
                await asyncio.sleep(1)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
