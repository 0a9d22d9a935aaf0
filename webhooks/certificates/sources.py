"""Where the serving certificate comes from, and who looks after it.

A look is cheap, is due every few seconds, and goes by the wall clock: a process that was paused when a renewal was due
notices at its next look. A look that fails leaves the certificate that is shown as it is.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, Protocol

import msgspec
import structlog
from cryptography import x509

from api.clock import SYSTEM_CLOCK, Clock
from kube.client import ApiError
from webhooks.certificates.authorities import Authorities, Authority, Leaf, is_due
from webhooks.certificates.authority_secret import AuthoritySecret
from webhooks.certificates.bundles import Bundles
from webhooks.certificates.live_context import LiveContext
from webhooks.configuration import FilesConfiguration, ManagedConfiguration
from webhooks.metrics import CERTIFICATE_EXPIRES, CERTIFICATE_FAULTS, CERTIFICATE_RENEWALS

__all__ = ["CertificateFiles", "ClientAuthority", "ManagedCertificates", "Source", "keep"]

log = structlog.get_logger(__name__)

CONFLICTS: Final = 4
"""Attempts; other replicas write the same Secret."""
PATIENT_LOOKS: Final = 3
"""How long a replica without keys waits for another one to write a deleted Secret again, if API servers trust any."""


class Source(Protocol):
    """What `keep` looks after."""

    async def look(self) -> None:
        """Do what is due. Raises ApiError, ValueError or OSError; the next look tries again."""


async def keep(source: Source, seconds: float) -> None:
    """Look every so often, for ever."""
    while True:
        try:
            await source.look()
        except (ApiError, ValueError, OSError, msgspec.DecodeError) as error:
            CERTIFICATE_FAULTS.inc()
            log.error("certificates could not be looked after", error=str(error))  # noqa: TRY400 - expected, no traceback
        await asyncio.sleep(seconds)


class CertificateFiles:
    """A certificate that somebody else renews."""

    def __init__(self, files: FilesConfiguration, live: LiveContext, clock: Clock = SYSTEM_CLOCK) -> None:
        self._files, self._live, self._clock = files, live, clock
        self._pem = b""
        self._expires = 0.0

    async def look(self) -> None:
        """See `Source`."""
        pem = await asyncio.to_thread(_read, self._files.cert_file, self._files.key_file)
        if pem == self._pem:
            return
        expires = x509.load_pem_x509_certificate(pem).not_valid_after_utc.timestamp()
        self._live.use(pem)
        self._pem, self._expires = pem, expires
        _shown(self._expires)

    def fault(self) -> str | None:
        """The readiness check."""
        return _fault(self._expires, self._clock.wall())


class ClientAuthority:
    """The CAs of callers, read again when their file changes; while it cannot be read, they stay as they are."""

    def __init__(self, file: str, live: LiveContext) -> None:
        self._file, self._live = file, live
        self._content: bytes | None = None

    async def look(self) -> None:
        """See `Source`."""
        content = await asyncio.to_thread(_read, self._file)
        if content != self._content:
            try:
                self._live.trust(content)
            except ValueError as error:
                raise ValueError(f"{self._file}: {error}") from None
            self._content = content


class ManagedCertificates:
    """Certificates made here.

    An authority signs once all webhook configurations have had it for a while; until then its predecessor does, if
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
        """By fingerprint: since when API servers have been told to trust it."""
        self._leaf: Leaf | None = None
        self._patience = PATIENT_LOOKS

    async def look(self) -> None:
        """See `Source`."""
        try:
            try:
                await self._share()
            finally:
                await self._publish()  # also while the Secret cannot be read
        finally:
            self._renew()  # also while the API server is away

    def fault(self) -> str | None:
        """The readiness check."""
        return _fault(self._leaf.expires if self._leaf else 0.0, self._clock.wall())

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
        CERTIFICATE_EXPIRES.labels("authority").set(newest.expires)
        if made:
            CERTIFICATE_RENEWALS.labels("authority").inc()
            log.info("a new authority", expires=newest.expires)

    async def _publish(self) -> None:
        """Have API servers trust all of them."""
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
        _shown(leaf.expires)

    def _signer(self) -> Authority | None:
        """The newest that has been trusted for long enough, else the oldest that is trusted at all."""
        settled = self._clock.wall() - self._configuration.overlap_seconds
        usable = [
            each
            for each in self._authorities.newest_first
            if each.may_sign(self._clock.wall()) and each.fingerprint in self._published
        ]
        old_enough = (each for each in usable if self._published[each.fingerprint] <= settled)
        return next(old_enough, usable[-1] if usable else None)


def _read(*paths: str) -> bytes:
    return b"\n".join(Path(path).read_bytes() for path in paths)


def _is_alive(bundle: bytes, now: float) -> bool:
    """Whether API servers that were given this trust somebody."""
    try:
        return bool(Authorities.parse(bundle, b"").alive(now))
    except ValueError:
        return False


def _shown(expires: float) -> None:
    CERTIFICATE_EXPIRES.labels("serving").set(expires)
    CERTIFICATE_RENEWALS.labels("serving").inc()
    log.info("a new serving certificate", expires=expires)


def _fault(expires: float, now: float) -> str | None:
    if not expires:
        return "there is no serving certificate yet"
    return None if now < expires else "the serving certificate has expired"
