"""Fills a cluster by writing to its etcd: 150,000 pods that run, in seconds instead of most of an hour.

One pod of a kind is created through the API server, and KWOK plays it. So the API server has defaulted and admitted it,
and its status is that of a pod that runs. The other ones are copies of what it is now. The API server reads JSON from
etcd as it reads protobuf, and its watches tell everybody of the copies.
"""

from __future__ import annotations

import base64
import copy
import http.client
import json
import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from urllib.parse import urlsplit

from bench.place import Place
from hack.controlplane.client import Json

__all__ = ["copies", "store_pods"]

AT_ONCE = 100
"""Writes in a transaction. etcd takes 128."""


def store_pods(etcd: str, place: Place, pods: Iterable[Json]) -> None:
    """Store pods that differ in nothing but name and node. They have a node. Returns when they are stored.

    `etcd` is the URL of its clients. Raises OSError, and RuntimeError where etcd refuses a transaction.
    """
    bodies = iter(pods)
    first = place.client.create(next(bodies))
    place.wait_played()
    pattern = place.client.get("v1", "Pod", first["metadata"]["name"], place.namespace)
    connection = http.client.HTTPConnection(urlsplit(etcd).netloc)
    try:
        stored = copies(pattern, bodies)
        while batch := list(islice(stored, AT_ONCE)):
            _put(connection, batch)
    finally:
        connection.close()


def copies(pattern: Json, pods: Iterable[Json]) -> Iterator[Json]:
    """The stored form of each of `pods`: all of `pattern`, which runs, but for name, UID, node and address."""
    for number, pod in enumerate(pods):
        stored = copy.copy(pattern)
        stored["metadata"] = {
            **pattern["metadata"],
            "name": pod["metadata"]["name"],
            "uid": str(uuid.uuid4()),
        }
        del stored["metadata"]["resourceVersion"]
        stored["spec"] = {**pattern["spec"], "nodeName": pod["spec"]["nodeName"]}
        address = f"10.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
        stored["status"] = {**pattern["status"], "podIP": address, "podIPs": [{"ip": address}]}
        yield stored


def _put(connection: http.client.HTTPConnection, pods: Iterable[Json]) -> None:
    """Write these pods in one transaction, by etcd's JSON gateway."""
    puts = [{"requestPut": {"key": _encoded(_key(pod)), "value": _encoded(json.dumps(pod))}} for pod in pods]
    connection.request("POST", "/v3/kv/txn", json.dumps({"success": puts}))
    with connection.getresponse() as answer:
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"etcd refused a transaction: {text.decode(errors='replace')}")


def _key(pod: Json) -> str:
    meta = pod["metadata"]
    return f"/registry/pods/{meta['namespace']}/{meta['name']}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
