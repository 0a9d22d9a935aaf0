"""The kernels' plain twin, line by line after KEP-5710; imports nothing compiled. Tests compare; production never runs it."""
