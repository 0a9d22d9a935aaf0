"""Preemptors: the group or pod that needs room, its members, and pods that are only supposed."""
