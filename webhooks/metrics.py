"""Metrics of the admission server. Labels are bounded: kinds and codes, never the name of an object."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from serving.certificates.keeping import CertificateMetrics

__all__ = [
    "CERTIFICATE_METRICS",
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
CERTIFICATE_METRICS = CertificateMetrics("webhook")
