"""What the cluster shows of a gang and its plan: from the mirror to observations.

Tests: comparison and plan_index in tests/unit/controllers/gangs/test_changes.py; kept_look, look,
plan_changes and plan_parts in tests/property/test_looks.py; plan_proofs in test_evidence.py; native_proofs in
tests/unit/controllers/gangs/test_native_gangs.py; steered_look in tests/unit/controllers/gangs/test_steered_gangs.py;
other_room in tests/unit/controllers/gangs/test_scheduler_preempted.py.
"""
