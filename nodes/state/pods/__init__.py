"""The table of pods, and what it reads from one pod."""
