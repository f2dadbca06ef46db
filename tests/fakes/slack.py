"""Slack's incoming webhook on loopback: ``ok`` and nothing else when it took a message.

As strict as Slack is known to be: unknown properties, empty texts and ids used twice are refused.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from costguard.errors import DeliveryReason
from costguard.ports import Message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer
from tests.fakes.slack_message import (
    Pace,
    Posted,
    content_error,
    longest_section,
    read_body,
    section_message,
    too_fast,
    types_fit,
)

WEBHOOK_PATH = "/services/T012AB3CD/B045EF6GH/kJ8sLm2nPqRsTuVwXyZ01234"

_PERSON: frozenset[DeliveryReason] = frozenset({"auth"})
_OUR_FAULT: frozenset[DeliveryReason] = frozenset({"payload"})
_SERVER: frozenset[DeliveryReason] = frozenset({"server", "maybe_delivered"})
_PLAIN = {"Content-Type": "text/html"}

# Status and body as documented, or as seen in the wild for 429.
WEBHOOK_ANSWERS: Mapping[str, PlatformAnswer] = {
    "ok": PlatformAnswer(200, "ok", frozenset(), _PLAIN),
    **{
        word: PlatformAnswer(status, word, reasons, _PLAIN)
        for status, reasons, words in (
            (400, _OUR_FAULT, ("invalid_payload", "no_text", "invalid_blocks", "too_many_attachments")),
            (403, _PERSON, ("action_prohibited", "posting_to_general_channel_denied", "invalid_token")),
            (404, _PERSON, ("channel_not_found", "user_not_found", "no_service", "no_service_id")),
            (410, _PERSON, ("channel_is_archived",)),
            (500, _SERVER, ("rollup_error",)),
        )
        for word in words
    },
    "rate_limited": PlatformAnswer(
        429,
        '{"retry_after":7,"ok":false,"error":"rate_limited"}',
        frozenset({"rate"}),
        {"Content-Type": "application/json", "Retry-After": "7"},
        timedelta(seconds=7),
    ),
    "ok with more": PlatformAnswer(200, "ok, but not quite", _SERVER | _OUR_FAULT | _PERSON, _PLAIN),
}

_TOP_LEVEL = {"text", "blocks", "attachments", "unfurl_links", "unfurl_media", "thread_ts", "metadata", "mrkdwn"}


class SlackServer(StrictServer):
    """``webhook_url`` is the incoming webhook; a bot's Web API is :class:`tests.fakes.slack_api.SlackApi`.

    ``hook_state`` is an error word of the webhook (``no_service``, ``channel_is_archived`` …) or empty.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.hook_state = ""
        self.posted: list[Posted] = []
        self._pace = Pace(self.clock)

    @property
    def webhook_url(self) -> str:
        return self.url + WEBHOOK_PATH

    # The channel contract's PlatformFixture: the limited part is the text of a section.

    answers = WEBHOOK_ANSWERS
    limit = 3_000
    unit: Literal["characters"] = "characters"
    signed = False

    def message(self, text: str) -> Message:
        return section_message(text)

    def measured(self) -> int:
        with self.lock:
            return longest_section(self.requests[-1])

    def skew(self, span: timedelta) -> None:
        """Nothing is signed, nothing depends on the platform's clock."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return (WEBHOOK_PATH.rsplit("/", 1)[1],)

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [message.delivered for message in self.posted]

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if not request.path.startswith("/services/"):
            return Answer(404, b"not found", _PLAIN)
        if request.method != "POST":
            return _word(400, "invalid_payload")
        if request.path != WEBHOOK_PATH:
            return _word(404, "no_service") if request.path.count("/") == 4 else _word(404, "no_service_id")
        if wait := self._pace.wait():
            return too_fast(wait, "rate_limited")
        if self.hook_state:
            return _word(WEBHOOK_ANSWERS[self.hook_state].status, self.hook_state)
        content = read_body(request)
        if content is None or not set(content) <= _TOP_LEVEL or not types_fit(content):
            return _word(400, "invalid_payload")
        if error := content_error(content):
            return _word(400, error)
        self.posted.append(Posted("webhook", content, self.clock.now()))
        return Answer(200, b"ok", _PLAIN)

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault is Fault.THROTTLED:
            return too_fast(7, "rate_limited")
        if fault is Fault.SERVER_ERROR:
            return Answer(503, b"service_unavailable", _PLAIN)
        if fault is Fault.UNAUTHENTICATED:
            return _word(403, "invalid_token")
        if fault is Fault.FORBIDDEN:
            return _word(403, "action_prohibited")
        return super().refuse(fault, request)


def _word(status: int, word: str) -> Answer:
    return Answer(status, word.encode(), _PLAIN)
