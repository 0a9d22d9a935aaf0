"""What schedulers did: whom they preempted, for whom, and whether that served anybody. Our decisions stand beside it.

Tests: accounting, configuration, controller, decisions, metrics, signs and writing in test_account.py; cases, saying
and victims in test_ledger.py; remainders in test_costs.py;
counted and report_writing in test_reporting.py.
"""
