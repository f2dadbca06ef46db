"""The card templates that need no design of one's own. Alone, as the settings name it and build no card."""

STANDARD = "1366a1eb-bc54-4859-ac88-517c56a9acb1.schema"
"""DingTalk's own card of markdown and buttons, published for every application with its SDK."""
