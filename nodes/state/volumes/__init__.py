"""The table of claims and volumes, and what they mean for the pods that use them."""
