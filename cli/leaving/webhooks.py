"""Whether webhooks still do what a command undoes."""

from __future__ import annotations

from typing import Final

from kube.client import ApiClient, get_or_none
from kube.errors import ApiError
from webhooks.registrations import CONFIGURATION, mutating_webhook

__all__ = ["is_kueue_there", "mutates"]

MUTATING: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


async def mutates(client: ApiClient, kind: str) -> bool:
    """Whether the cluster has our webhook that completes objects of this kind. False if we may not know."""
    body = await _configuration(client, CONFIGURATION)
    return body is not None and f'"{mutating_webhook(kind)}"'.encode() in body


async def is_kueue_there(client: ApiClient) -> bool:
    """Whether the cluster has Kueue's webhook, which adds finalizers. False if we may not know."""
    return await _configuration(client, "kueue-mutating-webhook-configuration") is not None


async def _configuration(client: ApiClient, name: str) -> bytes | None:
    try:
        return await get_or_none(client, f"{MUTATING}/{name}")
    except ApiError:
        return None
