"""From documents to what an answer is about. Whoever has bytes passes them in.

Tests: before in tests/unit/answers/doctor/test_before.py; changes in tests/unit/cli/diff/test_diff.py; clusters in
tests/unit/cli/clusters/test_clusters.py; details and planes in tests/unit/cli/why/test_why_pod.py; documents and
field_checks in test_node_objects.py; page_objects in tests/unit/web/sources/test_files.py; plans in
tests/unit/cli/evicted/test_who_evicted.py; posted in tests/unit/web/test_what_if.py; published in
tests/unit/cli/common/test_published.py; queues in
tests/unit/cli/queue/test_queue.py; quota_objects in tests/unit/cli/quota/test_quota.py; seen in
tests/unit/answers/doctor/test_page.py; submissions in tests/unit/cli/whatif/test_what_if.py.
"""
