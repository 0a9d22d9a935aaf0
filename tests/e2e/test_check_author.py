"""The check controller of docs/admission-checks.md runs, with the rights that its page gives it."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.pages import shell
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox

FOLDER: Final = Path(__file__).parents[2] / "examples" / "checks"
PROGRAM: Final = FOLDER / "window.py"
PAGE: Final = FOLDER.parents[1] / "docs" / "admission-checks.md"
TOKEN: Final = "/api/v1/namespaces/window/serviceaccounts/window/token"
SECONDS: Final = 10
"""For the end of the process."""

Sandboxes = Callable[[str], QuotaSandbox]


def test_it_waits_twice_as_long_each_time() -> None:
    verdict: Callable[[Json, int, bool], Json] = runpy.run_path(str(PROGRAM))["verdict"]
    free: Json = {"metadata": {}}
    delays = [verdict(free, retries, False)["requeueAfterSeconds"] for retries in range(9)]
    assert delays == [5, 10, 20, 40, 80, 160, 320, 600, 600]
    assert verdict(free, 10**9, False)["requeueAfterSeconds"] == 600
    assert verdict(free, 3, True)["state"] == "Ready"
    assert "requeueAfterSeconds" not in verdict(free, 3, True)


def kubeconfig(plane: ControlPlane, folder: Path) -> Path:
    """For the ServiceAccount of the page."""
    answer = plane.client.request(
        "POST", TOKEN, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    )
    settings: dict[str, Any] = yaml.safe_load(plane.kubeconfig.read_text())
    for user in settings["users"]:
        user["user"] = {"token": answer["status"]["token"]}
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(settings))
    return file


@pytest.fixture
def box(quotas: Sandboxes, tmp_path: Path) -> Iterator[QuotaSandbox]:
    """A queue that needs the check, and the controller in a process of its own."""
    box = quotas("window")
    for body in yaml.safe_load_all((FOLDER / "window.yaml").read_text()):
        box.client.create(body)
    box.queue("q", 2, admissionChecksStrategy={"admissionChecks": [{"name": "window"}]})
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig(box.plane, tmp_path))}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, str(PROGRAM)], env=environment, stderr=log)
        try:
            yield box
            assert process.poll() is None, (tmp_path / "log").read_text()
        finally:
            process.terminate()
            process.wait(SECONDS)
            box.client.delete(KUEUE, "AdmissionCheck", "window")


def test_a_workload_waits_for_the_window(box: QuotaSandbox) -> None:
    box.workload("w", "q", 1)
    box.workload("no", "q", 1, annotations={"example.com/never": ""})
    box.until("no", "Evicted", "True", "DeactivatedDueToAdmissionCheck")
    box.until("w", "Evicted", "True", "AdmissionCheck")
    (check,) = box.get("w")["status"]["admissionChecks"]
    assert (check["state"], check["requeueAfterSeconds"]) == ("Retry", 5)
    (command,) = re.findall(r"^kubectl patch configmap .*$", PAGE.read_text(), re.MULTILINE)
    result = shell(box.plane, command)
    assert result.returncode == 0, result.stderr
    box.until_admitted("w")
    (check,) = box.get("w")["status"]["admissionChecks"]
    assert (check["state"], check["message"]) == ("Ready", "the window is open")
    assert {"requeueAfterSeconds", "retryCount"}.isdisjoint(check), "an admission begins both anew"
