"""What commands answer, as functions of frozen values. No I/O, no clock, no terminal.

Tests: changes and diff in tests/unit/cli/diff/test_diff.py; clusters and worker_clusters in
tests/unit/cli/clusters/test_clusters.py; details, picture and why in tests/unit/cli/why/test_why_pod.py; errors in
tests/unit/answers/reading/test_node_objects.py; evictions, instead and scheduler_marks in
tests/unit/cli/evicted/test_who_evicted.py; native_gangs in tests/unit/cli/why/test_groups.py; plan in
tests/unit/cli/plan/test_plan.py; queue and queue_data in tests/unit/cli/queue/test_queue.py; quota_data and
quota_decision in tests/unit/cli/quota/test_quota.py; names in tests/property/test_withholding.py; search in
tests/unit/web/test_search.py; stored_plans in tests/property/test_waiting.py; submission in
tests/unit/cli/whatif/test_what_if.py.
"""
