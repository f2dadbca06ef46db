"""Slack: incoming webhooks and Block Kit."""
