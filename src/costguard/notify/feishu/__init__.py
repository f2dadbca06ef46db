"""Feishu and Lark (飞书): the custom bot and its cards."""
