"""The quota controller: Workloads get quota, wait for it, are evicted and come back.

KEP-1337, KEP-8522, KEP-8303 and KEP-3258.
"""
