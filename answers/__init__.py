"""What commands answer, as functions of frozen values. No I/O, no clock, no terminal."""
