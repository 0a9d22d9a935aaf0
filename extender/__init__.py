"""The kube-scheduler side: the filter and preempt verbs, their listener, and the calls between replicas.

A verb looks things up. Plans are made and pods are evicted in `controllers.gangs`.

Tests: blind in test_two_modes.py; configuration and tls in test_peers.py; metrics and service in test_standby.py;
wire in test_verbs.py.
"""
