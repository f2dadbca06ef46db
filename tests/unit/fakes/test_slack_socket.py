"""Socket Mode judged by Slack's own client, then by a bare one that breaks the rules."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.fakes.slack_api import APP_TOKEN, BOT_TOKEN, SlackApi
from tests.fakes.slack_message import Posted
from tests.fakes.slack_socket import SlackSocket

HOME = "C012AB3CD"
KEEP = {"type": "button", "text": {"type": "plain_text", "text": "Keep 2 h"}, "action_id": "keep_2h", "value": "7f3c"}
MENU = {
    "type": "static_select",
    "action_id": "more",
    "options": [{"text": {"type": "plain_text", "text": "Mine"}, "value": "mine"}],
}


@pytest.fixture
def api() -> Iterator[SlackApi]:
    with SlackApi() as server:
        yield server


@pytest.fixture
def socket(api: SlackApi) -> Iterator[SlackSocket]:
    with SlackSocket(api) as server:
        yield server


@pytest.fixture
def warning(api: SlackApi) -> Posted:
    bot = WebClient(token=BOT_TOKEN, base_url=api.api_url, retry_handlers=[])
    bot.chat_postMessage(channel=HOME, text="Stopping", blocks=[{"type": "actions", "elements": [KEEP, MENU]}])
    return api.posted[-1]


def address(api: SlackApi) -> str:
    web = WebClient(token=APP_TOKEN, base_url=api.api_url, retry_handlers=[])
    return str(web.apps_connections_open(app_token=APP_TOKEN)["url"])


@pytest.fixture
def line(api: SlackApi, socket: SlackSocket) -> Iterator[ClientConnection]:
    """A bare client that has heard the hello."""
    with connect(address(api), proxy=None, close_timeout=0.2) as client:
        assert json.loads(client.recv(timeout=2))["type"] == "hello"
        yield client


class TestWithSlacksClient:
    @pytest.fixture
    def heard(self) -> list[SocketModeRequest]:
        return []

    @pytest.fixture
    def client(self, api: SlackApi, socket: SlackSocket, heard: list[SocketModeRequest]) -> Iterator[SocketModeClient]:
        web = WebClient(token=BOT_TOKEN, base_url=api.api_url, retry_handlers=[])
        client = SocketModeClient(app_token=APP_TOKEN, web_client=web, ping_interval=0.2)

        def answer(who: BaseSocketModeClient, request: SocketModeRequest) -> None:
            heard.append(request)
            reply = {"text": "done"} if request.type == "slash_commands" else None
            who.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload=reply))

        client.socket_mode_request_listeners.append(answer)
        client.connect()
        socket.wait_connected()
        yield client
        client.close()

    def test_presses_and_commands_arrive_and_their_answers_are_kept(
        self, client: SocketModeClient, socket: SlackSocket, warning: Posted, heard: list[SocketModeRequest]
    ) -> None:
        pressed = socket.press("U012LI", warning, "keep_2h").wait()
        typed = socket.slash("U012LI", "keep train-03 2h").wait()
        assert (pressed.acked, typed.acked) == (True, True)
        assert (pressed.reply, typed.reply) == (None, {"text": "done"})
        press, command = heard
        payload: dict[str, Any] = press.payload
        assert press.type == "interactive"
        assert payload["user"]["id"] == "U012LI"
        assert payload["container"]["message_ts"] == warning.ts
        assert (payload["actions"][0]["action_id"], payload["actions"][0]["value"]) == ("keep_2h", "7f3c")
        assert payload["actions"][0]["block_id"] == payload["message"]["blocks"][0]["block_id"]
        assert (command.payload["command"], command.payload["text"]) == ("/costguard", "keep train-03 2h")
        assert socket.ping()

    def test_the_client_comes_back(self, client: SocketModeClient, socket: SlackSocket) -> None:
        socket.disconnect("refresh_requested")
        socket.wait_connected(2)
        socket.drop()
        socket.wait_connected(3)
        assert socket.slash("U012LI", "status").wait().acked


def test_an_address_opens_one_connection(api: SlackApi, socket: SlackSocket) -> None:
    url = address(api)
    with connect(url, proxy=None):
        pass
    for used in (url, url.replace("ticket=", "ticket=0"), url.replace("/link/", "/other/")):
        with pytest.raises(InvalidStatus, match="403"), connect(used, proxy=None):
            pass


def test_without_a_socket_server_the_api_has_no_address(api: SlackApi) -> None:
    assert "internal_error" in refused(api)


def refused(api: SlackApi) -> str:
    with pytest.raises(SlackApiError) as caught:
        address(api)
    return str(caught.value.response["error"])


def test_the_scope_for_connections_is_needed(api: SlackApi, socket: SlackSocket) -> None:
    api.app_scopes.clear()
    assert refused(api) == "missing_scope"


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        ({"envelope_id": "nobody's"}, "no envelope"),
        ({}, "no envelope"),
        ({"envelope_id": "x", "ok": True}, "an answer has no"),
        ("ok", "not a JSON object"),
    ],
)
def test_wrong_answers_are_refused(socket: SlackSocket, line: ClientConnection, frame: Any, complaint: str) -> None:
    line.send(json.dumps(frame))
    with pytest.raises(ConnectionClosed) as closed:
        line.recv(timeout=2)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    assert complaint in socket.refusals[0]
    socket.refusals.clear()


def test_an_envelope_is_answered_once(socket: SlackSocket, line: ClientConnection) -> None:
    envelope = socket.slash("U012LI", "status")
    for _ in range(2):
        line.send(json.dumps({"envelope_id": envelope.id}))
    socket.wait_until(lambda: bool(socket.refusals))
    assert "answered before" in socket.refusals.pop()


@pytest.mark.parametrize(("text", "complaint"), [("x", "accepts no payload"), ("", "no message")])
def test_payloads_in_answers_are_judged(
    socket: SlackSocket, line: ClientConnection, warning: Posted, text: str, complaint: str
) -> None:
    envelope = socket.press("U012LI", warning, "keep_2h") if text else socket.slash("U012LI", "status")
    line.send(json.dumps({"envelope_id": envelope.id, "payload": {"text": text}}))
    socket.wait_until(lambda: bool(socket.refusals))
    assert complaint in socket.refusals.pop()
    assert not envelope.acked


def test_leaving_with_refusals_fails_the_test(api: SlackApi) -> None:
    socket = SlackSocket(api)
    with socket:
        with connect(address(api), proxy=None) as line:
            line.send("{}")
            socket.wait_until(lambda: bool(socket.refusals))
        complaint = socket.refusals[0]
        socket.refusals.clear()
    socket.refusals.append(complaint)
    with pytest.raises(AssertionError, match="spoken to wrongly"):
        socket.judge()


def test_a_late_answer_is_not_in_time(socket: SlackSocket, line: ClientConnection, monkeypatch: Any) -> None:
    monkeypatch.setattr("tests.fakes.slack_socket.ACK_WITHIN_S", 0.05)
    envelope = socket.slash("U012LI", "status")
    with pytest.raises(AssertionError, match="no answer"):
        envelope.wait(0.1)
    line.send(json.dumps({"envelope_id": envelope.id}))
    assert not envelope.wait().acked
    assert envelope.answered_after is not None
    assert envelope.answered_after > 0.1


def test_a_button_that_is_not_there_cannot_be_pressed(socket: SlackSocket, warning: Posted) -> None:
    with pytest.raises(LookupError, match="keep_9h"):
        socket.press("U012LI", warning, "keep_9h")
    with pytest.raises(LookupError, match="other"):
        socket.press("U012LI", warning, "keep_2h", value="other")
    with pytest.raises(LookupError, match="no option"):
        socket.press("U012LI", warning, "more", option="yours")


def test_a_choice_of_a_menu(socket: SlackSocket, line: ClientConnection, warning: Posted) -> None:
    socket.press("U012LI", warning, "more", option="mine")
    payload = json.loads(line.recv(timeout=2))["payload"]
    assert payload["actions"][0]["selected_option"]["value"] == "mine"


def test_a_warning_leaves_the_connection_open(socket: SlackSocket, line: ClientConnection) -> None:
    socket.disconnect("warning")
    frame = json.loads(line.recv(timeout=2))
    assert (frame["type"], frame["reason"]) == ("disconnect", "warning")
    assert socket.ping()


def test_silence_keeps_the_connection_and_answers_nothing(socket: SlackSocket, line: ClientConnection) -> None:
    envelope = socket.slash("U012LI", "status")
    socket.go_silent()
    line.send(json.dumps({"envelope_id": envelope.id}))
    assert not line.ping().wait(0.3)
    assert not socket.ping(0.1)
    assert not envelope.answered.is_set()
    assert len(socket.lines) == 1


def test_each_payload_goes_to_one_of_the_connections(api: SlackApi, socket: SlackSocket) -> None:
    with connect(address(api), proxy=None) as one, connect(address(api), proxy=None) as two:
        socket.wait_connected(2)
        for _ in range(2):
            socket.slash("U012LI", "status")
        frames = [[json.loads(c.recv(timeout=2))["type"] for _ in range(2)] for c in (one, two)]
    assert frames == [["hello", "slash_commands"]] * 2


def test_the_eleventh_connection_is_sent_away(api: SlackApi, socket: SlackSocket) -> None:
    with ExitStack() as open_lines:
        lines = [open_lines.enter_context(connect(address(api), proxy=None)) for _ in range(11)]
        frames = [json.loads(line.recv(timeout=2)) for line in lines]
    assert sorted(frame.get("reason", "") for frame in frames)[-1] == "too_many_websockets"


def test_a_press_waits_for_a_connection(api: SlackApi, socket: SlackSocket, warning: Posted) -> None:
    sent: list[Any] = []
    thread = threading.Thread(target=lambda: sent.append(socket.press("U012LI", warning, "keep_2h")))
    thread.start()
    time.sleep(0.05)
    assert sent == []
    with connect(address(api), proxy=None) as line:
        thread.join(5)
        kinds = [json.loads(line.recv(timeout=2))["type"] for _ in range(2)]
    assert sorted(kinds) == ["hello", "interactive"]
