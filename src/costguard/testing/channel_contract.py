"""The suite that every chat channel passes: one class to inherit, three fixtures to override.

``platform`` is a strict local server of the platform (:class:`PlatformFixture`), ``channel`` a channel that
posts to it with a deadline of at most three seconds, ``render`` the renderer: a resource name in, a Message out.
HTTP 200 alone is success nowhere; a channel sends once and tells the truth, the outbox retries.
"""

import logging
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal, Protocol

import pytest

from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError, DeliveryReason
from costguard.ports import Channel, Message
from costguard.testing.builders import make_message
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault

_DEADLINE = timedelta(seconds=3)
_SLACK = timedelta(seconds=5)
_SERVERS = ("werkzeug", "pytest_httpserver", "tests")


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """An answer that the platform is known to give, and what it means.

    ``reasons`` are the DeliveryError reasons that are right for it; empty: it is the success.
    ``retry_after`` is when the channel may be used again, where the platform tells or documents it.
    """

    status: int
    body: str
    reasons: frozenset[DeliveryReason]
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message as the people of the chat have it: the line of the notification, the text, who was pinged,
    where labelled links and buttons lead (an address in plain sight is none of them)."""

    notification: str
    text: str
    mentions: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class PlatformFixture(Protocol):
    """A strict local server of one platform.

    - ``answers``: its documented answers by name, refusals and one success at least.
    - ``limit``: the most that a message may measure, in ``unit``.
    - ``signed``: requests carry a signature with a time in it.
    - ``secrets``: tokens, signing secrets and secret parts of the URL.
    """

    @property
    def clock(self) -> FakeClock: ...
    @property
    def answers(self) -> Mapping[str, PlatformAnswer]: ...
    @property
    def limit(self) -> int: ...
    @property
    def unit(self) -> Literal["bytes", "characters"]: ...
    @property
    def signed(self) -> bool: ...
    @property
    def secrets(self) -> tuple[str, ...]: ...

    def message(self, text: str) -> Message:
        """A valid message whose limited part is ``text``."""
        ...

    def measured(self) -> int:
        """What the last request measured, refused or not."""
        ...

    def answer(self, answer: PlatformAnswer) -> None:
        """The next request is answered with this, whatever it holds, and delivers nothing."""
        ...

    def fail(self, fault: Fault, *, times: int | None = None) -> None:
        """RESET, SILENT, LOST_ANSWER, HTML or TRUNCATED for the next ``times`` requests."""
        ...

    def skew(self, span: timedelta) -> None:
        """The platform's clock is this far ahead of ours."""
        ...

    def delivered(self) -> Sequence[Delivered]: ...

    def request_count(self) -> int: ...


# Valid JSON or not, 200 or not: none of these is a success of any platform.
_NO_SUCCESS: dict[str, PlatformAnswer] = {
    name: PlatformAnswer(status, body, frozenset({"auth", "payload", "server", "maybe_delivered"}), headers)
    for name, status, body, headers in (
        ("a portal's page", 200, "<html><body>Please log in</body></html>", {"Content-Type": "text/html"}),
        ("nothing", 200, "", {}),
        ("an empty object", 200, "{}", {"Content-Type": "application/json"}),
        ("a list", 200, "[]", {"Content-Type": "application/json"}),
        ("null", 200, "null", {"Content-Type": "application/json"}),
        ("half an object", 200, '{"errco', {"Content-Type": "application/json"}),
        ("a redirect", 302, "", {"Location": "/elsewhere"}),
        ("no content", 204, "", {}),
        ("a teapot", 418, "short and stout", {}),
    )
}
_BROKEN: dict[str, PlatformAnswer] = {
    f"HTTP {status}": PlatformAnswer(status, "<html>sorry</html>", frozenset({"server", "maybe_delivered"}))
    for status in (500, 502, 503, 504)
}

HOSTILE_NAMES = (
    "<!channel>", "<!here|x>", "<@U0AAAAAAA>", "<https://evil.example|click>", "&lt;!channel&gt;",
    "@所有人", "@all", "@13800000000", '<at user_id="all">all</at>', "<@all>",
    "[click](https://evil.example)", "![x](https://evil.example/x.png)", "*bold*_it_~s~`code`", "```",
    "# title", "a\nb\n\n> c", "\u202egnp.exe", "", " ", "'; DROP TABLE x; --", '"}],"text":"x', "😀" * 40, "长" * 300,
)  # fmt: skip


