"""Kernels: packing and victim search for nodes, and the search for quota. Arrays in, arrays out.

The kernels know no HTTP and no Kubernetes objects. This module imports nothing compiled, so that tools can read the
codes and problems without a compiler.
"""
