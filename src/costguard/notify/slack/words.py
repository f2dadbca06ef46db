"""The error words of Slack's Web API (docs.slack.dev, the pages of each method): word → what it means for the channel.

They come as ``ok: false`` inside HTTP 200. What is not listed may be new; it is tried again like a fault of Slack's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from costguard.errors import DeliveryReason


@dataclass(frozen=True, slots=True)
class Meaning:
    """``detail`` our sentence, ``hint`` what a person can do."""

    reason: DeliveryReason
    detail: str
    hint: str | None = None


_CREDENTIAL = "Slack refused the token"
_PLACE = "Slack refused the conversation"
_MESSAGE = "Slack refused the message"
_FAULT = "Slack has a fault"
_SLOW = "Slack asks to wait"
_INVITE = "invite the bot: write /invite @costguard in that channel"
_ID = "is `channel` the conversation's id (C…)? a private channel needs the bot in it: /invite @costguard"
_RIGHTS = "an admin restricts who may post there"

WORDS: Mapping[str, Meaning] = MappingProxyType({
    "invalid_auth": Meaning("auth", _CREDENTIAL, "copy the token again: OAuth & Permissions of the app"),
    "not_authed": Meaning("auth", _CREDENTIAL, "copy the token again: OAuth & Permissions of the app"),
    "account_inactive": Meaning("auth", _CREDENTIAL, "the app was removed from the workspace; install it again"),
    "token_revoked": Meaning("auth", _CREDENTIAL, "install the app again and copy its new token"),
    "token_expired": Meaning("auth", _CREDENTIAL, "install the app again and copy its new token"),
    "not_allowed_token_type": Meaning("auth", _CREDENTIAL, "token is the bot's (xoxb-…), app_token the app's (xapp-…)"),
    "missing_scope": Meaning("auth", "the app lacks a right", "add the scope to the app and install it again"),
    "team_access_not_granted": Meaning("auth", _CREDENTIAL, "grant the app access to this workspace"),
    "ekm_access_denied": Meaning("auth", _CREDENTIAL, "an admin has suspended the app's access"),
    "org_login_required": Meaning("auth", _CREDENTIAL, "the workspace is being moved to an organisation"),
    "channel_not_found": Meaning("auth", _PLACE, _ID),
    "not_in_channel": Meaning("auth", _PLACE, _INVITE),
    "is_archived": Meaning("auth", "the channel is archived", "unarchive it, or set `channel` to another"),
    "is_inactive": Meaning("auth", "the channel is archived", "unarchive it, or set `channel` to another"),
    "no_permission": Meaning("auth", _PLACE, _RIGHTS),
    "restricted_action": Meaning("auth", _PLACE, _RIGHTS),
    "restricted_action_read_only_channel": Meaning("auth", _PLACE, _RIGHTS),
    "restricted_action_thread_only_channel": Meaning("auth", _PLACE, _RIGHTS),
    "restricted_action_non_threadable_channel": Meaning("auth", _PLACE, _RIGHTS),
    "restricted_action_thread_locked": Meaning("payload", _PLACE, _RIGHTS),
    "link_disabled": Meaning("auth", "Socket Mode is off", "switch it on: Socket Mode of the app"),
    "invalid_blocks": Meaning("payload", _MESSAGE),
    "invalid_blocks_format": Meaning("payload", _MESSAGE),
    "msg_blocks_too_long": Meaning("payload", _MESSAGE),
    "msg_too_long": Meaning("payload", _MESSAGE),
    "no_text": Meaning("payload", _MESSAGE),
    "invalid_arguments": Meaning("payload", _MESSAGE),
    "invalid_arg_name": Meaning("payload", _MESSAGE),
    "invalid_json": Meaning("payload", _MESSAGE),
    "too_many_attachments": Meaning("payload", _MESSAGE),
    "markdown_text_conflict": Meaning("payload", _MESSAGE),
    "invalid_metadata_format": Meaning("payload", _MESSAGE),
    "message_not_found": Meaning("payload", "the message does not exist any more"),
    "thread_not_found": Meaning("payload", "the message does not exist any more"),
    "cant_update_message": Meaning("payload", "the message cannot be changed"),
    "edit_window_closed": Meaning("payload", "the message cannot be changed"),
    "user_not_found": Meaning("payload", "the person is not in the workspace"),
    "users_not_found": Meaning("payload", "the person is not in the workspace"),
    "user_disabled": Meaning("payload", "the person's account is switched off"),
    "messages_tab_disabled": Meaning(
        "payload", "the app takes no direct messages", "switch on the Messages Tab: App Home of the app"),
    "cannot_dm_bot": Meaning("payload", "the person cannot be written to"),
    "ratelimited": Meaning("rate", _SLOW),
    "rate_limited": Meaning("rate", _SLOW),
    "message_limit_exceeded": Meaning("rate", _SLOW),
    "service_unavailable": Meaning("server", _FAULT),
    "internal_error": Meaning("server", _FAULT),
    "request_timeout": Meaning("server", _FAULT),
    "team_added_to_org": Meaning("server", "the workspace is being moved to an organisation"),
    # "Some aspect of the operation may have succeeded before the error was raised."
    "fatal_error": Meaning("maybe_delivered", _FAULT),
})  # fmt: skip

UNCHANGEABLE = frozenset({
    "message_not_found", "thread_not_found", "cant_update_message", "edit_window_closed", "is_inactive",
})  # fmt: skip
"""The message is there no more, or for good as it is: what follows it stands alone."""

UNREACHABLE = frozenset({
    "channel_not_found", "user_not_found", "user_disabled", "messages_tab_disabled", "cannot_dm_bot", "not_in_channel",
})  # fmt: skip
"""A person who cannot be written to directly; the conversation still can."""


def meaning(word: str) -> Meaning:
    """What a refusal means; an unknown word is a fault that is tried again."""
    return WORDS.get(word) or Meaning("server", "an answer that is not documented")
