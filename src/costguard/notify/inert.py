"""Data as text in the markdown of DingTalk, Feishu and WeCom, so that it can't mention, link or format.

Whether these dialects honour backslash escapes or entities is not documented for all places that a message goes
through, so characters that would mean something are replaced by their full-width twins: they read the same. Commands
and ids have none of these characters, so they can be copied as they are.
"""

_WIDE = str.maketrans({
    "@": "＠", "<": "＜", ">": "＞", "`": "｀", "*": "＊", "!": "！", "|": "｜", "\\": "＼", "~": "～",
})  # fmt: skip


def escape(text: str) -> str:
    """Data as text: nothing in it is markup, a mention, a heading or a link."""
    text = text.translate(_WIDE).replace("://", "：//").replace("](", "］(").replace("][", "］[")
    if text.endswith("]"):
        text = text[:-1] + "］"
    if text.startswith(("#", "_")):
        text = ("＃" if text[0] == "#" else "＿") + text[1:]
    return text[:-1] + "＿" if text.endswith("_") else text
