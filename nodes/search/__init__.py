"""From a snapshot and a preemptor to a plan, and the reasons for it.

Tests: cascade in test_costs.py; counted in test_budgets.py; problem in tests/property/test_plans_of_worlds.py; cluster
and room in test_any_order.py; devices in test_device_classes.py; comparison, plan_parts, reasons and victims in
test_decision.py; promised in tests/property/test_account.py; free_room in
tests/unit/nodes/search/preemptors/test_gangs.py; survivors in tests/unit/cli/plan/test_render.py; units in
test_foreign_groups.py.
"""
