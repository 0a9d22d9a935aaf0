"""A process says at its start which CustomResourceDefinitions are older than it is: they drop what it writes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import structlog

from api.crds.served import OURS, lacking
from api.groups import API_VERSION
from api.words import some
from kube.client import Getting
from kube.errors import ApiError

__all__ = ["look"]

log = structlog.get_logger(__name__)

PATH: Final = f"/openapi/v3/apis/{API_VERSION}"
"""Whoever has an account may read it."""


async def look(client: Getting) -> None:
    """Log a warning for each of our kinds whose served definition lacks fields. If the API server does not answer, or
    does not serve the kinds, others say so."""
    try:
        text = await client.request("GET", PATH)
    except ApiError:
        return
    for name, fields in (await asyncio.to_thread(_older, text)).items():
        log.warning(
            "the CustomResourceDefinition is older than this process, and drops what it writes",
            kind=name,
            lacks=some(fields),
            remedy="apply manifests/crds, or upgrade the chart reprieve-crds",
        )


def _older(text: bytes) -> dict[str, list[str]]:
    """By kind, the fields that its definition lacks."""
    schemas: Mapping[str, Any] = msgspec.json.decode(text).get("components", {}).get("schemas", {})
    group, _, version = API_VERSION.partition("/")
    prefix = ".".join((*reversed(group.split(".")), version))
    served = {name: schemas.get(f"{prefix}.{name}") for name in OURS}
    found = {name: lacking(OURS[name], schema) for name, schema in served.items() if schema is not None}
    return {name: fields for name, fields in found.items() if fields}
