"""Stored plans: how they are written, and how long they stay."""
