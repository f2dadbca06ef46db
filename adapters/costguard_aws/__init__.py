"""The adapter for Amazon Web Services."""
