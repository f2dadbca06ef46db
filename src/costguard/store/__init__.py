"""The database: SQLAlchemy Core on SQLite and Postgres, one module per aggregate, functions ``(conn, …)``.

The row is the truth. Nothing here reads a clock, calls a provider or decides anything; every function works inside
the transaction of the connection that it is given (:meth:`costguard.store.database.Database.read` and ``write``).
"""
