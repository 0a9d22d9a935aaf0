"""Looks at Workloads and writes them: one writer, one write at a time."""
