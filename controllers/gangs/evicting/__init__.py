"""Carrying out the evictions of a plan, in one order, by one actor."""
