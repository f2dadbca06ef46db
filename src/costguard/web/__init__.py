"""Pages and the HTTP API. Reads the store, renders documents; a GET never changes anything."""
