"""Kernels: packing and victim search. Arrays in, arrays out; knows no HTTP and no Kubernetes objects."""
