"""Builds the parts of a term, each from what every process knows and from parts that are there already."""
