"""Questions to the commands with one right answer: how they are read, asked and checked."""
