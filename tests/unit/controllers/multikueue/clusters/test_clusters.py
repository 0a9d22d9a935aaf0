"""Connections to worker clusters: how they begin, what is seen, and what ends them."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import web
from prometheus_client import REGISTRY, Counter

from api.checks import AdmissionCheck, MultiKueueCluster, MultiKueueConfig
from api.multikueue import CONTROLLER_NAME, MANAGER_NAMESPACE, ORIGIN_LABEL, PREBUILT_WORKLOAD_ANNOTATION
from controllers.multikueue.clusters import connecting, probe
from controllers.multikueue.clusters.sources import KubeconfigSecret
from controllers.multikueue.configuration import MultiKueueConfiguration
from controllers.multikueue.metrics import CONNECTIONS, LOSSES, OF_CLUSTERS, SILENCE
from kube.errors import ApiError
from runtime.mirror.resources import ADMISSION_CHECKS
from tests.kit.waiting import until
from tests.unit.controllers.multikueue.connections_stage import HERE, Here, labelled, quick, workers

__all__ = ["quick", "workers"]  # fixtures

pytestmark = pytest.mark.usefixtures("quick")


Json = dict[str, Any]


async def test_what_bears_our_origin_is_seen(workers: Any) -> None:
    worker, here = await workers("a"), Here()
    await worker.put("workloads", labelled("w", spec={"priority": 3}))
    await worker.put("workloads", {"metadata": {"name": "own", "namespace": "n"}})
    await worker.put("workloads", labelled("other", metadata={"labels": {ORIGIN_LABEL: "another"}}))
    uses = {"annotations": {PREBUILT_WORKLOAD_ANNOTATION: "w"}}
    await worker.put("jobs", labelled("j", metadata=uses, status={"active": 1}))
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        connection = here.of("a")
        assert [each.key for each in connection.copies()] == ["n/w"]
        assert [each.name for each in connection.jobs()] == ["j"]
        copy, job = connection.copy("n/w"), connection.job("n/w", "x")
        assert copy is not None
        assert job is not None
        assert (copy.priority, job.status.active, connection.why) == (3, 1, "")
        assert here.workloads == [("a", "n/w")]
        assert (await here.says("a", "Active"))["message"] == "Connected"
        assert connection.is_prompt
        assert connection.honours_gates
        assert connection.cost("n/w") is None
        await worker.put("workloads", labelled("v"))
        await until(lambda: ("a", "n/v") in here.workloads)
        await worker.remove("workloads", "n", "v")
        await until(lambda: connection.copy("n/v") is None)


async def test_answers_to_our_own_writes_count_at_once(workers: Any) -> None:
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        connection = here.of("a")
        path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"
        body = msgspec.json.encode(labelled("w"))
        answer = await connection.sender.send("copy", "POST", path, body=body)
        connection.apply_copy(answer)
        copy = connection.copy("n/w")
        assert copy is not None
        await connection.sender.send("copy", "DELETE", f"{path}/w")
        connection.gone_copy("n/w", copy.uid)
        assert connection.copy("n/w") is None
        connection.apply_copy(b"{}")
        job = await connection.sender.send("job", "POST", "/apis/batch/v1/namespaces/n/jobs", body=body)
        connection.apply_job(job)
        found = connection.job("n/none", "w")
        assert found is not None
        connection.gone_job("n/w", found.uid)
        assert connection.job("n/none", "w") is None


async def test_a_write_that_fails_is_not_repeated(workers: Any) -> None:
    """What is right may be something else by then: whoever wrote decides anew."""
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        worker.refuse = lambda request: web.Response(status=500) if request.method == "PUT" else None
        with pytest.raises(ApiError):
            await here.of("a").sender.send("x", "PUT", "/apis/batch/v1/namespaces/n/jobs/j", body=b"{}")
        assert worker.requests.count("PUT jobs") == 1


async def test_a_new_token_needs_no_new_session(workers: Any) -> None:
    """And no other cluster loses a watch."""
    one, two, here = await workers("a"), await workers("b"), Here()
    here.join("a", one)
    here.join("b", two)
    async with here.running():
        await here.reaches("a", "Connected")
        await here.reaches("b", "Connected")
        watches = [worker.requests.count("WATCH workloads") for worker in (one, two)]
        one.tokens = {"new"}
        here.secret("a", one.kubeconfig(token="new"))
        client = here.of("a").client
        await until(lambda: client._line.access.token == "new")  # type: ignore[attr-defined]
        await client.request("GET", "/apis/batch/v1/jobs")
        await one.put("workloads", labelled("w"))
        await until(lambda: here.of("a").copy("n/w") is not None)
        assert here.of("a").client is client
        assert [worker.requests.count("WATCH workloads") for worker in (one, two)] == watches
        assert here.of("a").reach == here.of("b").reach == "Connected"


async def test_another_server_is_another_session_and_its_objects_replace_the_old_ones(workers: Any) -> None:
    one, two, here = await workers("a"), await workers("b"), Here()
    await one.put("workloads", labelled("w"))
    await two.put("workloads", labelled("v"))
    here.join("a", one)
    async with here.running():
        await here.reaches("a", "Connected")
        here.workloads.clear()
        here.secret("a", two.kubeconfig())
        await until(lambda: here.of("a").copy("n/v") is not None)
        assert here.of("a").copy("n/w") is None
        assert sorted(here.workloads) == [("a", "n/v"), ("a", "n/w")]


async def test_a_bad_secret_is_named_and_counts_as_a_loss_in_time(workers: Any) -> None:
    """13238; and a good one is used at once (10122, 10428)."""
    worker, here = await workers("a"), Here()
    here.cluster("a")
    async with here.running():
        said = await here.says("a", "BadKubeConfig")
        assert said["message"].startswith(
            "load client config failed: Secret reprieve-multikueue/a is not there"
        )
        await until(lambda: "; connection attempts: " in here.condition("a")["message"])
        assert here.of("a").reach == "Away"
        await here.reaches("a", "Lost")
        assert "is not there" in here.of("a").why
        here.secret("a", worker.kubeconfig(exec={"command": "sh"}))
        assert "exec" in (await here.says("a", "InsecureKubeConfig"))["message"]
        with pytest.raises(ApiError, match="no session"):
            _ = here.of("a").sender
        here.secret("a", worker.kubeconfig())
        await here.reaches("a", "Connected")
        await here.says("a", "Active")
        here.remove(KubeconfigSecret, "a")
        await here.says("a", "BadKubeConfig")
        assert here.of("a").reach == "Away"


async def test_profiles_are_not_supported() -> None:
    here = Here()
    here.cluster("a", clusterProfileRef={"name": "p"})
    async with here.running():
        await here.says("a", "MultiKueueClusterProfileFeatureDisabled")


def counted(metric: Counter, cluster: str) -> float:
    return sum(
        sample.value
        for family in metric.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and sample.labels == {"cluster": cluster}
    )


def silent() -> set[str]:
    """The clusters whose silence is measured."""
    return {sample.labels["cluster"] for family in SILENCE.collect() for sample in family.samples}


async def test_a_silent_cluster_is_away_then_lost_and_comes_back(workers: Any) -> None:
    one, two, here = await workers("a"), await workers("b"), Here()
    LOSSES.clear()  # other tests have clusters of this name, whose labels may be removed meanwhile
    CONNECTIONS.clear()
    here.join("a", one)
    here.join("b", two)
    await one.put("workloads", labelled("w"))
    async with here.running():
        await here.reaches("a", "Connected")
        await here.reaches("b", "Connected")
        one.open.clear()
        await here.reaches("a", "Away")
        await here.reaches("a", "Lost")
        said = await here.says("a", "ClientConnectionFailed")
        assert "; connection attempts: " in said["message"]
        assert here.of("a").copy("n/w") is not None  # what was seen last
        assert here.of("b").reach == "Connected"
        await until(lambda: counted(LOSSES, "a") == 1)
        one.open.set()
        await here.reaches("a", "Connected")
        await here.says("a", "Active")
        assert {"a", "b"} == set(here.changes)
        assert counted(CONNECTIONS, "a") == 2
        assert {"a", "b"} <= silent()
    assert not {"a", "b"} & silent()  # another process may lead now


async def test_a_watch_that_ends_is_no_loss(workers: Any) -> None:
    """12999."""
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        client, lists = here.of("a").client, worker.requests.count("GET workloads")
        worker.refuse = lambda request: web.Response(status=503) if "watch" in request.query else None
        await worker.cut()
        await until(lambda: worker.requests.count("WATCH workloads") >= 3)
        worker.refuse = lambda _: None
        await worker.put("workloads", labelled("w"))
        await until(lambda: here.of("a").copy("n/w") is not None)
        assert here.of("a").client is client
        assert here.of("a").reach == "Connected"
        assert worker.requests.count("GET workloads") == lists


async def test_two_names_of_one_cluster_are_not_both_used(workers: Any) -> None:
    """Each would close the gate that the other has opened, without end. The second one takes over when the first one
    goes."""
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        here.join("b", worker)
        said = await here.says("b", "SameCluster")
        assert said["message"].startswith("it is the same cluster as MultiKueueCluster a;")
        assert here.of("b").reach != "Connected"
        here.remove(MultiKueueCluster, "a")
        await here.reaches("b", "Connected")
        assert next(iter(worker.of("leases").values()))["spec"]["holderIdentity"] == HERE


async def test_a_second_manager_of_the_origin_is_stopped(workers: Any) -> None:
    worker, first, second = await workers("a"), Here(), Here(manager="another")
    first.join("a", worker)
    second.join("a", worker)
    async with first.running():
        await first.reaches("a", "Connected")
        async with second.running():
            said = await second.says("a", "OriginInUse")
            assert HERE in said["message"]
            assert first.of("a").reach == "Connected"
            first.remove(MultiKueueCluster, "a")  # gives the origin back
            await second.reaches("a", "Connected")
        assert (
            worker.of("leases")[MANAGER_NAMESPACE, "multikueue-multikueue"]["spec"]["holderIdentity"]
            == "another"
        )


async def test_another_leader_of_the_manager_goes_on_at_once(workers: Any) -> None:
    worker = await workers("a")
    for _ in range(2):
        here = Here()
        here.join("a", worker)
        async with here.running():
            await here.reaches("a", "Connected")
    assert worker.of("leases")[MANAGER_NAMESPACE, "multikueue-multikueue"]["spec"]["holderIdentity"] == HERE


@pytest.mark.parametrize(
    ("honours", "has", "reason"),
    [(True, True, "Honoured"), (False, True, "NotHonoured"), (True, False, "NotServed")],
)
async def test_gates_are_tried_at_each_connect(workers: Any, honours: bool, has: bool, reason: str) -> None:
    worker, here = await workers("a"), Here()
    worker.honours_gates, worker.has_gates = honours, has
    left = {"metadata": {"name": "multikueue-multikueue-gates", "namespace": MANAGER_NAMESPACE}}
    await worker.put("workloads", left)
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        await here.says("a", reason, probe.CONDITION)
        assert here.of("a").honours_gates is (honours and has)
        worker.honours_gates = worker.has_gates = True
        await until(lambda: here.of("a").honours_gates)
        await until(lambda: not worker.of("workloads"))
        assert list(here.of("a").copies()) == []


async def test_gates_are_honoured_until_two_probes_say_that_they_are_not(workers: Any) -> None:
    """A worker whose API server has started anew has no quota controller for some seconds. All waiting copies would
    have to be removed."""
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")  # it is probed before that, and not active before that
        assert here.of("a").honours_gates
        worker.honours_gates = False
        worker.open.clear()
        await until(lambda: not here.of("a").activity.is_active)
        before = worker.requests.count("DELETE workloads")
        worker.open.set()
        await until(lambda: not here.of("a").honours_gates)
        assert worker.requests.count("DELETE workloads") >= before + 2


async def test_after_a_request_without_an_answer_it_is_watched_anew(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same session. What is seen counts again once it is as new as the cluster."""
    monkeypatch.setattr(connecting, "AWAY_SECONDS", 60.0)
    worker = await workers("a")
    here = Here(MultiKueueConfiguration(allowed_networks=["127.0.0.0/8"], worker_lost_timeout_seconds=60.0))
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        sessions, watches = worker.requests.count("GET jobs"), worker.requests.count("WATCH jobs")
        worker.open.clear()
        await here.reaches("a", "Away")
        assert "no answer" in here.of("a").why
        assert here.condition("a")["reason"] == "Active"
        worker.open.set()
        await here.reaches("a", "Connected")
        assert worker.requests.count("WATCH jobs") > watches
        assert worker.requests.count("GET jobs") > sessions  # what it is compared with
        assert here.of("a").why == ""


