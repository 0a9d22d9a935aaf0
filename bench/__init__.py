"""What reprieve costs and saves, always beside a peer or a limit measured in the same run."""
