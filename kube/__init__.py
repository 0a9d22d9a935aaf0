"""The client side of the API server: requests, list and watch, retried writes, events. Knows no kind of object."""
