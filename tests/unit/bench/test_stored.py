"""Copies of a pod that runs."""

from copy import deepcopy
from typing import Any

from bench.stored import copies

RUNS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a-0",
        "namespace": "load",
        "uid": "first",
        "resourceVersion": "7",
        "labels": {"x": "y"},
    },
    "spec": {"nodeName": "a", "priority": 1000, "containers": [{"name": "main"}]},
    "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
}


def test_a_copy_runs_on_its_own_node_with_its_own_name_uid_and_address() -> None:
    wanted = [
        {"metadata": {"name": f"{node}-{number}"}, "spec": {"nodeName": node}}
        for node in ("a", "b")
        for number in range(300)
    ]
    before = deepcopy(RUNS)
    made = list(copies(RUNS, wanted))
    assert before == RUNS
    assert [each["metadata"]["name"] for each in made] == [each["metadata"]["name"] for each in wanted]
    assert [each["spec"]["nodeName"] for each in made] == [each["spec"]["nodeName"] for each in wanted]
    assert len({each["metadata"]["uid"] for each in made} - {"first"}) == len(made)
    assert len({each["status"]["podIP"] for each in made} - {"10.0.0.1"}) == len(made)
    for each in made:
        assert each["status"]["podIPs"] == [{"ip": each["status"]["podIP"]}]
        assert each["status"]["phase"] == "Running"
        assert each["metadata"]["labels"] == {"x": "y"}
        assert "resourceVersion" not in each["metadata"]
        assert each["spec"]["priority"] == 1000
