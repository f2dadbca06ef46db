"""E-mail over SMTP with TLS."""
