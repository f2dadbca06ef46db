"""Slack's reference as tables: the methods with their tokens, scopes and arguments, the words of a refusal."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from costguard.errors import DeliveryReason
from costguard.testing.channel_contract import PlatformAnswer

_AUTH: frozenset[DeliveryReason] = frozenset({"auth"})
_OURS: frozenset[DeliveryReason] = frozenset({"payload"})
_SERVER: frozenset[DeliveryReason] = frozenset({"server", "maybe_delivered"})

# The words of chat.postMessage's page, by what has to happen next.
_REFUSALS: tuple[tuple[frozenset[DeliveryReason], str], ...] = (
    (
        _AUTH,
        "invalid_auth not_authed account_inactive token_revoked token_expired missing_scope not_allowed_token_type "
        "channel_not_found not_in_channel is_archived restricted_action no_permission team_access_not_granted",
    ),
    (_OURS, "invalid_blocks invalid_blocks_format msg_blocks_too_long no_text invalid_arguments too_many_attachments"),
    (_SERVER, "service_unavailable internal_error fatal_error request_timeout team_added_to_org"),
    (frozenset({"rate", "server"}), "ratelimited rate_limited message_limit_exceeded"),
    (_SERVER | _OURS | _AUTH, "a_word_that_nobody_knows"),
)
API_ANSWERS: Mapping[str, PlatformAnswer] = {
    "ok": PlatformAnswer(200, '{"ok":true,"channel":"C012AB3CD","ts":"1772712000.000100"}', frozenset()),
    **{
        word: PlatformAnswer(200, json.dumps({"ok": False, "error": word}), reasons)
        for reasons, words in _REFUSALS
        for word in words.split()
    },
    "too many requests": PlatformAnswer(
        429,
        '{"ok":false,"error":"ratelimited"}',
        frozenset({"rate"}),
        {"Content-Type": "application/json", "Retry-After": "30"},
        timedelta(seconds=30),
    ),
    "neither yes nor no": PlatformAnswer(200, '{"channel":"C012AB3CD"}', _SERVER | _OURS | _AUTH),
}


@dataclass(frozen=True)
class Method:
    """Of the reference: the token's beginning, the scopes, the arguments; who answers it here."""

    handler: str
    token: str
    scopes: str
    arguments: str


_CONTENT = "text blocks attachments markdown_text thread_ts metadata mrkdwn parse link_names"
METHODS = {
    "auth.test": Method("_auth_test", "xoxb-", "", ""),
    "apps.connections.open": Method("_connect", "xapp-", "connections:write", ""),
    "users.lookupByEmail": Method("_lookup", "xoxb-", "users:read.email", "email"),
    "users.info": Method("_info", "xoxb-", "users:read", "user include_locale"),
    "conversations.open": Method("_open", "xoxb-", "im:write", "users channel return_im"),
    "chat.postMessage": Method(
        "_post", "xoxb-", "chat:write", f"channel {_CONTENT} reply_broadcast unfurl_links unfurl_media"
    ),
    "chat.postEphemeral": Method("_post_ephemeral", "xoxb-", "chat:write", f"channel user {_CONTENT}"),
    "chat.update": Method(
        "_update",
        "xoxb-",
        "chat:write",
        "channel ts text blocks attachments markdown_text metadata parse link_names reply_broadcast file_ids",
    ),
}
