"""Those who act. No controller imports another."""
