"""Configuration: files that people write, turned into frozen values, or into errors at their place."""
