"""The parts that tables are made of: columns, keys, logs, and the classes that rows refer to."""
