"""From a snapshot and a Workload to flavors and victims, with the reasons as data."""
