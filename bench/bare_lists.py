"""The lists of a question, sent bare: python -m bench.bare_lists KUBECONFIG '[[apiVersion, kind, fieldSelector], ...]'.

Page by page, eight lists at once, as the command sends them. Of an answer only the token of the next page is read.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from hack.controlplane.client import ApiError, Client, Json

PAGE = 500
AT_ONCE = 8


class Meta(msgspec.Struct):
    """metadata of a list."""

    next: str = msgspec.field(default="", name="continue")


class Answer(msgspec.Struct):
    """A page of a list."""

    metadata: Meta


def main(kubeconfig: str, kinds: list[tuple[str, str, str]]) -> None:
    """Send the lists of all kinds that the API server serves."""
    client = Client.of_kubeconfig(Path(kubeconfig))
    served = {version: _served(client, version) for version in {version for version, _, _ in kinds}}
    paths = [
        (f"{_root(each)}/{served[each][kind]}", fields)
        for each, kind, fields in kinds
        if kind in served[each]
    ]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for done in [threads.submit(_list, client, *path) for path in paths]:
            done.result()


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _served(client: Client, version: str) -> dict[str, str]:
    """The plurals of the kinds of the version."""
    try:
        found: Json = client.request("GET", _root(version))
    except ApiError as error:
        if error.status == 404:
            return {}
        raise
    return {each["kind"]: each["name"] for each in found.get("resources", ()) if "/" not in each["name"]}


def _list(client: Client, path: str, fields: str) -> None:
    token = ""
    while True:
        query = {"limit": str(PAGE)} | ({"continue": token} if token else {})
        query |= {"fieldSelector": fields} if fields else {}
        page = client.text("GET", f"{path}?{urlencode(query)}")
        token = msgspec.json.decode(page, type=Answer).metadata.next
        if not token:
            return


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
