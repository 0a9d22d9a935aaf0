"""Runs the image as a pod would: its own root, read-only, as user 65532, and with its configuration mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import yaml

from hack.controlplane.client import path_of
from hack.controlplane.plane import ControlPlane
from hack.controlplane.ports import Ports
from hack.controlplane.processes import wait_until
from hack.release.errors import ReleaseError
from hack.release.trials.cluster import NAMESPACE

__all__ = ["lean", "serves"]

USER: Final = 65532
CONFIGURATION: Final = "/etc/reprieve/configuration"
ACCOUNT: Final = "/run/secrets/kubernetes.io/serviceaccount"
"""/var/run is a link to /run."""
ENVIRONMENT: Final = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/",  # a runtime sets it so for a user that is not in /etc/passwd
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}
SECONDS: Final = 60.0
NOT_THERE: Final = frozenset(
    {
        *("pip", "pip3", "ensurepip", "setuptools", "node", "nodejs", "npm"),
        *("cc", "gcc", "g++", "clang", "ld", "as", "make", "cython"),
    }
)
"""Names of programs and of packages."""
RUN: Final = """
set -eu
root=$1 settings=$2 account=$3 user=$4; shift 4
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$settings" "$root/etc/reprieve/configuration"
mount -o remount,ro,bind "$root/etc/reprieve/configuration"
mount --bind "$account" "$root/run/secrets/kubernetes.io/serviceaccount"
mount -o remount,ro,bind "$root/run/secrets/kubernetes.io/serviceaccount"
mount -o remount,ro,bind "$root"
exec setpriv --no-new-privs chroot --userspec="$user:$user" --groups= "$root" "$@"
"""
"""In a mount namespace of its own."""


def lean(root: Path) -> None:
    """Raises ReleaseError if the root has a program or package that installs, compiles, or is Node.js."""
    found = sorted(str(path.relative_to(root)) for path in _named(root))
    if found:
        raise ReleaseError(f"the image has {', '.join(found[:10])}")


def _named(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        if here.name in {"bin", "sbin"}:
            yield from (here / name for name in files if name in NOT_THERE)
        if here.name in {"site-packages", "dist-packages"} or here.name.startswith("python3"):
            yield from (here / name for name in folders if name in NOT_THERE)


def serves(root: Path, cluster: ControlPlane, scratch: Path) -> None:
    """Have `reprieve serve` of the image follow a cluster until it is ready, with the rights of its own account.

    The manifests have been applied there. Raises ReleaseError.
    """
    port = Ports().take()
    mounted = (_settings(scratch / "settings", port), _account(scratch / "account", cluster))
    for place in (CONFIGURATION, ACCOUNT):
        (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
    command = ("/opt/reprieve/bin/reprieve", "serve", "--config", CONFIGURATION)
    server = urlsplit(cluster.layout.server)
    log = scratch / "reprieve.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", RUN, "sh", root, *mounted, str(USER), *command],
            env=ENVIRONMENT
            | {"KUBERNETES_SERVICE_HOST": str(server.hostname), "KUBERNETES_SERVICE_PORT": str(server.port)},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            _ready(process, port, log)
            _as_user(process.pid)
        finally:
            process.terminate()
            status = process.wait(SECONDS)
    if status != 0:
        raise ReleaseError(f"the image's process ended with status {status}:\n{log.read_text()[-2000:]}")


def _settings(folder: Path, port: int) -> Path:
    """A folder like the ConfigMap of an observer."""
    folder.mkdir()
    body = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "Configuration",
        "kubeconfig": None,
        "ops": {"bindAddress": "127.0.0.1", "port": port},
        "extender": None,
    }
    (folder / "configuration.yaml").write_text(yaml.safe_dump(body))
    return _readable(folder)


def _account(folder: Path, cluster: ControlPlane) -> Path:
    """A folder like that of the ServiceAccount in a pod."""
    folder.mkdir()
    path = path_of("v1", "ServiceAccount", NAMESPACE, "reprieve")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = cluster.client.request("POST", f"{path}/token", request)
    (folder / "token").write_text(answer["status"]["token"])
    (folder / "namespace").write_text(NAMESPACE)
    shutil.copy(cluster.layout.authority.pair.certificate, folder / "ca.crt")
    return _readable(folder)


def _readable(folder: Path) -> Path:
    """Files that belong to the user of the image, as `fsGroup` does for a pod."""
    for path in (folder, *folder.iterdir()):
        os.chown(path, USER, USER)
    return folder


def _ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            raise ReleaseError(f"the image's process has ended:\n{log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except urllib.error.URLError:
            return False

    wait_until(answers, SECONDS, lambda: f"the image's process is not ready:\n{log.read_text()[-2000:]}")


def _as_user(pid: int) -> None:
    """The root of the process is read-only, and it is nobody else."""
    status = Path(f"/proc/{pid}/status").read_text()
    mounts = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    if f"Uid:\t{USER}\t{USER}" not in status:
        raise ReleaseError(f"the image's process does not run as {USER}")
    roots = [line.split() for line in mounts if line.split()[4] == "/"]
    if not roots or "ro" not in roots[-1][5].split(","):
        raise ReleaseError("the root of the image's process can be written to")
