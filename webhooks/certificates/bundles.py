"""The `caBundle` of the webhook configurations. It says which authorities API servers accept."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final

import msgspec

from api.meta import ObjectMeta
from kube.client import STRATEGIC_MERGE_PATCH, ApiClient, get_or_none
from kube.errors import ApiError

__all__ = ["Bundles"]

API: Final = "/apis/admissionregistration.k8s.io/v1"
CONFLICTS: Final = 4
"""The number of attempts. Somebody else may write the same configuration."""


class ClientConfig(msgspec.Struct, rename="camel"):
    """admissionregistration/v1 WebhookClientConfig: the fields that are used here."""

    ca_bundle: str = ""


class Webhook(msgspec.Struct, rename="camel"):
    """admissionregistration/v1 ValidatingWebhook or MutatingWebhook: the fields that are used here."""

    name: str
    client_config: ClientConfig


class Configuration(msgspec.Struct):
    """admissionregistration/v1 ValidatingWebhookConfiguration or MutatingWebhookConfiguration: the fields that are
    used here."""

    metadata: ObjectMeta
    webhooks: list[Webhook] = []


class Bundles:
    """The bundles of some webhook configurations. A configuration that does not exist is left out. Methods raise
    ApiError."""

    def __init__(self, client: ApiClient, validating: Iterable[str], mutating: Iterable[str]) -> None:
        self._client = client
        self._paths = [
            *(f"{API}/validatingwebhookconfigurations/{name}" for name in validating),
            *(f"{API}/mutatingwebhookconfigurations/{name}" for name in mutating),
        ]

    async def read(self) -> list[bytes]:
        """The bundle of each webhook, in PEM."""
        found = [await self._configuration(path) for path in self._paths]
        return [_bundle(webhook) for each in found if each is not None for webhook in each.webhooks]

    async def publish(self, bundle: bytes) -> list[bytes]:
        """Write this bundle into every webhook that has another one. Returns the bundle that each
        webhook had before."""
        return [had for path in self._paths for had in await self._publish(path, bundle)]

    async def _publish(self, path: str, bundle: bytes) -> list[bytes]:
        for attempt in range(CONFLICTS):
            configuration = await self._configuration(path)
            if configuration is None:
                return []
            had = [_bundle(webhook) for webhook in configuration.webhooks]
            if all(each == bundle for each in had):
                return had
            try:
                await self._patch(path, configuration, bundle)
            except ApiError as error:
                if error.status != 409 or attempt == CONFLICTS - 1:
                    raise
            else:
                return had
        raise AssertionError("the last attempt returns or raises")

    async def _patch(self, path: str, configuration: Configuration, bundle: bytes) -> None:
        value = {"clientConfig": {"caBundle": base64.b64encode(bundle).decode()}}
        patch = {
            "metadata": {"resourceVersion": configuration.metadata.resource_version},
            "webhooks": [{"name": webhook.name, **value} for webhook in configuration.webhooks],
        }
        body = msgspec.json.encode(patch)
        await self._client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH)

    async def _configuration(self, path: str) -> Configuration | None:
        body = await get_or_none(self._client, path)
        return msgspec.json.decode(body, type=Configuration) if body is not None else None


def _bundle(webhook: Webhook) -> bytes:
    try:
        return base64.b64decode(webhook.client_config.ca_bundle)
    except binascii.Error:
        return b""
