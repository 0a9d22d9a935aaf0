"""Tools for development that the product never imports: the local control plane and the demo."""
