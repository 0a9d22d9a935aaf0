"""What every process knows of pods and groups, as the gang plane reads it."""
