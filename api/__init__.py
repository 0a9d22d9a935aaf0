"""Kubernetes and reprieve objects as typed structs; quantities; the CRD schemas made from them.

Imports nothing of the other rooms.
"""
