"""Bills from files: what a provider's export says, read row by row into charges."""
