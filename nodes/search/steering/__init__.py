"""Whom kube-scheduler would evict for a gang of its own kind, and whether that is what a plan wants.

kube-scheduler places a gang whose PodGroup is of scheduling.k8s.io as one. If filter offers each member its planned
node only, the rule of the scheduler says who is evicted. `evictor` compares that with a plan. Upstream, the rule is
`selectVictimsOnDomain` in pkg/scheduler/framework/preemption/podgrouppreemption.go (1.37.1).

Tests: candidates, protected, seen and standing in test_outcomes.py; weighing and words in test_evictor.py.
"""
