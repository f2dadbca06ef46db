"""The loops: poll, decide, act, deliver. The database row is the truth; the scheduler only wakes things up."""
