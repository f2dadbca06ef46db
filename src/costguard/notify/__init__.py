"""Messages to people: facts → words → channels, over an outbox that the composition root provides.

Knows nothing of the database (``outbox.Outbox`` is a Protocol) and decides nothing about resources.
"""
