"""The kube-scheduler side: the filter and preempt verbs, their listener, and the calls between replicas.

A verb looks things up. Plans are made and pods are evicted in `controllers.gangs`.
"""
