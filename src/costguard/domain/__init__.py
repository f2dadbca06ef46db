"""The nouns: frozen dataclasses from the standard library alone. They know nothing of any layer above."""
