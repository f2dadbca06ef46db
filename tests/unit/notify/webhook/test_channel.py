"""The webhook against a receiver that does all that the standard asks: the contract, and what is the webhook's own."""

import base64
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.render import render as render_facts
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.notify.webhook.channel import Webhook
from costguard.notify.webhook.config import WebhookConfig
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import ChannelContract, PlatformAnswer
from costguard.testing.clock import FakeClock
from tests.fakes.webhook import SECRET, WebhookServer
from tests.unit.notify.messages import warning_about

OTHER = "whsec_" + base64.b64encode(b"another secret of 24 byte").decode()
PAGE = "<!DOCTYPE html><html><body>Please log in</body></html>"


def webhook(server: WebhookServer, secret: str | None = SECRET) -> Webhook:
    config = WebhookConfig(name="ops", url=server.hook_url, secret=secret)  # type: ignore[arg-type]
    return Webhook(config, server.clock, HttpClient(deadline=timedelta(seconds=2)))


class TestWebhook(ChannelContract):
    @pytest.fixture
    def platform(self) -> Iterator[WebhookServer]:  # type: ignore[override]
        with WebhookServer(FakeClock(SAMPLE_NOW)) as server:
            yield server

    @pytest.fixture
    def channel(self, platform: WebhookServer) -> Webhook:  # type: ignore[override]
        return webhook(platform)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: warning_about(name, "webhook", "")

    @pytest.mark.parametrize(
        ("status", "body", "reason"),
        [
            (200, PAGE, "server"), (200, "  <html>", "server"), (302, "", "auth"), (307, "", "auth"), (304, "", "auth"),
            (418, "short and stout", "auth"), (500, PAGE, "server"), (502, "", "server"), (504, "", "server"),
        ],
    )  # fmt: skip
    def test_http_200_alone_is_no_success(  # type: ignore[override]
        self, channel: Webhook, platform: WebhookServer, message: Message, status: int, body: str, reason: str
    ) -> None:
        """M13, J04: here the standard says that any 2xx is the success; a page of a portal, a redirect that nobody
        follows and all the rest are none."""
        platform.answer(PlatformAnswer(status, body, frozenset(), {"Location": "/elsewhere"}))
        with pytest.raises(DeliveryError) as caught:
            channel.send(message)
        assert caught.value.reason == reason
        assert platform.request_count() == 1
        assert platform.delivered() == []

    @pytest.mark.parametrize("language", ["zh", "en"])
    def test_every_kind_of_message_is_taken(self, channel: Webhook, platform: WebhookServer, language: str) -> None:
        for name, facts in sample_facts().items():
            channel.send(render_facts(facts, fmt="webhook", language=language, now=SAMPLE_NOW, idem_key=name))
        assert len(platform.events) == len(sample_facts())
        assert {event.type for event in platform.events} >= {"costguard.warn", "costguard.result", "costguard.test"}

    def test_the_id_stays_and_the_time_moves_over_attempts(self, channel: Webhook, platform: WebhookServer) -> None:
        """J16."""
        message = make_message(idem_key="abc")
        channel.send(message)
        platform.clock.advance(timedelta(minutes=10))
        channel.send(message)
        first, second = (request.headers for request in platform.requests)
        assert first["webhook-id"] == second["webhook-id"] == "abc"
        assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 600
        assert first["webhook-signature"] != second["webhook-signature"]
        assert len(platform.events) == 1

    def test_while_a_secret_is_rotated_either_receiver_is_content(self) -> None:
        for accepted in (SECRET, OTHER):
            with WebhookServer(FakeClock(SAMPLE_NOW), accepted=(accepted,)) as server:
                webhook(server, f"{SECRET} {OTHER}").send(make_message())
                assert len(server.events) == 1

    def test_a_wrong_secret_is_named(self, platform: WebhookServer) -> None:
        with pytest.raises(DeliveryError, match="secret") as caught:
            webhook(platform, OTHER).send(make_message())
        assert caught.value.reason == "auth"

    def test_without_a_secret_nothing_is_signed(self) -> None:
        with WebhookServer(FakeClock(SAMPLE_NOW), accepted=()) as server:
            webhook(server, None).send(make_message())
            assert "webhook-signature" not in server.requests[0].headers
            assert len(server.events) == 1

    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            ("Thu, 05 Mar 2026 13:02:00 GMT", 120), ("Thu, 05 Mar 2026 12:00:00 GMT", 30), ("soon", 30), ("", 30),
            ("999999999999999999", 3600),
        ],
    )  # fmt: skip
    def test_retry_after_as_a_date_or_as_nonsense(
        self, channel: Webhook, platform: WebhookServer, value: str, seconds: int
    ) -> None:
        platform.answer(PlatformAnswer(429, "", frozenset({"rate"}), {"Retry-After": value} if value else {}))
        with pytest.raises(DeliveryError) as caught:
            channel.send(make_message())
        assert caught.value.retry_at == SAMPLE_NOW + timedelta(seconds=seconds)

    def test_a_receiver_that_is_gone_needs_a_person(self, channel: Webhook, platform: WebhookServer) -> None:
        platform.answer(platform.answers["410"])
        with pytest.raises(DeliveryError, match="gone for good"):
            channel.send(make_message())

    def test_too_long_is_refused_without_asking(self, channel: Webhook, platform: WebhookServer) -> None:
        with pytest.raises(DeliveryError) as caught:
            channel.send(make_message("t", body="x" * 20_000))
        assert caught.value.reason == "payload"
        assert platform.request_count() == 0
