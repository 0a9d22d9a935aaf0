"""What every command prints, written down: `python -m hack.record DIR` before a change and after it, then `diff -r`."""
