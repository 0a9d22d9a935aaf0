"""The life of a gang as pure functions: observations in, the next life and its effects out."""
