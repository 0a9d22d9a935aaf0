"""What every process knows of pods and groups, as the gang plane reads it.

Tests: bound_domains in tests/unit/controllers/gangs/lifecycle/test_ran.py; gated_pods in
tests/unit/controllers/gangs/waking/test_gates.py; evicted_pods in
tests/unit/controllers/gangs/evicting/test_limits.py; eviction_requests and service_accounts in
tests/unit/controllers/gangs/evicting/test_rehearsals.py; group_members, node_roster, roster and table_changes in
tests/property/test_looks.py; lone_pods in tests/unit/controllers/gangs/planning/test_singles.py; marked_pods in
tests/unit/controllers/gangs/test_terms.py; mirror and misread in tests/unit/controllers/gangs/test_owner_gangs.py;
owners in tests/unit/controllers/gangs/lifecycle/test_cycles.py; pausing in
tests/unit/controllers/gangs/evicting/test_pauses.py; pending in tests/unit/controllers/gangs/waking/test_waker.py;
preempted_pods in tests/unit/controllers/gangs/test_preempted_pods.py; probes in
tests/unit/controllers/gangs/looking/test_alike_members.py.
"""
