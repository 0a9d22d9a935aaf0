"""Kubernetes and reprieve objects as typed structs, quantities, and the CRD schemas made from the structs.

This package imports no other package of reprieve.

Tests: admission in tests/property/test_admission_matching.py; backoff in tests/unit/kube/test_retry.py; checks in
tests/unit/quota/state/test_activity.py; clock in
tests/unit/runtime/terms/test_process.py; devices in tests/unit/nodes/search/test_device_classes.py; dispatch in
tests/unit/api/test_crds.py; disruption in
tests/property/test_costs.py; foreign_groups in tests/unit/nodes/groups/test_forms.py; foreign_owners in
tests/unit/nodes/groups/test_owner_objects.py; groups in test_priority.py; holds in
tests/unit/controllers/gangs/undoing/test_holding.py; integration in
tests/unit/controllers/jobs/batch/test_workload_of.py; jobs in
tests/unit/controllers/gangs/lifecycle/test_job_limits.py; lease in tests/property/test_lease.py; limits in
tests/unit/quota/search/test_adjusted.py; may_name in
tests/property/test_withholding.py; meta in test_selectors.py; names in test_syntax.py; owner_annotations in
tests/unit/nodes/state/groups/test_owner_groups.py; plan_names in tests/unit/nodes/search/test_decision.py; pauses in
tests/unit/runtime/mirror/test_pauses.py; plan_results and plans in test_compression.py;
pod_owners in tests/unit/nodes/groups/test_made_pods.py; podsets in
tests/unit/quota/cycle/test_pod_set_infos.py; preempted
in tests/unit/controllers/gangs/mirror/test_scheduler_marks.py; progress in tests/unit/cli/common/test_progress.py;
published in tests/unit/cli/serve/test_notes.py; reached_limits in
tests/unit/answers/doctor/test_checks.py; reports in
tests/unit/controllers/account/test_tally.py; storage in tests/property/test_claims.py; stored_plans in
tests/unit/cli/why/test_queues.py; unmodelled in tests/unit/nodes/search/test_unmodelled.py;
usage in tests/unit/quota/state/test_statuses.py; waits in tests/unit/nodes/answers/test_group_waits.py; withholding in
tests/unit/controllers/gangs/mirror/test_withheld_names.py; workloads in
test_kueue.py.
"""
