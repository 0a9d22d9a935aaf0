"""Preemptions that are under way, and the stored plans behind them."""
