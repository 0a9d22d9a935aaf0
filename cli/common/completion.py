"""What a shell completes: files, contexts, and the names of objects, as far as a cluster answers at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import click
from click.shell_completion import CompletionItem

from cli.common.cluster import Connection
from cli.common.contexts import contexts

__all__ = [
    "PODS",
    "POD_GROUPS",
    "WORKLOADS",
    "Completed",
    "a_cluster",
    "a_context",
    "a_file",
    "a_namespace",
    "a_preemptor",
    "a_queue",
    "an_object",
    "by_kind",
]

Completed = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""What `shell_complete` of a parameter takes."""

PODS: Final = ("/api/v1", "pods")
"""The path of a group and version, and the plural of a kind."""
JOBS: Final = ("/apis/batch/v1", "jobs")
POD_GROUPS: Final = ("/apis/reprieve.dev/v1alpha1", "podgroups")
WORKLOADS: Final = ("/apis/kueue.x-k8s.io/v1beta2", "workloads")
CLUSTER_QUEUES: Final = ("/apis/kueue.x-k8s.io/v1beta2", "clusterqueues")
LOCAL_QUEUES: Final = ("/apis/kueue.x-k8s.io/v1beta2", "localqueues")
CLUSTERS: Final = ("/apis/kueue.x-k8s.io/v1beta2", "multikueueclusters")
NAMESPACES: Final = ("/api/v1", "namespaces")
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "pod": PODS,
    "podgroup": POD_GROUPS,
    "job": JOBS,
    "workload": WORKLOADS,
}


def a_file(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Leaves it to the shell, which knows the files."""
    return [CompletionItem(begun, type="file")]


def a_context(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """The contexts of the kubeconfig."""
    return _items(contexts(_connection(context).kubeconfig).namespaces, begun)


def a_namespace(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """The namespaces of the cluster."""
    return _items((name for _, name in _listed(context, [_path(NAMESPACES)])), begun)


def a_queue(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """ClusterQueues by name, and LocalQueues as NAMESPACE/NAME; with -n, LocalQueues by name."""
    if namespace := _text(context.params.get("namespace")):
        return _items((name for _, name in _listed(context, [_path(LOCAL_QUEUES, namespace)])), begun)
    paths = [_path(CLUSTER_QUEUES), _path(LOCAL_QUEUES)]
    return _items((_whole(*key) for key in _listed(context, paths)), begun)


def a_cluster(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """The MultiKueueClusters of a manager."""
    return _items((name for _, name in _listed(context, [_path(CLUSTERS)])), begun)


def an_object(*kinds: tuple[str, str]) -> Completed:
    """Objects of these kinds, as [NAMESPACE/]NAME."""

    def complete(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
        return _objects(context, kinds, begun)

    return complete


def a_preemptor(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """PodGroups, or pods with --pod."""
    return _objects(context, [PODS if context.params.get("pod") else POD_GROUPS], begun)


def by_kind(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Objects of the kind that the argument before it names."""
    kind = KINDS.get(str(context.params.get("kind")))
    return _objects(context, [kind], begun) if kind is not None else []


def _objects(context: click.Context, kinds: Sequence[tuple[str, str]], begun: str) -> list[CompletionItem]:
    """Names of the namespace that counts. With a slash, NAMESPACE/NAME of the namespace that is written."""
    namespace, slash, _ = begun.partition("/")
    if not slash:
        given = context.params.get("namespace")
        connection = _connection(context)
        namespace = given if isinstance(given, str) else ""
        namespace = namespace or contexts(connection.kubeconfig).namespace(connection.context)
    found = _listed(context, [_path(kind, namespace) for kind in kinds])
    return _items((_whole(*key) if slash else key[1] for key in found), begun)


def _listed(context: click.Context, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Nothing if the command reads files."""
    if context.params.get("files") or context.params.get("more"):
        return []
    from cli.common.names import listed  # noqa: PLC0415 - a command that completes nothing needs no HTTP client

    return listed(_connection(context), paths)


def _path(kind: tuple[str, str], namespace: str = "") -> str:
    root, plural = kind
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def _whole(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _items(names: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(set(names)) if name.startswith(begun)]


def _connection(context: click.Context) -> Connection:
    given = context.params
    groups = given.get("groups")
    return Connection(
        str(given.get("kubeconfig") or "~/.kube/config"),
        _text(given.get("context")),
        _text(given.get("user")),
        tuple(groups) if isinstance(groups, tuple) else (),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
