"""A small client for tests and demos. It is blocking, has one connection per thread, and uses plain JSON objects.

The product has its own client (`kube/`). A test that used that one would not see its faults.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlencode, urlsplit

from hack.controlplane.access import access_of
from hack.controlplane.connections import connect

__all__ = ["ApiError", "Client", "Json", "Watch", "path_of"]

Json = dict[str, Any]

STALE: Final = (ConnectionError, http.client.BadStatusLine, ssl.SSLEOFError)
"""The errors of a kept connection that the server has closed."""
TIMEOUT_SECONDS: Final = 30.0
WATCH_SECONDS: Final = 3600.0
BUSY_SECONDS: Final = 10
"""How long a read is sent again while the API server is too busy for it."""
APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
FIELD_MANAGER: Final = "reprieve-hack"

RESOURCES: Final[Mapping[tuple[str, str], tuple[str, bool]]] = {
    ("v1", "Namespace"): ("namespaces", False),
    ("v1", "Node"): ("nodes", False),
    ("v1", "LimitRange"): ("limitranges", True),
    ("v1", "ResourceQuota"): ("resourcequotas", True),
    ("node.k8s.io/v1", "RuntimeClass"): ("runtimeclasses", False),
    ("v1", "PersistentVolume"): ("persistentvolumes", False),
    ("v1", "PersistentVolumeClaim"): ("persistentvolumeclaims", True),
    ("v1", "Pod"): ("pods", True),
    ("v1", "ConfigMap"): ("configmaps", True),
    ("v1", "Secret"): ("secrets", True),
    ("v1", "Service"): ("services", True),
    ("v1", "ServiceAccount"): ("serviceaccounts", True),
    ("apps/v1", "Deployment"): ("deployments", True),
    ("apps/v1", "ReplicaSet"): ("replicasets", True),
    ("apps/v1", "StatefulSet"): ("statefulsets", True),
    ("batch/v1", "Job"): ("jobs", True),
    ("batch/v1", "CronJob"): ("cronjobs", True),
    ("v1", "ReplicationController"): ("replicationcontrollers", True),
    ("coordination.k8s.io/v1", "Lease"): ("leases", True),
    ("policy/v1", "PodDisruptionBudget"): ("poddisruptionbudgets", True),
    ("resource.k8s.io/v1", "DeviceClass"): ("deviceclasses", False),
    ("resource.k8s.io/v1", "ResourceClaim"): ("resourceclaims", True),
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): ("resourceclaimtemplates", True),
    ("resource.k8s.io/v1", "ResourceSlice"): ("resourceslices", False),
    ("networking.k8s.io/v1", "NetworkPolicy"): ("networkpolicies", True),
    ("scheduling.k8s.io/v1", "PriorityClass"): ("priorityclasses", False),
    ("storage.k8s.io/v1", "StorageClass"): ("storageclasses", False),
    ("storage.k8s.io/v1", "CSINode"): ("csinodes", False),
    ("storage.k8s.io/v1", "CSIDriver"): ("csidrivers", False),
    ("storage.k8s.io/v1", "CSIStorageCapacity"): ("csistoragecapacities", True),
    ("scheduling.k8s.io/v1beta1", "PodGroup"): ("podgroups", True),
    ("scheduling.k8s.io/v1beta1", "Workload"): ("workloads", True),
    ("events.k8s.io/v1", "Event"): ("events", True),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): ("customresourcedefinitions", False),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): ("clusterroles", False),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): ("clusterrolebindings", False),
    ("rbac.authorization.k8s.io/v1", "Role"): ("roles", True),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): ("rolebindings", True),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): ("validatingadmissionpolicies", False),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): (
        "validatingadmissionpolicybindings",
        False,
    ),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"): ("mutatingadmissionpolicies", False),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"): (
        "mutatingadmissionpolicybindings",
        False,
    ),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): (
        "validatingwebhookconfigurations",
        False,
    ),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): (
        "mutatingwebhookconfigurations",
        False,
    ),
    ("kubeflow.org/v1", "PyTorchJob"): ("pytorchjobs", True),
    ("reprieve.dev/v1alpha1", "PodGroup"): ("podgroups", True),
    ("reprieve.dev/v1alpha1", "PreemptionPlan"): ("preemptionplans", True),
    ("reprieve.dev/v1alpha1", "DispatchPlan"): ("dispatchplans", True),
    ("reprieve.dev/v1alpha1", "ClusterPreemptionPlan"): ("clusterpreemptionplans", False),
    ("reprieve.dev/v1alpha1", "PreemptionReport"): ("preemptionreports", False),
    ("kueue.x-k8s.io/v1beta2", "AdmissionCheck"): ("admissionchecks", False),
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): ("clusterqueues", False),
    ("kueue.x-k8s.io/v1beta2", "Cohort"): ("cohorts", False),
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): ("localqueues", True),
    ("kueue.x-k8s.io/v1beta2", "MultiKueueCluster"): ("multikueueclusters", False),
    ("kueue.x-k8s.io/v1beta2", "MultiKueueConfig"): ("multikueueconfigs", False),
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): ("resourceflavors", False),
    ("kueue.x-k8s.io/v1beta2", "Workload"): ("workloads", True),
    ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"): ("workloadpriorityclasses", False),
}
"""By (apiVersion, kind): the plural, and whether the kind is namespaced."""


class ApiError(Exception):
    """The API server refused a request. `status` is the HTTP code. `body` is the answer, usually a Status in JSON."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {_message(body)}")
        self.status = status
        self.body = body

    @property
    def causes(self) -> list[Json]:
        """The wrong fields, each with `field`, `reason` and `message`. Empty if the answer names none."""
        try:
            causes: list[Json] = json.loads(self.body)["details"]["causes"]
        except (ValueError, KeyError, TypeError):
            return []
        return causes


