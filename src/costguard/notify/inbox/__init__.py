"""The local chat inbox: a receiver that speaks the wire formats of Slack and DingTalk."""
