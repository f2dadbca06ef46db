"""Slack's Block Kit as Slack judges it: limits in characters, unknown properties refused, ids unique."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_BLOCKS = 50
MARKDOWN_TOTAL = 12_000

Problems = Iterator[tuple[str, str]]  # (JSON pointer, what is wrong)


def problems(blocks: Any) -> list[str]:
    """Everything that is wrong with ``blocks``, as ``pointer: sentence``; empty when Slack takes them."""
    return [f"{pointer}: {what}" for pointer, what in _blocks(blocks)]


def _blocks(blocks: Any) -> Problems:
    if not isinstance(blocks, list):
        yield "/blocks", "must be a list"
        return
    if not 1 <= len(blocks) <= MAX_BLOCKS:
        yield "/blocks", f"1 to {MAX_BLOCKS} blocks, not {len(blocks)}"
    seen: set[str] = set()
    markdown = 0
    for index, block in enumerate(blocks):
        at = f"/blocks/{index}"
        if not isinstance(block, dict) or block.get("type") not in _BLOCKS:
            yield f"{at}/type", "unsupported block"
            continue
        yield from _BLOCKS[block["type"]](at, block)
        yield from _string(at, block, "block_id", 255, required=False)
        block_id = block.get("block_id")
        if block_id in seen:
            yield f"{at}/block_id", "used twice"
        if block_id is not None:
            seen.add(block_id)
        if block["type"] == "markdown":
            markdown += len(str(block.get("text", "")))
    if markdown > MARKDOWN_TOTAL:
        yield "/blocks", f"markdown blocks hold {markdown} characters, at most {MARKDOWN_TOTAL}"


def _keys(at: str, value: Mapping[str, Any], allowed: str) -> Problems:
    for key in value:
        if key not in allowed.split():
            yield f"{at}/{key}", "unknown property"


def _string(at: str, value: Mapping[str, Any], key: str, most: int, *, required: bool = True) -> Problems:
    text = value.get(key)
    if text is None and not required and key not in value:
        return
    if not isinstance(text, str):
        yield f"{at}/{key}", "must be a string"
    elif not 1 <= len(text) <= most:
        yield f"{at}/{key}", f"1 to {most} characters, not {len(text)}"


def _flag(at: str, value: Mapping[str, Any], key: str) -> Problems:
    if key in value and not isinstance(value[key], bool):
        yield f"{at}/{key}", "must be true or false"


def _text(at: str, value: Any, most: int, kinds: str = "plain_text mrkdwn") -> Problems:
    if not isinstance(value, dict) or value.get("type") not in kinds.split():
        yield f"{at}/type", f"a text object of {kinds}"
        return
    yield from _keys(at, value, "type text emoji" if value["type"] == "plain_text" else "type text verbatim")
    yield from _string(at, value, "text", most)
    yield from _flag(at, value, "emoji")
    yield from _flag(at, value, "verbatim")


def _header(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _keys(at, block, "type block_id text")
    yield from _text(f"{at}/text", block.get("text"), 150, "plain_text")


def _section(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _keys(at, block, "type block_id text fields accessory expand")
    yield from _flag(at, block, "expand")
    if "text" not in block and "fields" not in block:
        yield at, "a section needs text or fields"
    if "text" in block:
        yield from _text(f"{at}/text", block["text"], 3_000)
    if "fields" in block:
        fields = block["fields"]
        if not isinstance(fields, list) or not 1 <= len(fields) <= 10:
            yield f"{at}/fields", "1 to 10 fields"
        else:
            for index, field in enumerate(fields):
                yield from _text(f"{at}/fields/{index}", field, 2_000)
    if "accessory" in block:
        yield from _element(f"{at}/accessory", block["accessory"], {**_ACTION_ELEMENTS, "image": _image_element})


def _context(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _keys(at, block, "type block_id elements")
    elements = block.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= 10:
        yield f"{at}/elements", "1 to 10 elements"
        return
    for index, element in enumerate(elements):
        place = f"{at}/elements/{index}"
        if isinstance(element, dict) and element.get("type") == "image":
            yield from _image_element(place, element)
        else:
            yield from _text(place, element, 3_000)


def _actions(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _keys(at, block, "type block_id elements")
    elements = block.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= 25:
        yield f"{at}/elements", "1 to 25 elements"
        return
    seen: set[str] = set()
    for index, element in enumerate(elements):
        yield from _element(f"{at}/elements/{index}", element, _ACTION_ELEMENTS)
        action_id = element.get("action_id") if isinstance(element, dict) else None
        if action_id in seen:
            yield f"{at}/elements/{index}/action_id", "used twice in the block"
        if action_id is not None:
            seen.add(action_id)


def _divider(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _keys(at, block, "type block_id")


def _markdown(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _keys(at, block, "type block_id text")
    yield from _string(at, block, "text", MARKDOWN_TOTAL)


def _image(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _keys(at, block, "type block_id image_url alt_text title")
    yield from _string(at, block, "image_url", 3_000)
    yield from _string(at, block, "alt_text", 2_000)
    if "title" in block:
        yield from _text(f"{at}/title", block["title"], 2_000, "plain_text")


def _element(at: str, value: Any, kinds: "Mapping[str, Callable[[str, Mapping[str, Any]], Problems]]") -> Problems:
    if not isinstance(value, dict) or value.get("type") not in kinds:
        yield f"{at}/type", f"one of {', '.join(kinds)}"
        return
    yield from kinds[value["type"]](at, value)


def _image_element(at: str, value: Mapping[str, Any]) -> Problems:
    yield from _keys(at, value, "type image_url alt_text")
    yield from _string(at, value, "image_url", 3_000)
    yield from _string(at, value, "alt_text", 2_000)


def _button(at: str, value: Mapping[str, Any]) -> Problems:
    yield from _keys(at, value, "type text action_id url value style confirm accessibility_label")
    yield from _text(f"{at}/text", value.get("text"), 75, "plain_text")
    yield from _string(at, value, "action_id", 255, required=False)
    yield from _string(at, value, "url", 3_000, required=False)
    yield from _string(at, value, "value", 2_000, required=False)
    yield from _string(at, value, "accessibility_label", 75, required=False)
    if value.get("style", "primary") not in ("primary", "danger"):
        yield f"{at}/style", "primary or danger"
    if "confirm" in value:
        yield from _confirm(f"{at}/confirm", value["confirm"])


def _confirm(at: str, value: Any) -> Problems:
    if not isinstance(value, dict):
        yield at, "must be an object"
        return
    yield from _keys(at, value, "title text confirm deny style")
    yield from _text(f"{at}/title", value.get("title"), 100, "plain_text")
    yield from _text(f"{at}/text", value.get("text"), 300)
    yield from _text(f"{at}/confirm", value.get("confirm"), 30, "plain_text")
    yield from _text(f"{at}/deny", value.get("deny"), 30, "plain_text")
    if value.get("style", "primary") not in ("primary", "danger"):
        yield f"{at}/style", "primary or danger"


def _select(at: str, value: Mapping[str, Any]) -> Problems:
    yield from _keys(at, value, "type placeholder options action_id initial_option confirm focus_on_load")
    yield from _string(at, value, "action_id", 255, required=False)
    if "placeholder" in value:
        yield from _text(f"{at}/placeholder", value["placeholder"], 150, "plain_text")
    yield from _options(at, value, 1, 100)


def _overflow(at: str, value: Mapping[str, Any]) -> Problems:
    yield from _keys(at, value, "type options action_id confirm")
    yield from _string(at, value, "action_id", 255, required=False)
    yield from _options(at, value, 1, 5)


def _options(at: str, value: Mapping[str, Any], least: int, most: int) -> Problems:
    options = value.get("options")
    if not isinstance(options, list) or not least <= len(options) <= most:
        yield f"{at}/options", f"{least} to {most} options"
        return
    for index, option in enumerate(options):
        place = f"{at}/options/{index}"
        if not isinstance(option, dict):
            yield place, "must be an object"
            continue
        yield from _keys(place, option, "text value description url")
        yield from _text(f"{place}/text", option.get("text"), 75)
        yield from _string(place, option, "value", 150)


_BLOCKS: dict[str, Callable[[str, Mapping[str, Any]], Problems]] = {
    "header": _header,
    "section": _section,
    "context": _context,
    "actions": _actions,
    "divider": _divider,
    "markdown": _markdown,
    "image": _image,
}
_ACTION_ELEMENTS: dict[str, Callable[[str, Mapping[str, Any]], Problems]] = {
    "button": _button,
    "static_select": _select,
    "overflow": _overflow,
}
