"""An API server on loopback that lists the objects of files, and refuses some kinds. It only reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from api.yaml import documents

__all__ = ["serving"]

Json = dict[str, Any]
POLL_SECONDS: Final = 0.02
PLURALS: Final = {"ss": "es", "y": "ies"}
"""Ends of kinds whose plural is not one more `s`."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """A connection that finds no place tries again after a second."""


@contextmanager
def serving(paths: Iterable[str], refused: Iterable[str]) -> Iterator[str]:
    """The host and port of a server for the objects of the files. `refused`: plurals that may not be listed."""
    objects = [each for path in paths for each in _objects(path)]
    server = _Server(("127.0.0.1", 0), _handler(objects, frozenset(refused)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": POLL_SECONDS})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _objects(path: str) -> list[Json]:
    bodies: list[Any] = [body for body in documents(Path(path).read_text()) if body]
    return [each for body in bodies for each in (body["items"] if body["kind"] == "List" else [body])]


def _handler(objects: list[Json], refused: frozenset[str]) -> type[BaseHTTPRequestHandler]:
    answers = _answers(objects)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            plural = path.rpartition("/")[2]
            if plural in refused:
                message = f'{plural} is forbidden: User "jane" cannot list resource "{plural}"'
                self._answer(403, _failure(403, "Forbidden", message))
            elif (found := answers.get(path)) is None:
                self._answer(
                    404, _failure(404, "NotFound", "the server could not find the requested resource")
                )
            else:
                self._answer(200, found)

        def _answer(self, status: int, body: Json) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: the record has what the command says."""

    return Handler


def _answers(objects: list[Json]) -> dict[str, Json]:
    """By path: what a version serves, lists, and the objects themselves."""
    answers: dict[str, Json] = {}
    for each in objects:
        version, kind = each["apiVersion"], each["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        plural = _plural(kind)
        meta: Json = each["metadata"]
        namespace = meta.get("namespace")
        served = answers.setdefault(root, {"kind": "APIResourceList", "resources": []})["resources"]
        resource = {"name": plural, "kind": kind, "namespaced": namespace is not None}
        if resource not in served:
            served.append(resource)
        empty = {
            "apiVersion": version,
            "kind": f"{kind}List",
            "metadata": {"resourceVersion": "1"},
            "items": [],
        }
        answers.setdefault(f"{root}/{plural}", empty)["items"].append(each)
        answers[f"{root}/namespaces/{namespace}/{plural}/{meta['name']}"] = each
    return answers


def _plural(kind: str) -> str:
    word = kind.lower()
    for end, more in PLURALS.items():
        if word.endswith(end):
            return (word.removesuffix("y") if end == "y" else word) + more
    return f"{word}s"


def _failure(status: int, reason: str, message: str) -> Json:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": status,
        "reason": reason,
        "message": message,
    }
