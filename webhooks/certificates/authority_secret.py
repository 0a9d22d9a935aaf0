"""The Secret that the replicas share. `ca.crt` has the trusted authorities, and `ca.key` has their keys."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from api.meta import ObjectMeta
from kube.client import MERGE_PATCH, ApiClient, get_or_none
from kube.errors import ApiError
from webhooks.certificates.authorities import Authorities
from webhooks.metrics import CERTIFICATE_METRICS

__all__ = ["AuthoritySecret", "Stored"]

log = structlog.get_logger(__name__)

CERTIFICATES: Final = "ca.crt"
KEYS: Final = "ca.key"


class Secret(msgspec.Struct):
    """core/v1 Secret: the fields that are used here."""

    metadata: ObjectMeta
    data: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of the Secret."""

    authorities: Authorities
    resource_version: str


class AuthoritySecret:
    """The Secret with this name. Its methods raise ApiError."""

    def __init__(self, client: ApiClient, namespace: str, name: str) -> None:
        self._client, self._namespace, self._name = client, namespace, name
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._path = f"{self._collection}/{name}"

    async def read(self) -> Stored | None:
        """The content of the Secret; None if it does not exist. A Secret that cannot be parsed has no authorities."""
        body = await get_or_none(self._client, self._path)
        if body is None:
            return None
        secret = msgspec.json.decode(body, type=Secret)
        return Stored(self._authorities(secret.data or {}), secret.metadata.resource_version)

    async def write(self, authorities: Authorities, resource_version: str | None) -> bool:
        """Replace the Secret that was read by these authorities. Returns False if it has changed since then.

        `resource_version` is the version that was read; None if there was no Secret.
        """
        data = {
            CERTIFICATES: base64.b64encode(authorities.bundle).decode(),
            KEYS: base64.b64encode(authorities.keys).decode(),
        }
        metadata = {"name": self._name, "namespace": self._namespace}
        try:
            if resource_version is None:
                secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
                await self._client.request("POST", self._collection, body=msgspec.json.encode(secret))
            else:
                patch = {"metadata": {"resourceVersion": resource_version}, "data": data}
                await self._client.request(
                    "PATCH", self._path, body=msgspec.json.encode(patch), content_type=MERGE_PATCH
                )
        except ApiError as error:
            if error.status == 409 or (error.status == 404 and resource_version is not None):
                return False
            raise
        return True

    def _authorities(self, data: dict[str, str]) -> Authorities:
        try:
            certificates, keys = (
                base64.b64decode(data.get(name, ""), validate=True) for name in (CERTIFICATES, KEYS)
            )
            return Authorities.parse(certificates, keys)
        except (ValueError, TypeError, binascii.Error) as error:
            CERTIFICATE_METRICS.faults.inc()
            log.error(  # noqa: TRY400 - the traceback says nothing that the message does not
                "the Secret of the authorities cannot be parsed and is written again",
                namespace=self._namespace,
                name=self._name,
                error=str(error),
            )
            return Authorities()
