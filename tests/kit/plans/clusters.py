"""Small clusters that hypothesis makes up, as plain objects, for the gang d/hero."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Object = dict[str, Any]

PRIORITIES = (0, 10, 100, 500)
HERO_PRIORITIES = (10, 100, 1000, 1000, 1000)


@st.composite
def clusters(draw: st.DrawFn, budgets: bool = True, pods: int = 10) -> list[Object]:
    """Nodes in up to two racks, up to `pods` pods of other groups and of none, and the gang."""
    racks = draw(st.integers(1, 2))
    apart = draw(_relations() if not draw(st.integers(0, 2)) else st.just(()))
    nodes = [draw(_node(index, racks)) for index in range(draw(st.integers(1, 4)))]
    names = [node["metadata"]["name"] for node in nodes]
    groups = [draw(_group(f"g{index}")) for index in range(draw(st.integers(0, 3)))]
    running = [draw(_pod(f"v{index}", names, groups)) for index in range(draw(st.integers(pods // 2, pods)))]
    hero, *members = draw(_hero(names))
    for each in (*running, *members) if apart else ():
        draw(_keep_apart(each, apart))
    objects = [*nodes, *groups, *running, hero, *members]
    if budgets:
        objects += [draw(_budget(app)) for app in sorted(draw(st.sets(st.sampled_from("abc"))))]
    return objects


@st.composite
def _node(draw: st.DrawFn, index: int, racks: int) -> Object:
    labels = {"kubernetes.io/hostname": f"n{index}", "disk": draw(st.sampled_from(("ssd", "hdd")))}
    if draw(st.integers(0, 9)):
        labels["rack"] = f"r{index % racks}"
    spec: Object = {}
    if not draw(st.integers(0, 7)):
        spec["taints"] = [{"key": "dedicated", "value": "x", "effect": draw(st.sampled_from(EFFECTS))}]
    if not draw(st.integers(0, 11)):
        spec["unschedulable"] = True
    cpu, gpu = draw(st.sampled_from((2, 4, 8))), draw(st.sampled_from((None, 0, 2)))
    allocatable = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": draw(st.sampled_from(("110", "4")))}
    if gpu is not None:
        allocatable["example.com/gpu"] = str(gpu)
    meta = {"name": f"n{index}", "uid": f"uid-n{index}", "labels": labels}
    return {"kind": "Node", "metadata": meta, "spec": spec, "status": {"allocatable": allocatable}}


HOSTNAME = "kubernetes.io/hostname"


@st.composite
def _relations(draw: st.DrawFn) -> tuple[Object, ...]:
    """Host ports and anti-affinity terms that pods may have; few, so that they meet."""
    port = st.fixed_dictionaries(
        {"containerPort": st.just(80), "hostPort": st.sampled_from((80, 81))},
        optional={
            "protocol": st.sampled_from(("TCP", "UDP")),
            "hostIP": st.sampled_from(("0.0.0.0", "10.0.0.1", "10.0.0.2")),  # noqa: S104
        },
    )
    selector = st.sampled_from(
        (
            {"matchLabels": {"app": "a"}},
            {"matchLabels": {"reprieve.dev/pod-group": "hero"}},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
        )
    )
    term = st.fixed_dictionaries(
        {"topologyKey": st.just(HOSTNAME), "labelSelector": selector},
        optional={
            "namespaces": st.sampled_from((["d"], ["other"], [])),
            "namespaceSelector": st.just({}),
            "matchLabelKeys": st.just(["app"]),
            "mismatchLabelKeys": st.just(["reprieve.dev/pod-group"]),
        },
    )
    return (*draw(st.lists(port, max_size=2)), *draw(st.lists(term, min_size=1, max_size=2)))


@st.composite
def _keep_apart(draw: st.DrawFn, pod: Object, relations: tuple[Object, ...]) -> None:
    """Give the pod one of the relations, or none."""
    relation = draw(st.sampled_from((None, *relations)))
    pod["metadata"]["labels"].setdefault("app", draw(st.sampled_from("abc")))
    pod["spec"] = {**pod["spec"]}  # members of one shape share it
    if relation is None:
        return
    if "topologyKey" in relation:
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [relation]}
        pod["spec"]["affinity"] = {"podAntiAffinity": terms}
    else:
        pod["spec"]["containers"] = [{**pod["spec"]["containers"][0], "ports": [relation]}]


ODD: tuple[Object, ...] = ({"priority": 0}, {"preemptionPolicy": "Never"}, {"schedulerName": "other"})
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


@st.composite
def _group(draw: st.DrawFn, name: str) -> Object:
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "d", "uid": f"uid-{name}"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "disruptionMode": {draw(st.sampled_from(("all", "all", "single"))): {}},
            "priority": draw(st.sampled_from(PRIORITIES)),
        },
    }


def _requests(cpu: str, memory: int, gpu: int) -> Object:
    requests = {"cpu": cpu, "memory": f"{memory}Gi"}
    if gpu:
        requests["example.com/gpu"] = str(gpu)
    return {"name": "c", "resources": {"requests": requests}}


@st.composite
def _pod(draw: st.DrawFn, name: str, nodes: list[str], groups: list[Object]) -> Object:
    container = _requests(
        draw(st.sampled_from(("0", "500m", "1", "1500m", "2", "3"))),
        draw(st.sampled_from((0, 1, 2, 6))),
        draw(st.sampled_from((0, 0, 0, 1))),
    )
    labels = {"app": draw(st.sampled_from("abc"))}
    group = draw(st.sampled_from([None, *groups]))
    if group is not None:
        labels["reprieve.dev/pod-group"] = group["metadata"]["name"]
    meta = {"name": name, "namespace": "d", "uid": f"uid-{name}", "labels": labels}
    fate = draw(st.integers(0, 19))
    if fate == 0:
        meta["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    if fate == 1:
        meta["annotations"] = {"kubernetes.io/config.mirror": "m"}
    phase = "Succeeded" if fate == 2 else "Running"
    spec = {
        "nodeName": draw(st.sampled_from(nodes)),
        "priority": draw(st.sampled_from((*PRIORITIES, 2000))),
        "containers": [container],
    }
    start = f"2026-01-01T{draw(st.integers(0, 23)):02}:00:00Z"
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase, "startTime": start}}


@st.composite
def _hero(draw: st.DrawFn, nodes: list[str]) -> list[Object]:
    members = draw(st.integers(1, 5))
    spec: Object = {
        "schedulingPolicy": {"gang": {"minCount": draw(st.integers((members + 1) // 2, members))}},
        "priority": draw(st.sampled_from(HERO_PRIORITIES)),
    }
    if not draw(st.integers(0, 2)):
        spec["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    if not draw(st.integers(0, 2)):
        spec["disruptionMode"] = {"all": {}}
    if not draw(st.integers(0, 19)):
        spec["preemptionPolicy"] = "Never"
    group = {
        "kind": "PodGroup",
        "metadata": {
            "name": "hero",
            "namespace": "d",
            "uid": "uid-hero",
            "creationTimestamp": "2026-01-01T00:00:01Z",
        },
        "spec": spec,
    }
    if not draw(st.integers(0, 3)):
        has_run = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}
        group["status"] = {"conditions": [has_run]}
    shapes = [draw(_shape()) for _ in range(draw(st.integers(1, 3)))]
    odd = not draw(st.integers(0, 3))
    return [group, *(draw(_member(index, shapes, nodes, spec["priority"], odd)) for index in range(members))]


@st.composite
def _shape(draw: st.DrawFn) -> Object:
    container = _requests(
        draw(st.sampled_from(("1", "2", "3"))),
        draw(st.sampled_from((0, 1, 4))),
        draw(st.sampled_from((0, 0, 0, 1))),
    )
    spec: Object = {"containers": [container]}
    if not draw(st.integers(0, 3)):
        spec["nodeSelector"] = {"disk": draw(st.sampled_from(("ssd", "hdd")))}
    if draw(st.booleans()):
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return spec


@st.composite
def _member(
    draw: st.DrawFn, index: int, shapes: list[Object], nodes: list[str], priority: int, odd: bool
) -> Object:
    """With `odd`, a few members do not agree with the group, or with one another."""
    meta: Object = {
        "name": f"h{index}",
        "namespace": "d",
        "uid": f"uid-h{index}",
        "creationTimestamp": f"2026-01-01T00:00:0{draw(st.integers(0, 2))}Z",
        "labels": {"reprieve.dev/pod-group": "hero"},
    }
    spec = {"priority": priority, **draw(st.sampled_from(shapes))}
    if odd:
        spec |= draw(st.sampled_from(({}, {}, *ODD)))
    if not draw(st.integers(0, 9)):
        spec["nodeName"] = draw(st.sampled_from(nodes))
    if not draw(st.integers(0, 19)):
        meta["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    if not draw(st.integers(0, 19)) and "nodeName" not in spec:
        gates = draw(st.sets(st.sampled_from(("example.com/wait", "reprieve.dev/gang")), min_size=1))
        spec["schedulingGates"] = [{"name": gate} for gate in sorted(gates)]
    phase = "Succeeded" if not draw(st.integers(0, 19)) else "Running"
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase}}


@st.composite
def _budget(draw: st.DrawFn, app: str) -> Object:
    status: Object = {"disruptionsAllowed": draw(st.integers(0, 2))}
    if draw(st.booleans()):
        status["disruptedPods"] = {f"v{draw(st.integers(0, 9))}": "2026-01-02T00:00:00Z"}
    meta = {"name": f"pdb-{app}", "namespace": "d", "uid": f"uid-pdb-{app}"}
    spec = {"selector": {"matchLabels": {"app": app}}}
    return {"kind": "PodDisruptionBudget", "metadata": meta, "spec": spec, "status": status}
