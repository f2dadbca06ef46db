"""The way out of the process: time and HTTP. Knows nothing of clouds, channels or the database."""
