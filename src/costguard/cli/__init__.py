"""Commands: thin verbs, each calling a function that tests also call."""
