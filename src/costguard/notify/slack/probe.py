"""What can be proved about a Slack bot by calls that nobody sees: its token, its scopes, its app token."""

from collections.abc import Iterator
from typing import Any

from costguard.notify.slack.api import SlackApi, SlackError
from costguard.ports import ChannelProbe

_APP = "add it to the app (OAuth & Permissions) and install it again"
_REACH = "check DNS, proxy, firewall and the channel's endpoint, then try again"


def probe(api: SlackApi, app_token: str | None, *, listens: bool) -> Iterator[ChannelProbe]:
    """Never raises. That the bot is in its conversation is seen only by sending: ``doctor --send``."""
    try:
        who = api.call("auth.test", {})
        scopes = api.scopes()
    except SlackError as error:
        yield _failed("the token", error)
        return
    yield ChannelProbe(f"the bot {_word(who, 'user')} of the workspace {_word(who, 'team')}", True)
    if scopes:
        yield from _scopes(frozenset(scopes), listens)
    if app_token is not None:
        try:
            api.open_socket(app_token)
        except SlackError as error:
            yield _failed("Socket Mode", error)
        else:
            yield ChannelProbe("Socket Mode can be opened: buttons and commands come in", True)
    elif listens:
        yield ChannelProbe("buttons and commands come in over HTTP, signed", True)
    else:
        hint = "set app_token (Socket Mode) or signing_secret"
        yield ChannelProbe("messages have no buttons: nothing would hear them", None, hint)


def _scopes(granted: frozenset[str], listens: bool) -> Iterator[ChannelProbe]:
    if "chat:write" not in granted:
        yield ChannelProbe("missing scope: chat:write; the bot can send nothing", False, _APP)
    if listens and "commands" not in granted:
        yield ChannelProbe("missing scope: commands; /costguard does nothing", None, _APP)
    by_email = {"users:read", "users:read.email"} - granted
    if by_email:
        text = f"missing scopes: {', '.join(sorted(by_email))}; owners are not found by their email"
        yield ChannelProbe(text, None, f"{_APP}, or give each owner their member id (slack: U…)")


def _failed(what: str, error: SlackError) -> ChannelProbe:
    """Refused, or not answered: then nothing is known of it, and there is no word of Slack's either."""
    told = f"{error.code}: {error.detail}" if error.code else error.detail
    if error.reason in ("timeout", "server", "rate"):
        return ChannelProbe(f"{what} could not be checked: {told}", False, error.hint or _REACH)
    return ChannelProbe(f"{what}: {told}", False, error.hint or "")


def _word(answer: Any, key: str) -> str:
    return str(answer.get(key) or "?")[:80]
