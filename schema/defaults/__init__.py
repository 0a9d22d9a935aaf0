"""What an API server adds to an object before it stores it, offline.

`rows` is the table: kind, field, default, and where Kubernetes says so. `filling` applies it to an object that was
read. An API server does the same when it reads from its store, so an object that was stored does not change.
`admission` is about pods that do not exist yet: what the admission plugins add to them, and when they refuse them.

See docs/decisions/0086.

Tests: admission, amounts, filling, limit_ranges and rows in
tests/unit/schema/test_defaults.py.
"""