class Client:
    """A client of one API server."""

    def __init__(self, base: str, context: ssl.SSLContext | None = None, token: str | None = None) -> None:
        """`base` is an http(s) URL, or `unix:PATH` for the socket of a proxy."""
        self._base = base
        self._prefix = "" if base.startswith("unix:") else urlsplit(base).path.rstrip("/")
        self._context = context
        self._token = token
        self._impersonation: Mapping[str, str] = {}
        self._local = threading.local()
        self._connections: list[http.client.HTTPConnection] = []
        self.warnings: list[str] = []
        """The warnings of the API server, in order (deprecations, pod security)."""

    @classmethod
    def of_kubeconfig(cls, path: Path) -> Self:
        """A client for a kubeconfig (see `access_of`)."""
        return cls(*access_of(path))

    def impersonating(self, user: str, group: str = "system:masters") -> Client:
        """A client of the same API server that acts as this user. Close it, too."""
        made = Client(self._base, self._context, self._token)
        made._impersonation = {"Impersonate-User": user, "Impersonate-Group": group}
        return made

    def close(self) -> None:
        """Close the connections of all threads."""
        while self._connections:
            self._connections.pop().close()

    def request(
        self, method: str, path: str, body: Json | None = None, content_type: str = "application/json"
    ) -> Json:
        """Send a request and decode the answer. Raises ApiError."""
        text = self.text(method, path, None if body is None else json.dumps(body), content_type)
        answer: Json = json.loads(text)
        return answer

    def text(
        self, method: str, path: str, body: str | None = None, content_type: str = "application/json"
    ) -> str:
        """Send a request. The answer is not decoded. Raises ApiError.

        A read is sent again while the API server says 429: a cache that is not filled yet, as with client-go.
        """
        headers = {"Accept": "application/json", "Content-Type": content_type, **self._impersonation}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        response, content = self._exchange(method, path, body, headers)
        for _ in range(BUSY_SECONDS):
            if (method, response.status) != ("GET", 429):
                break
            time.sleep(1.0)
            response, content = self._exchange(method, path, body, headers)
        self.warnings.extend(response.headers.get_all("Warning") or [])
        if response.status >= 300:
            raise ApiError(response.status, content)
        return content

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Json:
        """One object. Raises ApiError with status 404 if it does not exist."""
        return self.request("GET", path_of(api_version, kind, namespace, name))

    def find(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Json | None:
        """One object; None if it does not exist."""
        try:
            return self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
    ) -> list[Json]:
        """All objects of a kind that the selectors match, in one namespace or in all."""
        query = urlencode({"labelSelector": labels, "fieldSelector": fields})
        items: list[Json] = self.request("GET", f"{path_of(api_version, kind, namespace)}?{query}")["items"]
        return items

    def create(self, body: Json) -> Json:
        """Create an object. Raises ApiError."""
        meta = body["metadata"]
        return self.request("POST", path_of(body["apiVersion"], body["kind"], meta.get("namespace")), body)

    def admits(self, body: Json) -> bool:
        """Whether admission lets the object be created. Nothing is created. Raises ApiError for another refusal.

        Admission plugins learn of other objects, such as a PriorityClass, a moment late.
        """
        meta = body["metadata"]
        path = path_of(body["apiVersion"], body["kind"], meta.get("namespace"))
        try:
            self.request("POST", f"{path}?dryRun=All", body)
        except ApiError as error:
            if error.status != 403:
                raise
            return False
        return True

    def create_all(self, bodies: Iterable[Json], parallel: int = 8) -> None:
        """Create many objects, in no particular order. Raises ApiError."""
        with ThreadPoolExecutor(parallel) as pool:
            for _ in pool.map(self.create, bodies):
                pass

    def apply(self, body: Json) -> Json:
        """Server-side apply with force. Raises ApiError."""
        meta = body["metadata"]
        path = path_of(body["apiVersion"], body["kind"], meta.get("namespace"), meta["name"])
        return self.request("PATCH", f"{path}?fieldManager={FIELD_MANAGER}&force=true", body, APPLY)

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        body: Json,
        namespace: str | None = None,
        subresource: str = "",
    ) -> Json:
        """Merge patch of an object, or of a subresource such as `status`. Raises ApiError."""
        path = path_of(api_version, kind, namespace, name)
        return self.request("PATCH", f"{path}/{subresource}".rstrip("/"), body, MERGE)

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete an object. It is no error if the object does not exist. Raises ApiError."""
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            self.request("DELETE", path_of(api_version, kind, namespace, name), options)
        except ApiError as error:
            if error.status != 404:
                raise

    def delete_all(
        self,
        api_version: str,
        kind: str,
        names: Iterable[str],
        namespace: str | None = None,
        grace_seconds: int | None = None,
        parallel: int = 8,
    ) -> None:
        """Delete many objects of one kind, in no particular order. Raises ApiError."""
        with ThreadPoolExecutor(parallel) as pool:
            for _ in pool.map(
                lambda name: self.delete(api_version, kind, name, namespace, grace_seconds), names
            ):
                pass

    def ready(self) -> bool:
        """Whether the API server answers that it is ready."""
        try:
            self.text("GET", "/readyz")
        except (ApiError, OSError, http.client.HTTPException):
            return False
        return True

    def watch(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        since: int | None = None,
    ) -> Watch:
        """Every existing object that the selector matches as ADDED, and then each event, until the watch is closed.

        `since`: only events after this resourceVersion. Raises ApiError.
        """
        query = {"watch": "1", "labelSelector": labels}
        if since is not None:
            query["resourceVersion"] = str(since)
        path = f"{self._prefix}{path_of(api_version, kind, namespace)}?{urlencode(query)}"
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        return Watch(connect(self._base, WATCH_SECONDS, self._context), path, headers)

    def _exchange(
        self, method: str, path: str, body: str | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, str]:
        """Send a request and receive the answer. Tries again if the server has closed a kept connection."""
        kept = getattr(self._local, "connection", None)
        connection = kept or self._keep(connect(self._base, TIMEOUT_SECONDS, self._context))
        try:
            connection.request(method, self._prefix + path, body and body.encode(), headers=dict(headers))
            response = connection.getresponse()
            return response, response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self._local.connection = None
            if kept is None or not isinstance(error, STALE):
                raise
            return self._exchange(method, path, body, headers)

    def _keep(self, connection: http.client.HTTPConnection) -> http.client.HTTPConnection:
        self._local.connection = connection
        self._connections.append(connection)
        return connection


class Watch:
    """The events of one watch. Iterate in one thread; any thread may call `close`."""

    def __init__(self, connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str]) -> None:
        self._connection = connection
        connection.request("GET", path, headers=dict(headers))
        self._response = connection.getresponse()
        if self._response.status != 200:
            body = self._response.read().decode()
            connection.close()
            raise ApiError(self._response.status, body)
        self._closed = False

    def __iter__(self) -> Iterator[Json]:
        try:
            for line in self._response:
                yield json.loads(line)
        except (OSError, ValueError, http.client.HTTPException):
            if not self._closed:
                raise
        finally:
            self._response.close()
            self._connection.close()

    def close(self) -> None:
        """End the iteration."""
        self._closed = True
        with contextlib.suppress(OSError):
            if self._connection.sock is not None:
                self._connection.sock.shutdown(socket.SHUT_RDWR)


def path_of(api_version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str:
    """The URL path of an object or a collection. Raises KeyError for a kind that is not in RESOURCES."""
    plural, namespaced = RESOURCES[api_version, kind]
    parts = ["/apis" if "/" in api_version else "/api", api_version]
    if namespaced and namespace is not None:
        parts += ["namespaces", quote(namespace)]
    parts.append(plural)
    if name is not None:
        parts.append(quote(name))
    return "/".join(parts)


def _message(content: str) -> str:
    try:
        return str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        return content[:500]
