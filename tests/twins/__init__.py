"""The kernels' plain twin, step by step after KEP-5710; imports nothing compiled.

Tests compare the two; production never runs this one.
"""
