"""Names by which Jobs, pods and Workloads refer to queues and to each other. They are Kueue's names."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ADMISSION_GATE",
    "COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION",
    "CONTROLLER_UID_LABEL",
    "DEFAULT_LOCAL_QUEUE",
    "FAST_ADMISSION_ANNOTATION",
    "JOB_FRAMEWORK",
    "MAX_EXEC_TIME_LABEL",
    "MIN_PARALLELISM_ANNOTATION",
    "POD_GROUP_FRAMEWORK",
    "POD_GROUP_NAME_LABEL",
    "POD_GROUP_SIZE_ANNOTATION",
    "POD_SET_LABEL",
    "PREBUILT_WORKLOAD_LABEL",
    "PRIORITY_CLASS_LABEL",
    "QUEUE_NAME_LABEL",
    "STARTED_WITH_ANNOTATION",
    "WORKLOAD_ANNOTATION",
]

JOB_FRAMEWORK: Final = "batch/job"
POD_GROUP_FRAMEWORK: Final = "reprieve.dev/podgroup"
"""Kinds that wait in queues, as the configuration names them."""
QUEUE_NAME_LABEL: Final = "kueue.x-k8s.io/queue-name"
"""On a Job or PodGroup: the LocalQueue."""
DEFAULT_LOCAL_QUEUE: Final = "default"
"""The name of the LocalQueue that a Job gets if it names none."""
PRIORITY_CLASS_LABEL: Final = "kueue.x-k8s.io/priority-class"
"""On a Job or PodGroup: the WorkloadPriorityClass."""
MAX_EXEC_TIME_LABEL: Final = "kueue.x-k8s.io/max-exec-time-seconds"
"""On a Job or PodGroup: maximumExecutionTimeSeconds of its Workload."""
PREBUILT_WORKLOAD_LABEL: Final = "kueue.x-k8s.io/prebuilt-workload-name"
"""On a Job: a Workload that exists already, and that the Job uses in place of its own."""
MIN_PARALLELISM_ANNOTATION: Final = "kueue.x-k8s.io/job-min-parallelism"
"""On a Job: it asks for partial admission. The value is the fewest pods that it starts with."""
COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
"""On a Job with partial admission: if it is true, completions are lowered together with parallelism."""
POD_GROUP_NAME_LABEL: Final = "kueue.x-k8s.io/pod-group-name"
"""On pods in a queue: they share the Workload of this name."""
POD_GROUP_SIZE_ANNOTATION: Final = "kueue.x-k8s.io/pod-group-total-count"
"""On each of them: how many there are."""
FAST_ADMISSION_ANNOTATION: Final = "kueue.x-k8s.io/pod-group-fast-admission"
"""On each of them: the Workload is made when the first one exists."""
ADMISSION_GATE: Final = "kueue.x-k8s.io/admission"
"""The scheduling gate of a pod that waits for quota."""
WORKLOAD_ANNOTATION: Final = "kueue.x-k8s.io/workload"
"""On the template of a Job that has quota, and so on its pods: the Workload."""
STARTED_WITH_ANNOTATION: Final = "reprieve.dev/started-with"
"""On the template of a Job with partial admission that has quota: parallelism now, and as asked for (`3 of 8`)."""
POD_SET_LABEL: Final = "kueue.x-k8s.io/podset"
"""On the template of a Job that has quota, and so on its pods: the pod set."""
CONTROLLER_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
"""On the pods of a Job: its UID."""
