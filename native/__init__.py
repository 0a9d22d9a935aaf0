"""Kernels: packing and victim search for nodes, and the search for quota. Arrays in, arrays out.

They know no HTTP and no Kubernetes objects. Nothing compiled is imported here, so that tools can read the codes and
problems without a compiler.
"""
