"""Kubernetes and reprieve objects as typed structs, quantities, and the CRD schemas made from the structs.

This package imports no other package of reprieve.
"""
