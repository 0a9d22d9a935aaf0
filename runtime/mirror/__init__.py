"""Views of one cluster, and the stores behind them."""
