"""What acts in a term: it gathers what is seen, asks `life/` what follows, and carries it out."""
