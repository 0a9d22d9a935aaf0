"""The API server's other side: client, list and watch, retried writes, events. Knows no kind of object."""
