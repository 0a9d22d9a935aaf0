"""The way back from Enforce: what it left is listed once, withdrawn and finished, and then nothing is written to pods.

See docs/decisions/0110.
"""
