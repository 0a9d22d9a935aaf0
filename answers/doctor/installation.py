"""Checks of what `docs/install.md` creates: definitions, rights, the process, webhooks and their certificates."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from cryptography import x509

from answers.doctor.findings import Finding, fault, note, well
from answers.doctor.kinds import Binding, ClusterRole, Definition, Deployment, Rule, Slice, Webhook, Webhooks
from answers.doctor.rights import ACTING_RIGHTS, OBSERVING_RIGHTS, RIGHTS, Right
from answers.doctor.seen import Seen
from api.core import Namespace
from api.crds.served import OURS, lacking
from api.holds import holds_of
from api.lease import Lease
from api.pauses import PAUSED_UNTIL, pause_of
from api.published import (
    BY_OWNER,
    GATES,
    HOLDS,
    LIMITS_REACHED,
    NAMESPACE,
    PLANNING_MODE,
    PROCESS,
    QUOTA_MODE,
    RIGHTS_MISSING,
    VERSION,
)
from api.reached_limits import limits_in
from api.times import parse_rfc3339
from api.words import some

__all__ = [
    "certificates",
    "definitions",
    "holds",
    "limits",
    "missing_rights",
    "pauses",
    "process",
    "rights",
    "webhooks",
]

BY_NAME: Final = {f"{kind.plural}.{kind.group}": kind for kind in OURS.values()}
DEFINITIONS: Final = tuple(sorted(BY_NAME))
VERSION_SERVED: Final = "v1alpha1"
DAY: Final = 86400
SOON_DAYS: Final = 14
MOST_PAUSES: Final = 10
"""Of single namespaces, that are named."""
GATING: Final = "pods.mutate.reprieve.dev"
"""The webhook that adds scheduling gates to members."""
SERVICE_NAME: Final = "kubernetes.io/service-name"
"""The label of an EndpointSlice that names its Service."""


def definitions(seen: Seen, now: float) -> list[Finding]:
    """Whether the API server serves our kinds."""
    there = {each.metadata.name: each for each in seen.all(Definition)}
    missing = [name for name in DEFINITIONS if name not in there]
    refused = [name for name in DEFINITIONS if name in there and not _serves(there[name])]
    found = []
    if missing:
        found.append(fault("definitions", "DefinitionMissing", f"{some(missing)}: not there"))
    if refused:
        found.append(
            fault("definitions", "DefinitionNotServed", f"{some(refused)}: {VERSION_SERVED} is not served")
        )
    older = [said for name in DEFINITIONS if name in there and (said := _older(there[name]))]
    if older:
        found.append(fault("definitions", "DefinitionOlder", f"older than this command: {'; '.join(older)}"))
    return found or [well("definitions", f"{len(DEFINITIONS)} of ours are served")]


def process(seen: Seen, now: float) -> list[Finding]:
    """Whether a process leads, and what it says of itself."""
    lease, deployment = seen.ours(Lease), seen.ours(Deployment)
    if lease is None and deployment is None:
        return [
            fault(
                "process", "NotInstalled", f"there is neither a Deployment nor a Lease {NAMESPACE}/{PROCESS}"
            )
        ]
    spec = lease.spec if lease is not None else None
    if spec is None or not spec.holder_identity or not spec.renew_time:
        return [fault("process", "NobodyLeads", f"no replica holds the Lease {NAMESPACE}/{PROCESS}")]
    age = now - parse_rfc3339(spec.renew_time, "spec.renewTime")
    if age > (spec.lease_duration_seconds or 0):
        return [fault("process", "NobodyLeads", f"{spec.holder_identity} renewed the Lease {age:.0f} s ago")]
    said = seen.published()
    version, mode = said.get(VERSION, "not known"), said.get(QUOTA_MODE, "not known")
    by_owner, gates = said.get(BY_OWNER, "not known"), said.get(GATES, "not known")
    planning = said.get(PLANNING_MODE, "not known")
    settings = (
        f"planning.mode {planning}, quota.mode {mode}, groups.byOwner {by_owner}, feature gates {gates}"
    )
    message = f"{spec.holder_identity} leads; version {version}, {settings}"
    return [well("process", message)]


def pauses(seen: Seen, now: float) -> list[Finding]:
    """Whether evictions are paused, by whom, and until when."""
    found = (pause_of(each.metadata.name, each.metadata.annotations) for each in seen.all(Namespace))
    held = [each for each in found if each is not None and each.holds(now)]
    unreadable = [
        fault("pauses", "PauseEndUnreadable", f"Namespace {each.namespace}, {PAUSED_UNTIL}: {each.fault}")
        for each in held
        if each.fault
    ]
    ours = [each for each in held if each.namespace == NAMESPACE]
    others = [each for each in held if each.namespace != NAMESPACE]
    said = [note("pauses", f"evictions are paused in the whole cluster{each.reason}") for each in ours]
    said += [
        note("pauses", f"evictions for namespace {each.namespace} and in it are paused{each.reason}")
        for each in others[:MOST_PAUSES]
    ]
    if more := others[MOST_PAUSES:]:
        said.append(note("pauses", f"{len(more)} more namespaces are paused"))
    return [*unreadable, *said] or [well("pauses", "evictions are not paused")]


def holds(seen: Seen, now: float) -> list[Finding]:
    """What a former Enforce has left, and whether the process may withdraw it."""
    held = holds_of(seen.published().get(HOLDS, ""))
    if not held:
        return [well("holds", "nothing is left of a former Enforce")]
    said = f"a former Enforce still holds: {held}"
    if held.lacks_rights:
        return [fault("holds", "HeldWithoutRights", f"{said}; the leader has no right to release it")]
    return [note("holds", said)]


def limits(seen: Seen, now: float) -> list[Finding]:
    """Whether limits on evictions hold preemptors back, and until when."""
    said = [note("limits", str(each)) for each in limits_in(seen.published().get(LIMITS_REACHED, ""))]
    return said or [well("limits", "no limit on evictions is reached")]


def rights(seen: Seen, now: float) -> list[Finding]:
    """Whether the process may do in the whole cluster what its mode has to do, and what it may do beyond that."""
    of, mode = f"the service account {NAMESPACE}/{PROCESS}", seen.planning_mode()
    if lacks := seen.published().get(RIGHTS_MISSING, ""):
        message = f"planning.mode is Enforce, and {of} lacks {lacks}: the leader observes, and asks again each minute"
        return [fault("rights", "RightsMissing", message)]
    wanted = RIGHTS.get(mode, OBSERVING_RIGHTS)
    if missing := missing_rights(seen, wanted):
        return [fault("rights", "RightsMissing", f"{of} lacks {some(missing)}")]
    found = [well("rights", f"{len(wanted)} rights of the nodes plane are granted")]
    if mode not in ("Off", "Observe"):
        return found
    lacking = {*missing_rights(seen, ACTING_RIGHTS)}
    if beyond := [str(right) for right in ACTING_RIGHTS if str(right) not in lacking]:
        message = f"planning.mode is {mode}, and {of} has rights of Enforce: {some(beyond)}"
        found.append(note("rights", message))
    return found


def missing_rights(seen: Seen, wanted: Iterable[Right]) -> list[str]:
    """Which of these rights our service account lacks in the whole cluster."""
    granted = [
        rule
        for role in seen.all(ClusterRole)
        if role.metadata.name in _roles(seen)
        for rule in role.rules or ()
    ]
    return [str(right) for right in wanted if not any(_grants(rule, right) for rule in granted)]


def certificates(seen: Seen, now: float) -> list[Finding]:
    """Whether the CAs of our webhooks last."""
    hooks = _hooks(seen)
    if not hooks:
        return [note("certificates", "there are no webhooks of reprieve")]
    ends: list[float] = []
    for name, hook in hooks:
        try:
            ends.append(_end(hook))
        except ValueError as error:
            return [fault("certificates", "CertificateUnreadable", f"{name}, caBundle: {error}")]
    days = (min(ends) - now) / DAY
    if days <= 0:
        name = hooks[ends.index(min(ends))][0]
        return [
            fault("certificates", "CertificateExpired", f"{name}: the caBundle ended {-days:.0f} days ago")
        ]
    message = f"the first caBundle of a webhook ends in {days:.0f} days"
    if days < SOON_DAYS:
        return [fault("certificates", "CertificateEndsSoon", message)]
    return [well("certificates", message)]


def webhooks(seen: Seen, now: float) -> list[Finding]:
    """Whether somebody answers behind the Services of our webhooks."""
    hooks = [hook for _, hook in _hooks(seen)]
    if not hooks and seen.target == "Enforce":
        return [
            fault("webhooks", "ComponentMissing", "there are no webhooks: they come with components/enforce")
        ]
    if not hooks:
        return [note("webhooks", "there are no webhooks of reprieve")]
    if (mode := seen.planning_mode()) in ("Off", "Observe") and any(
        name == GATING for name, _ in _hooks(seen)
    ):
        message = f"planning.mode is {mode}, and {GATING} adds scheduling gates that nobody removes"
        return [fault("webhooks", "WebhookGatesForNobody", message)]
    services = sorted(
        {
            (each.client_config.service.namespace, each.client_config.service.name)
            for each in hooks
            if each.client_config.service is not None
        }
    )
    down = ["/".join(service) for service in services if not _ready(seen, *service)]
    if down:
        return [fault("webhooks", "WebhookDown", f"no endpoint of the Service {some(down)} is ready")]
    by_url = sum(each.client_config.url is not None for each in hooks)
    aside = f"; {by_url} with a URL are not looked at" if by_url else ""
    return [well("webhooks", f"{len(hooks)} webhooks, {len(services)} ready Services{aside}")]


def _serves(definition: Definition) -> bool:
    conditions = (definition.status.conditions if definition.status is not None else None) or ()
    is_established = any(each.type == "Established" and each.status == "True" for each in conditions)
    return is_established and any(
        each.name == VERSION_SERVED and each.served for each in definition.spec.versions or ()
    )


def _older(definition: Definition) -> str:
    """What the definition lacks that this code writes, in words; empty if it lacks nothing, or has no schema here."""
    for each in definition.spec.versions or ():
        schema = each.schema.schema if each.name == VERSION_SERVED and each.schema is not None else None
        if schema is not None and (fields := lacking(BY_NAME[definition.metadata.name], schema)):
            return f"{definition.metadata.name} lacks {some(fields)}"
    return ""


def _roles(seen: Seen) -> set[str]:
    """The ClusterRoles of our service account in the whole cluster."""
    return {
        binding.role_ref.name
        for binding in seen.all(Binding)
        for subject in binding.subjects or ()
        if (subject.kind, subject.namespace, subject.name) == ("ServiceAccount", NAMESPACE, PROCESS)
    }


def _grants(rule: Rule, right: Right) -> bool:
    return not rule.resource_names and all(
        wanted in given or "*" in given
        for wanted, given in (
            (right.group, rule.api_groups or ()),
            (right.resource, rule.resources or ()),
            (right.verb, rule.verbs),
        )
    )


def _hooks(seen: Seen) -> list[tuple[str, Webhook]]:
    """The webhooks of our configurations, with their names for people."""
    return [
        (hook.name, hook)
        for each in seen.all(Webhooks)
        if each.metadata.name == PROCESS or each.metadata.name.startswith(f"{PROCESS}-")
        for hook in each.webhooks or ()
    ]


def _end(hook: Webhook) -> float:
    """When the last CA of the webhook ends, in seconds since the epoch. Raises ValueError."""
    pem = base64.b64decode(hook.client_config.ca_bundle or "", validate=True)
    if not pem:
        raise ValueError("is empty")
    # While a CA is renewed, the old one stays in the bundle. So the last one counts.
    return max(each.not_valid_after_utc.timestamp() for each in x509.load_pem_x509_certificates(pem))


def _ready(seen: Seen, namespace: str, name: str) -> bool:
    return any(
        point.conditions is None or point.conditions.ready is not False
        for each in seen.all(Slice)
        if each.metadata.namespace == namespace and (each.metadata.labels or {}).get(SERVICE_NAME) == name
        for point in each.endpoints or ()
    )
