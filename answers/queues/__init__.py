"""How quota is used, who waits for it, and who could take how much of it back from whom."""
