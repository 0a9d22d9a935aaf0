"""From a snapshot and a preemptor to a plan, and the reasons for it."""
