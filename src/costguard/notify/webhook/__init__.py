"""Generic webhooks, signed as Standard Webhooks say."""
