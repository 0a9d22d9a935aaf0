"""The kernels of the node engine: packing and victim search."""
