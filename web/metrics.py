"""Metrics of the page. The labels are bounded: routes and codes. None names a user or an object."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

from serving.certificates.keeping import CertificateMetrics

__all__ = ["CERTIFICATE_METRICS", "LOGINS", "REQUESTS", "STREAMS"]

REQUESTS = Counter(
    "reprieve_page_requests_total",
    "Requests for the page, by route and status code. other: an address that does not exist.",
    ["route", "code"],
)
LOGINS = Counter(
    "reprieve_page_logins_total", "Attempts to log in, by result: accepted, refused.", ["result"]
)
STREAMS = Gauge("reprieve_page_streams", "Streams of events that are open.")
CERTIFICATE_METRICS = CertificateMetrics("page")