async def test_probes_of_gates_come_more_and_more_seldom(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker with Kueue's feature gate off never honours them. One that begins to is found with the next probe."""
    waits: list[int] = []

    class Steps:
        def delay(self, failures: int) -> float:
            waits.append(failures)
            return 0.02

    monkeypatch.setattr(connecting, "AWAY_SECONDS", 60.0)  # another session counts from the beginning
    monkeypatch.setattr(connecting, "PROBES", Steps())
    monkeypatch.setattr(probe, "PATIENCE_SECONDS", 0.02)
    worker, here = await workers("a"), Here()
    worker.honours_gates = False
    here.join("a", worker)
    async with here.running():
        await until(lambda: len(waits) >= 4)
        assert waits[:4] == [1, 2, 3, 4]
        worker.honours_gates = True
        await until(lambda: here.of("a").honours_gates)
        await until(lambda: waits[-2:] == [1, 1])


async def test_another_cluster_behind_the_same_address_is_another_session(workers: Any) -> None:
    """A proxy leads to another API server. What was seen in the first one is not there."""
    worker, here = await workers("a"), Here()
    await worker.put("workloads", labelled("w"))
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        lists = worker.requests.count("GET workloads")
        del worker.of("workloads")["n", "w"]  # no watch shows it
        del worker.of("leases")[MANAGER_NAMESPACE, "multikueue-multikueue"]
        await until(lambda: "leads to another cluster than before" in str(here.condition("a")))
        await here.reaches("a", "Connected")
        assert here.of("a").copy("n/w") is None
        assert worker.requests.count("GET workloads") > lists


async def test_a_secret_that_comes_and_goes_leaves_one_session(workers: Any) -> None:
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        for number in range(50):
            here.remove(KubeconfigSecret, "a")
            await asyncio.sleep(0.01 * (number % 5 == 0))
            here.secret("a", worker.kubeconfig())
        await here.reaches("a", "Connected")
        await here.says("a", "Active")
        assert len([each for each in asyncio.all_tasks() if each.get_name() == "cluster a"]) == 1


async def test_missing_rights_are_said(workers: Any) -> None:
    worker, here = await workers("a"), Here()
    worker.refuse = lambda request: web.Response(status=403) if "/jobs" in request.path else None
    here.join("a", worker)
    async with here.running():
        await until(lambda: "jobs: HTTP 403 Forbidden" in str(here.condition("a")))
        assert here.of("a").reach == "Away"
        worker.refuse = lambda _: None
        await here.reaches("a", "Connected")


async def test_a_cluster_that_is_gone_leaves_nothing(workers: Any) -> None:
    worker, here = await workers("gone"), Here()
    here.join("gone", worker)

    def metrics() -> list[str]:
        return [
            sample.name
            for metric in (REGISTRY, *OF_CLUSTERS)
            for family in metric.collect()
            for sample in family.samples
            if sample.labels.get("cluster") == "gone"
        ]

    async with here.running():
        await here.reaches("gone", "Connected")
        assert {"reprieve_api_requests_total", "reprieve_multikueue_connections_total"} <= set(metrics())
        here.remove(MultiKueueCluster, "gone")
        assert here.clusters.get("gone") is None
        assert list(here.clusters) == []
        await until(lambda: not metrics())
        await until(lambda: [each["spec"]["holderIdentity"] for each in worker.of("leases").values()] == [""])
        here.cluster("gone")
        await here.reaches("gone", "Connected")


async def test_checks_follow_configs_and_clusters(workers: Any) -> None:
    """10122, 10428: in any order."""
    worker, here = await workers("a"), Here()
    told: list[str] = []
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
    async with here.running():
        with here.hooks.configs.told(told.append):
            for name, controller in (("c", CONTROLLER_NAME), ("foreign", "example.com/other")):
                spec = {"controllerName": controller, "parameters": parameters}
                here.put(AdmissionCheck, {"metadata": {"name": name}, "spec": spec}, ADMISSION_CHECKS.path)
            await here.says("c", "BadConfig", path=ADMISSION_CHECKS.path)
            assert here.clusters.config_of("c") is None
            here.put(MultiKueueConfig, {"metadata": {"name": "all"}, "spec": {"clusters": ["b", "a"]}})
            assert here.clusters.config_of("c") == ("b", "a")
            await here.says("c", "NoUsableClusters", path=ADMISSION_CHECKS.path)
            here.join("a", worker)
            said = await here.says("c", "SomeActiveClusters", path=ADMISSION_CHECKS.path)
            assert said["message"] == "Missing clusters: [b]"
            here.put(MultiKueueConfig, {"metadata": {"name": "all"}, "spec": {"clusters": ["a"]}})
            await here.says("c", "Active", path=ADMISSION_CHECKS.path)
            here.remove(MultiKueueCluster, "a")
            await here.says("c", "NoUsableClusters", path=ADMISSION_CHECKS.path)
            here.remove(AdmissionCheck, "c")
            assert here.clusters.config_of("c") is None
        assert set(told) == {"c", "foreign"}
        assert here.condition("foreign", path=ADMISSION_CHECKS.path)["reason"] is None
        assert here.clusters.config_of("foreign") is None


async def test_nothing_is_written_after_the_term(workers: Any) -> None:
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        here.term.end()
        before = [each for each in worker.requests if not each.startswith(("GET", "WATCH"))]
        with pytest.raises(ApiError, match="the term is over"):
            await here.of("a").sender.send("x", "POST", "/apis/batch/v1/namespaces/n/jobs", body=b"{}")
        await asyncio.sleep(0.2)
        assert [each for each in worker.requests if not each.startswith(("GET", "WATCH"))] == before
