"""One module per generated page; each has `page(root) -> str`."""
