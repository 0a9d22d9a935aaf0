"""Jobs in queues: owners become Workloads, admission starts them, eviction stops them.

Tests: configuration in tests/unit/cli/common/test_configuration.py; owned_workload in
tests/unit/controllers/jobs/batch/test_workload_of.py; supplies in
tests/unit/controllers/jobs/batch/test_evicted_on_nodes.py.
"""
