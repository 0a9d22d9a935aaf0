"""What would happen if objects were submitted."""
