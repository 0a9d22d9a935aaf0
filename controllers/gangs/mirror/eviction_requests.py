"""What the API server is asked for to evict a pod, and whether a webhook or an admission policy may refuse that."""

from __future__ import annotations

from api.admission_matching import PodRequest
from controllers.gangs.mirror.service_accounts import ServiceAccounts
from nodes.state.pod_view import PodView
from nodes.state.tables import Tables
from runtime.mirror.watched_admission import WatchedAdmission

__all__ = ["EvictionRequests", "Sort"]


Sort = tuple[str, str, str, str]
"""Namespace, apiVersion and kind of the controller (empty without one), and service account. Pods of one sort are alike
for whoever may refuse their eviction by a rule that no API shows."""


class EvictionRequests:
    """Questions to the mirror. Everything is read when asked."""

    def __init__(self, tables: Tables, accounts: ServiceAccounts, admission: WatchedAdmission | None) -> None:
        """`admission`: None: nothing is known of webhooks and policies."""
        self._tables, self._accounts, self._admission = tables, accounts, admission

    @property
    def changes(self) -> int:
        """Grows when a webhook or a policy comes, goes, or changes."""
        return self._admission.changes if self._admission is not None else 0

    @property
    def is_known(self) -> bool:
        """Whether all webhooks and policies that the API shows are known."""
        return self._admission is not None and self._admission.is_known

    def sort(self, uid: str) -> Sort | None:
        """The sort of a pod; None if it is gone."""
        pod = self._find(uid)
        if pod is None:
            return None
        owner = pod.controller
        made_by = (owner.api_version, owner.kind) if owner is not None else ("", "")
        return pod.namespace, *made_by, self._accounts.of(uid)

    def may_be_refused(self, uid: str, *, by_eviction: bool) -> bool:
        """Whether the mark or the deletion of the pod may reach a webhook or a policy. True if that is not known.

        `by_eviction`: it is an Eviction in place of a deletion. That is created without labels.
        """
        pod = self._find(uid)
        if pod is None or self._admission is None:
            return True
        where = pod.namespace, pod.name, self._tables.namespaces.get(pod.namespace)
        mark = PodRequest("UPDATE", "status", *where, pod.labels)
        end = PodRequest("CREATE", "eviction", *where, {})
        if not by_eviction:
            end = PodRequest("DELETE", "", *where, pod.labels)
        return self._admission.may_reach(mark, end)

    def _find(self, uid: str) -> PodView | None:
        row = self._tables.pod(uid)
        return self._tables.view(row) if row is not None else None