class ChannelContract:
    """Inherit it; see the module's docstring."""

    @pytest.fixture
    def platform(self) -> PlatformFixture:
        raise NotImplementedError("override the fixture `platform`")

    @pytest.fixture
    def channel(self, platform: PlatformFixture) -> Channel:
        raise NotImplementedError("override the fixture `channel`")

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        """From a resource's name to the channel's warning about it."""
        raise NotImplementedError("override the fixture `render`")

    @pytest.fixture
    def message(self, render: Callable[[str], Message]) -> Message:
        return render("train-a800-03")

    def test_an_accepted_message_is_there(self, channel: Channel, platform: PlatformFixture, message: Message) -> None:
        """Once, in one request; the notification's line alone is enough."""
        assert isinstance(channel.send(message), Receipt)
        (delivered,) = platform.delivered()
        assert message.title in delivered.notification
        assert "train-a800-03" in delivered.text
        assert platform.request_count() == 1

    def test_the_fallback_alone_can_be_sent(
        self, channel: Channel, platform: PlatformFixture, message: Message
    ) -> None:
        """The short plain text that goes out when the platform refuses the body."""
        assert message.fallback.strip()
        channel.send(
            replace(message, body=message.fallback, payload={}, mentions=(), plain=True, idem_key="fallback-1")
        )
        assert len(platform.delivered()) == 1

    def test_a_plain_message_without_markup_can_be_sent(self, channel: Channel, platform: PlatformFixture) -> None:
        channel.send(make_message(plain=True))
        assert len(platform.delivered()) == 1

    def test_each_documented_answer_is_understood(
        self, channel: Channel, platform: PlatformFixture, message: Message
    ) -> None:
        """J04, J05: the body's code decides, row by row."""
        assert any(not answer.reasons for answer in platform.answers.values())
        wrong = [
            problem
            for name, answer in platform.answers.items()
            if (problem := self._misunderstood(channel, platform, message, name, answer))
        ]
        assert wrong == []

    def test_http_200_alone_is_no_success(self, channel: Channel, platform: PlatformFixture, message: Message) -> None:
        """M13, J04: a portal's page, an answer without its code, a redirect that nobody follows."""
        wrong = [
            problem
            for name, answer in {**_NO_SUCCESS, **_BROKEN}.items()
            if (problem := self._misunderstood(channel, platform, message, name, answer))
        ]
        assert wrong == []
        assert platform.delivered() == []

    def _misunderstood(
        self, channel: Channel, platform: PlatformFixture, message: Message, name: str, answer: PlatformAnswer
    ) -> str:
        """What the channel made of one answer, when that is wrong; empty when it is right."""
        platform.answer(answer)
        before = platform.request_count()
        try:
            channel.send(replace(message, idem_key=f"key-{name}"))
        except DeliveryError as error:
            if error.reason not in answer.reasons:
                return f"{name}: {error.reason}, expected {sorted(answer.reasons) or 'success'}"
            if error.channel != channel.name:
                return f"{name}: the error names channel {error.channel!r}"
            if answer.retry_after is not None and error.retry_at != platform.clock.now() + answer.retry_after:
                return f"{name}: retry_at {error.retry_at}, expected in {answer.retry_after}"
        else:
            if answer.reasons:
                return f"{name}: taken for a success"
        sent = platform.request_count() - before
        return "" if sent == 1 else f"{name}: {sent} requests"

    @pytest.mark.parametrize("fault", [Fault.RESET, Fault.SILENT, Fault.LOST_ANSWER])
    def test_a_broken_connection_is_told_and_not_retried(
        self, channel: Channel, platform: PlatformFixture, message: Message, fault: Fault
    ) -> None:
        """Whether it arrived is not known once the request was written; sending again is the outbox's choice."""
        platform.fail(fault, times=1)
        begun = time.monotonic()
        with pytest.raises(DeliveryError) as caught:
            channel.send(message)
        assert timedelta(seconds=time.monotonic() - begun) < _DEADLINE + _SLACK
        assert caught.value.reason in ("maybe_delivered", "timeout")
        assert platform.request_count() == 1

    def test_the_same_key_is_delivered_once(
        self, channel: Channel, platform: PlatformFixture, message: Message
    ) -> None:
        """J16: where the platform has a key, a repeat after a lost answer is no duplicate."""
        if not channel.idempotent:
            platform.fail(Fault.LOST_ANSWER, times=1)
            with pytest.raises(DeliveryError) as caught:
                channel.send(message)
            assert caught.value.reason == "maybe_delivered"
            return
        platform.fail(Fault.LOST_ANSWER, times=1)
        with pytest.raises(DeliveryError):
            channel.send(message)
        channel.send(message)
        assert len(platform.delivered()) == 1

    @pytest.mark.parametrize("filler", ["a", "é", "机", "😀"])
    def test_the_limit_is_kept_to_the_byte_or_character(
        self, channel: Channel, platform: PlatformFixture, filler: str
    ) -> None:
        """J12: exactly the limit goes through; one more is refused as payload or shortened, never cut in two."""
        each = len(filler.encode()) if platform.unit == "bytes" else len(filler)
        channel.send(platform.message(filler))
        room = platform.limit - (platform.measured() - each)
        text = filler * (room // each) + "x" * (room % each)
        channel.send(replace(platform.message(text), idem_key="key-2"))
        assert platform.measured() == platform.limit
        assert len(platform.delivered()) == 2
        refused: DeliveryReason | None = None
        try:
            channel.send(replace(platform.message(text + "x"), idem_key="key-3"))
        except DeliveryError as error:
            refused = error.reason
        assert refused == "payload" or (not refused and "\ufffd" not in platform.delivered()[2].text)

    def test_a_message_is_signed_when_it_is_sent(
        self, channel: Channel, platform: PlatformFixture, message: Message
    ) -> None:
        """J08: it may have waited in the outbox for hours."""
        channel.send(message)
        platform.clock.advance(timedelta(hours=2, minutes=5))
        channel.send(replace(message, idem_key="key-2"))
        assert len(platform.delivered()) == 2

    def test_a_wrong_clock_is_named(self, channel: Channel, platform: PlatformFixture, message: Message) -> None:
        """J09: 70 minutes apart, the signature is refused and the hint says why."""
        platform.skew(timedelta(minutes=70))
        if not platform.signed:
            channel.send(message)
            return
        with pytest.raises(DeliveryError) as caught:
            channel.send(message)
        assert caught.value.reason == "auth"
        assert "clock" in (caught.value.hint or "").lower()

    def test_hostile_names_are_only_text(
        self, channel: Channel, platform: PlatformFixture, render: Callable[[str], Message], message: Message
    ) -> None:
        """Cloud tags are written by anybody: they ping nobody, link nowhere, break nothing."""
        channel.send(message)
        expected = platform.delivered()[0]
        for number, name in enumerate(HOSTILE_NAMES):
            platform.clock.advance(timedelta(minutes=1))
            channel.send(replace(render(name), idem_key=f"hostile-{number}"))
            delivered = platform.delivered()[-1]
            assert len(platform.delivered()) == number + 2, name
            assert delivered.mentions == expected.mentions, name
            assert not [link for link in delivered.links if "evil.example" in link], name
            assert "\n" not in delivered.notification

    def test_no_secret_leaves_in_logs_or_errors(
        self, channel: Channel, platform: PlatformFixture, message: Message, caplog: pytest.LogCaptureFixture
    ) -> None:
        """K04: neither in what is logged at DEBUG nor in an error and all that it is chained to."""
        assert platform.secrets
        caplog.set_level(logging.DEBUG)
        told = [repr(channel)]
        channel.send(message)
        for answer in [*platform.answers.values(), *_NO_SUCCESS.values()]:
            platform.answer(answer)
            told += self._told(channel, message)
        for fault in (Fault.RESET, Fault.SILENT, Fault.LOST_ANSWER):
            platform.fail(fault, times=1)
            told += self._told(channel, message)
        told += [
            f"{logging.Formatter().format(record)} {vars(record)}"
            for record in caplog.records
            if not record.name.startswith(_SERVERS)
        ]
        everything = "\n".join(told)
        for secret in platform.secrets:
            assert secret not in everything

    def _told(self, channel: Channel, message: Message) -> list[str]:
        try:
            return [repr(channel.send(message))]
        except DeliveryError as error:
            return [str(error), repr(error), repr(vars(error)), "".join(traceback.format_exception(error))]
