"""`reprieve doctor`.

Tests: command and render in test_doctor.py.
"""
