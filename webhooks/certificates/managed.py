"""Certificates that this server makes itself. All replicas share the authority."""

from __future__ import annotations

from typing import Final

import msgspec
import structlog

from api.clock import SYSTEM_CLOCK, Clock
from kube.errors import ApiError
from serving.certificates.keeping import expiry_fault
from serving.certificates.live_context import LiveContext
from webhooks.certificates.authorities import Authorities, Authority, Leaf, is_due
from webhooks.certificates.authority_secret import AuthoritySecret
from webhooks.certificates.bundles import Bundles
from webhooks.configuration import ManagedConfiguration
from webhooks.metrics import CERTIFICATE_METRICS

__all__ = ["EXPECTED", "ManagedCertificates"]

log = structlog.get_logger(__name__)

CONFLICTS: Final = 4
"""The number of attempts. Other replicas write the same Secret."""
EXPECTED: Final = (ApiError, ValueError, OSError, msgspec.DecodeError)
"""The errors that a look can raise."""
PATIENT_LOOKS: Final = 3
"""A number of looks. If the Secret was deleted while API servers still trust an authority, another replica may have
its key. A replica without a key waits this long for the other one to write the Secret again."""


class ManagedCertificates:
    """Makes and renews certificates.

    An authority signs once all webhook configurations have had it for a while. Until then its predecessor signs, if
    there is one.
    """

    def __init__(
        self,
        configuration: ManagedConfiguration,
        secret: AuthoritySecret,
        bundles: Bundles,
        live: LiveContext,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._configuration = configuration
        self._secret, self._bundles, self._live, self._clock = secret, bundles, live, clock
        self._authorities = Authorities()
        self._published: dict[bytes, float] = {}
        """By fingerprint: since when the webhook configurations have had the authority."""
        self._leaf: Leaf | None = None
        self._patience = PATIENT_LOOKS

    async def look(self) -> None:
        """See `serving.certificates.keeping.Source`. Raises one of EXPECTED."""
        try:
            try:
                await self._share()
            finally:
                await self._publish()  # even if the Secret cannot be read
        finally:
            self._renew()  # even if the API server is away

    def fault(self) -> str | None:
        """Why the certificate makes the server unready; None if it does not."""
        return expiry_fault(self._leaf.expires if self._leaf else 0.0, self._clock.wall())

    async def _share(self) -> None:
        """Agree with the other replicas on the authorities."""
        for _ in range(CONFLICTS):
            stored = await self._secret.read()
            found = stored.authorities if stored else Authorities()
            known = self._authorities.with_others(found).alive(self._clock.wall())
            if not known and await self._others_may_know():
                return
            wanted = known.with_successor(self._clock.wall(), self._configuration.authority_seconds)
            version = stored.resource_version if stored else None
            same = wanted.bundle == found.bundle and wanted.keys == found.keys
            if same or await self._secret.write(wanted, version):
                self._adopt(wanted, made=wanted is not known)
                return
        raise ApiError(409, "Conflict", "the Secret of the authorities changes all the time")

    async def _others_may_know(self) -> bool:
        """Whether to wait for another replica to write the Secret again."""
        self._patience -= 1
        return self._patience >= 0 and any(
            _is_alive(bundle, self._clock.wall()) for bundle in await self._bundles.read()
        )

    def _adopt(self, authorities: Authorities, *, made: bool) -> None:
        self._authorities = authorities
        newest = authorities.newest_first[0]
        CERTIFICATE_METRICS.expires.labels("authority").set(newest.expires)
        if made:
            CERTIFICATE_METRICS.renewals.labels("authority").inc()
            log.info("a new authority", expires=newest.expires)

    async def _publish(self) -> None:
        """Write all authorities into the webhook configurations."""
        if not self._authorities:
            return
        before = await self._bundles.publish(self._authorities.bundle)
        for each in self._authorities.newest_first:
            had = all(each.pem in bundle for bundle in before)
            since = self._published.get(each.fingerprint, each.made if had else self._clock.wall())
            self._published[each.fingerprint] = min(
                since, self._clock.wall()
            )  # the clock may have been ahead

    def _renew(self) -> None:
        now, signer, leaf = self._clock.wall(), self._signer(), self._leaf
        if signer is None or signer.expires <= now:
            return
        if (
            leaf is not None
            and leaf.issuer == signer.fingerprint
            and not is_due(leaf.made, leaf.expires, now)
        ):
            return
        configuration = self._configuration
        leaf = signer.issue(configuration.hosts, now, configuration.certificate_seconds)
        self._live.use(leaf.pem)
        self._leaf = leaf
        CERTIFICATE_METRICS.shown(leaf.expires)

    def _signer(self) -> Authority | None:
        """The newest authority that has been trusted for long enough. If there is none, the oldest trusted one."""
        settled = self._clock.wall() - self._configuration.overlap_seconds
        usable = [
            each
            for each in self._authorities.newest_first
            if each.may_sign(self._clock.wall()) and each.fingerprint in self._published
        ]
        old_enough = (each for each in usable if self._published[each.fingerprint] <= settled)
        return next(old_enough, usable[-1] if usable else None)


def _is_alive(bundle: bytes, now: float) -> bool:
    """Whether API servers with this bundle trust an authority that has not expired."""
    try:
        return bool(Authorities.parse(bundle, b"").alive(now))
    except ValueError:
        return False
