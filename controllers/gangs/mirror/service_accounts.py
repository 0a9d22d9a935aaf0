"""Which service account each pod runs as: a projection of watched pods."""

from __future__ import annotations

import sys
from typing import Final

from api.core import Pod

__all__ = ["ServiceAccounts"]

DEFAULT: Final = "default"


class ServiceAccounts:
    """The names of service accounts. Only those of bound pods that do not run as `default` are kept."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}
        """By UID."""

    def of(self, uid: str) -> str:
        """The service account of a bound pod."""
        return self._others.get(uid, DEFAULT)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        name = pod.spec.service_account_name if pod is not None and pod.spec.node_name else ""
        if name and name != DEFAULT:
            self._others[uid] = sys.intern(name)
        elif self._others:
            self._others.pop(uid, None)
