"""The adapter for a simulated cloud."""
