"""What members ask of other pods and of volumes: the filters that count pods and attachments."""
