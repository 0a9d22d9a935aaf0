"""What operators can watch of the admission server; labels are bounded: kinds, codes, never an object's name."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "CERTIFICATE_EXPIRES",
    "CERTIFICATE_FAULTS",
    "CERTIFICATE_RENEWALS",
    "REFUSED",
    "REVIEWS",
    "REVIEW_SECONDS",
]

REVIEW_SECONDS = Histogram(
    "reprieve_webhook_review_seconds",
    "Seconds from the arrival of a review's body to its answer, with the wait for the class of a PodGroup.",
    ["purpose", "kind"],
    buckets=(0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0),
)
REVIEWS = Counter(
    "reprieve_webhook_reviews_total",
    "Reviews answered: allowed, denied, or unavailable (the mirror is not synced).",
    ["purpose", "kind", "answer"],
)
REFUSED = Counter(
    "reprieve_webhook_refused_total", "Requests refused before they were answered, by status code.", ["code"]
)
CERTIFICATE_EXPIRES = Gauge(
    "reprieve_webhook_certificate_expiration_timestamp_seconds",
    "Seconds since the epoch at which the certificate that is shown (serving), and the newest authority, expire.",
    ["which"],
)
CERTIFICATE_RENEWALS = Counter(
    "reprieve_webhook_certificate_renewals_total",
    "Certificates and authorities that were made, or read again.",
    ["which"],
)
CERTIFICATE_FAULTS = Counter(
    "reprieve_webhook_certificate_faults_total",
    "Failed attempts to renew, read or publish certificates; the one that is shown stays until it expires.",
)
