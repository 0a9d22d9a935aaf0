"""Measures what reprieve costs and saves, always beside a peer or a limit from the same run."""
