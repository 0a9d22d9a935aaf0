"""What operators can watch of the verbs; names after Prometheus' conventions, labels bounded (never a pod's name)."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from serving.certificates.keeping import CertificateMetrics

__all__ = ["CALLS", "CALLS_UNHEARD", "CERTIFICATE_METRICS", "PASSED_ON", "VERB_REFUSED", "VERB_SECONDS"]

CALLS = Counter(
    "reprieve_extender_calls_total",
    "Calls of a scheduler that came to this replica. Calls that another replica passes on do not count.",
    ["verb"],
)
CALLS_UNHEARD = Counter(
    "reprieve_extender_unheard_total",
    "Preempt calls that were answered, and that an observer did not look at, because too many came at once.",
)
VERB_SECONDS = Histogram(
    "reprieve_extender_verb_seconds",
    "Time to answer a call of the scheduler, from the decoded body on.",
    ["verb"],
    buckets=(0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0),
)
VERB_REFUSED = Counter(
    "reprieve_extender_refused_total", "Calls refused before they were answered.", ["code"]
)
PASSED_ON = Counter(
    "reprieve_extender_passed_on_total",
    "Calls to a replica that does not lead, by the result of passing them on to the leader.",
    ["verb", "result"],
)
CERTIFICATE_METRICS = CertificateMetrics("extender")
