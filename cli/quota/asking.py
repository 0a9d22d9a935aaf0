"""Asks for a decision about a Workload. Errors name the place where the object was read."""

from __future__ import annotations

from answers.errors import InputError
from answers.quota_decision import QuotaAnswer, pending, quota
from answers.reading.documents import located
from answers.reading.quota_objects import QuotaObjects
from quota.answers.selected import Namespaces
from quota.search.decision import Options
from quota.state.amounts import QuotaError

__all__ = ["ask"]


def ask(
    objects: QuotaObjects,
    key: str,
    moment: int,
    options: Options,
    *,
    created: str | None = None,
    explain: bool = False,
    namespaces: Namespaces | None = None,
) -> QuotaAnswer:
    """The answer about the Workload `NAMESPACE/NAME`. `created`: see `pending`. `namespaces`: see `quota`.

    Raises InputError."""
    picture = objects.picture()
    with located(objects.place(f"Workload {key}")):
        workload = pending(picture, key, created)
    try:
        return quota(picture, workload, moment, options, explain=explain, namespaces=namespaces)
    except QuotaError as error:
        place = objects.place(error.subject) or error.subject
        field = error.field and f"{error.field}: "
        raise InputError(f"{place}: {field}{error.problem}") from None
