"""From a snapshot and a preemptor to a plan, and why it came out so."""
