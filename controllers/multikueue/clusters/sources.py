"""Where kubeconfigs come from: Secrets of one namespace, and regular files below one folder."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from api.checks import MultiKueueCluster
from api.meta import ObjectMeta, Struct
from controllers.multikueue.clusters.kubeconfigs import MOST_BYTES, Access, KubeconfigError, parse
from kube.reflector import Resource
from runtime.mirror.objects import Objects

__all__ = ["KubeconfigSecret", "Sources", "read_file", "secrets_of"]

NO_PROFILES: Final = "MultiKueueClusterProfileFeatureDisabled"
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: to open a FIFO does not wait for a writer."""


class _Data(Struct):
    """The data of a Secret, in part. Other keys are not read."""

    kubeconfig: str | None = None


class KubeconfigSecret(Struct):
    """A Secret with a kubeconfig."""

    metadata: ObjectMeta
    data: _Data | None = None


def secrets_of(namespace: str) -> Resource[KubeconfigSecret]:
    """The Secrets of that namespace, and no others. Optional: a manager that has files only may not read them."""
    return Resource(
        "secrets", f"/api/v1/namespaces/{namespace}/secrets", KubeconfigSecret, page=50, optional=True
    )


class Sources:
    """Reads the kubeconfig that a MultiKueueCluster names. An unchanged one is not parsed again, also if it
    has a fault."""

    def __init__(self, namespace: str, folder: str | None, secrets: Objects[KubeconfigSecret]) -> None:
        self._namespace, self._folder, self._secrets = namespace, folder, secrets
        self._parsed: dict[str, tuple[bytes, Access | tuple[str, str]]] = {}
        """By cluster: the text, and the access, or the reason and the message of its fault."""

    async def access(self, cluster: MultiKueueCluster | None) -> Access:
        """How to reach the cluster. Raises KubeconfigError."""
        if cluster is None or cluster.spec is None:
            raise KubeconfigError.bad("the MultiKueueCluster is gone, or has no spec")
        source, name = cluster.spec.cluster_source, cluster.metadata.name
        if source.kube_config is None:
            raise KubeconfigError(NO_PROFILES, "clusterProfileRef is not supported, only kubeConfig")
        location = source.kube_config.location
        if source.kube_config.location_type == "Path":
            text = await asyncio.to_thread(read_file, self._folder, location)
        else:
            text = self._secret(location)
        text_before, parsed = self._parsed.get(name, (b"", None))
        if parsed is None or text_before != text:
            parsed = await asyncio.to_thread(_parsed, text)  # a large one takes a second
            self._parsed[name] = (text, parsed)
        if isinstance(parsed, tuple):
            raise KubeconfigError(*parsed)
        return parsed

    def forget(self, cluster: str) -> None:
        """The MultiKueueCluster of that name is gone."""
        self._parsed.pop(cluster, None)

    def _secret(self, name: str) -> bytes:
        where = f"Secret {self._namespace}/{name}"
        secret = self._secrets.get(self._namespace, name)
        if secret is None:
            raise KubeconfigError.bad(f"{where} is not there, or may not be read")
        if secret.data is None or secret.data.kubeconfig is None:
            raise KubeconfigError.bad(f"{where} has no key kubeconfig")
        try:
            return base64.b64decode(secret.data.kubeconfig, validate=True)
        except (binascii.Error, ValueError):
            raise KubeconfigError.bad(f"{where}: kubeconfig is not base64") from None


def _parsed(text: bytes) -> Access | tuple[str, str]:
    try:
        return parse(text)
    except KubeconfigError as error:
        return error.reason, error.message


def read_file(folder: str | None, location: str) -> bytes:
    """A regular file of at most 1 MiB below the folder. Links are followed as long as they stay below it.

    Raises KubeconfigError. What is opened is what was checked: no part of the path is a link when it is opened.
    """
    if folder is None:
        raise KubeconfigError.insecure("multikueue.folder is not set, so no file may be read")
    path = Path(location)
    if not path.is_absolute() or ".." in path.parts:
        raise KubeconfigError.insecure("location: must be an absolute path without ..")
    root = os.path.realpath(folder)
    try:
        parts = Path(os.path.realpath(location, strict=True)).relative_to(root).parts
    except ValueError:
        raise KubeconfigError.insecure("location: is not below multikueue.folder") from None
    except OSError:
        outside = not path.is_relative_to(folder) and not path.is_relative_to(root)
        if outside:
            raise KubeconfigError.insecure("location: is not below multikueue.folder") from None
        raise KubeconfigError.bad("location: the file is not there, or cannot be read") from None
    if not parts:
        raise KubeconfigError.insecure("location: is not a regular file")
    try:
        return _read(root, parts)
    except OSError:
        raise KubeconfigError.bad("location: the file is not there, or cannot be read") from None


def _read(root: str, parts: tuple[str, ...]) -> bytes:
    with ExitStack() as stack:

        def opened(part: str, flags: int, below: int | None) -> int:
            descriptor = os.open(part, flags, dir_fd=below)
            stack.callback(os.close, descriptor)
            return descriptor

        at = opened(root, DIRECTORY, None)
        for part in parts[:-1]:
            at = opened(part, DIRECTORY, at)
        descriptor = opened(parts[-1], FILE, at)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise KubeconfigError.insecure("location: is not a regular file")
        pieces, size = list[bytes](), 0
        while size <= MOST_BYTES and (piece := os.read(descriptor, MOST_BYTES + 1 - size)):
            pieces.append(piece)
            size += len(piece)
        if size > MOST_BYTES:
            raise KubeconfigError.insecure("location: has more than 1 MiB")
        return b"".join(pieces)
