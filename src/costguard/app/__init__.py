"""The composition root: builds everything from a configuration. What the commands and the tests start."""
