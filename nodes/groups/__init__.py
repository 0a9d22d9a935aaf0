"""Groups of pods that other programs make: which one a pod belongs to, and how it stands in the tables."""
