"""What every controller runs on."""
