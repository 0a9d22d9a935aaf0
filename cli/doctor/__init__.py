"""`reprieve doctor`.

Tests: checks, command, findings, gangs, installation, kinds, objects, render, rights and schedulers in
test_doctor.py.
"""
