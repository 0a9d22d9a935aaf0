"""Calls filter at a steady rate, as kube-scheduler does, in a process of its own: `python -m bench.filter_caller`.

Arguments: the port of the extender, the folder with the certificates, and the number of nodes that a call names. It
ends when its input ends, and then prints the seconds of each call as JSON.
"""

from __future__ import annotations

import http.client
import json
import select
import ssl
import sys
import time
from pathlib import Path
from typing import Final

from hack.controlplane import objects
from hack.controlplane.components import HOST

RATE: Final = 50.0
"""Calls a second."""
JSON: Final = {"Content-Type": "application/json"}


def main(port: int, folder: Path, nodes: int) -> None:
    """Call until the input ends."""
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.load_cert_chain(folder / "kube-scheduler.crt", folder / "kube-scheduler.key")
    connection = http.client.HTTPSConnection(HOST, port, context=context)
    pod = objects.pod("ordinary", cpu="100m")
    pod["metadata"]["uid"] = "uid-ordinary"
    body = json.dumps({"Pod": pod, "NodeNames": [f"n{number:04}" for number in range(nodes)]})
    times: list[float] = []
    began = time.perf_counter()
    while not select.select([sys.stdin], [], [], 0)[0]:
        time.sleep(max(0.0, began + len(times) / RATE - time.perf_counter()))
        start = time.perf_counter()
        connection.request("POST", "/v1/filter", body, JSON)
        answer = connection.getresponse()
        content = answer.read()
        times.append(time.perf_counter() - start)
        if answer.status != http.HTTPStatus.OK or b'"NodeNames":' not in content:
            raise RuntimeError(f"filter answered {answer.status}: {content[:200]!r}")
    print(json.dumps(times))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
