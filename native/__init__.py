"""Kernels: packing and victim search. Arrays in, arrays out; knows no HTTP and no Kubernetes objects.

`native.nodes._victims.search` is the search; nothing compiled is imported here, so that the plain twin in `tests.twins`
can be used without a compiler.
"""
