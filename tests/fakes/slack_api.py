"""Slack's Web API on loopback: one workspace, one app with a bot token and an app-level token.

A refusal is HTTP 200 with ``ok: false`` and an error word; only too many calls are HTTP 429 with ``Retry-After``.
Arguments, errors and token types are those of the reference pages of each method; stricter than Slack in one point:
an argument that the page does not name is refused, where Slack overlooks it. Not documented, but reported by users:
blocks above about 13,200 characters in all are ``msg_blocks_too_long``. From memory: the words for a ``response_url``
that is used up or too old.
"""

import secrets as random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from costguard.ports import Message
from costguard.testing.channel_contract import Delivered
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer
from tests.fakes.slack_message import (
    Pace,
    Posted,
    content_refused,
    failed,
    is_json,
    longest_section,
    ok,
    read_body,
    section_message,
    shown,
    too_fast,
    types_fit,
)
from tests.fakes.slack_reference import API_ANSWERS, METHODS, Method

BOT_TOKEN = "xoxb-1111111111-2222222222-AbCdEfGhIjKlMnOpQrStUvWx"
APP_TOKEN = "xapp-1-A012APP-3333333333-0123456789abcdef0123456789abcdef"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAM = "T012AB3CD"
BOT_USER = "U012BOT"
APP_ID = "A012APP"
CUT_AT = 40_000
REPLY_USES, REPLY_LIFE = 5, timedelta(minutes=30)


@dataclass
class Channel:
    """A channel of the workspace. ``member``: the bot is in it; ``people`` who is, None: everybody.

    A private channel without the bot does not exist for it. ``edit_window`` None: messages can be changed for ever.
    """

    id: str
    name: str = "gpu-ops"
    archived: bool = False
    member: bool = True
    private: bool = False
    people: frozenset[str] | None = None
    edit_window: timedelta | None = None


@dataclass(frozen=True)
class Person:
    id: str
    name: str
    email: str
    deleted: bool = False

    @property
    def dm(self) -> str:
        """The id of the conversation with the bot: messages to the person land here."""
        return f"D{self.id[1:]}"


@dataclass
class Reply:
    """A ``response_url``: what it answers, and how often it was used."""

    channel: str
    user: str
    made_at: datetime
    message_ts: str = ""
    uses: int = 0


class Sockets(Protocol):
    """Where apps.connections.open gets its addresses."""

    def issue(self) -> str: ...


class SlackApi(StrictServer):
    """``api_url`` is a client's ``base_url``. Tests turn ``channels``, ``people`` and ``scopes`` as they need.

    ``posted`` holds the messages in order (``ts``, ``content``, ``edits``, ``thread_ts``), ``ephemeral`` those that
    one person saw. ``token_state`` is an error word that every call gets (``token_revoked`` …) or empty.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.channels = {"C012AB3CD": Channel("C012AB3CD")}
        self.people = {
            person.id: person
            for person in (
                Person("U012ZHANG", "zhangwei", "zw@example.com"),
                Person("U012LI", "lilei", "li@example.com"),
                Person("U012STRANGER", "stranger", "stranger@example.com"),
            )
        }
        self.scopes = {"chat:write", "users:read", "users:read.email", "im:write", "commands"}
        self.app_scopes = {"connections:write"}
        self.token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.token_state = ""
        self.posted: list[Posted] = []
        self.ephemeral: list[Posted] = []
        self.replies: dict[str, Reply] = {}
        self.sockets: Sockets | None = None
        self._paces: dict[str, Pace] = {}
        self._written = 0

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    # What tests use.

    def message(self, text: str) -> Message:
        return section_message(text)

    def measured(self) -> int:
        with self.lock:
            return longest_section(self.requests[-1])

    answers = API_ANSWERS
    limit = 3_000
    unit: Literal["characters"] = "characters"
    signed = False

    def skew(self, span: timedelta) -> None:
        """Nothing that is sent depends on the platform's clock."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.token, self.app_token, SIGNING_SECRET)

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [message.delivered for message in self.posted]

    def calls(self, method: str) -> int:
        """How often ``method`` (``chat.update`` …) was called, refused or not."""
        with self.lock:
            return sum(request.path == f"/api/{method}" for request in self.requests)

    def written_by(self, user: str, channel: str, text: str) -> Posted:
        """A message of somebody else, which the bot may answer in a thread but not change."""
        with self.lock:
            return self._write(self.posted, channel, {"text": text}, author=user)

    def thread(self, message: Posted) -> list[Posted]:
        """The answers to a message."""
        with self.lock:
            return [
                other for other in self.posted if other.channel == message.channel and other.thread_ts == message.ts
            ]

    def reply_url(self, channel: str, user: str, message_ts: str = "") -> str:
        """A fresh ``response_url``: 5 uses within 30 minutes."""
        with self.lock:
            key = random.token_hex(12)
            self.replies[key] = Reply(channel, user, self.clock.now(), message_ts)
            return f"{self.url}/actions/{TEAM}/{key}"

    def name_of(self, channel: str) -> str:
        found = self.channels.get(channel)
        return found.name if found else "directmessage"

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if request.path.startswith("/api/"):
            return self._call(request.path.removeprefix("/api/"), request)
        if request.path.startswith(f"/actions/{TEAM}/"):
            return self._reply(request.path.rsplit("/", 1)[1], request)
        return Answer(404, b"not found", {"Content-Type": "text/html"})

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault is Fault.THROTTLED:
            return too_fast(7, "ratelimited")
        if fault is Fault.SERVER_ERROR:
            return Answer(503, b"service_unavailable", {"Content-Type": "text/html"})
        if fault is Fault.UNAUTHENTICATED:
            return failed("invalid_auth")
        if fault is Fault.FORBIDDEN:
            return failed("missing_scope", needed="chat:write", provided="")
        return super().refuse(fault, request)

    # A call

    def _call(self, name: str, request: Request) -> Answer:
        method = METHODS.get(name)
        if method is None:
            return failed("unknown_method")
        if name == "apps.connections.open" and request.method != "POST":
            return failed("insecure_request")
        arguments = read_body(request) if request.body else dict(request.query)
        if arguments is None:
            return failed("invalid_json" if is_json(request) else "invalid_form_data")
        token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        in_form = str(arguments.pop("token", "")) if not is_json(request) else ""
        token = token or in_form
        if refused := self._bad_token(token, method):
            return refused
        granted = self.scopes if token == self.token else self.app_scopes
        if not set(method.scopes.split()) <= granted:
            return failed("missing_scope", needed=method.scopes.replace(" ", ","), provided=",".join(sorted(granted)))
        if name == "users.lookupByEmail" and is_json(request):
            return failed("invalid_arguments")  # its page takes no application/json
        if not set(arguments) <= set(method.arguments.split()) or not types_fit(arguments):
            return failed("invalid_arguments")
        answer: Answer = getattr(self, method.handler)(arguments)
        return Answer(answer.status, answer.body, {**answer.headers, "x-oauth-scopes": ",".join(sorted(granted))})

    def _bad_token(self, token: str, method: Method) -> Answer | None:
        if not token:
            return failed("not_authed")
        if token not in (self.token, self.app_token):
            return failed("invalid_auth")
        if self.token_state:
            return failed(self.token_state)
        if not token.startswith(method.token):
            return failed("not_allowed_token_type")
        return None

    def _auth_test(self, arguments: dict[str, Any]) -> Answer:
        return ok(
            url="https://example.slack.com/", team="example", user="costguard", team_id=TEAM, user_id=BOT_USER,
            bot_id="B012BOT", is_enterprise_install=False,
        )  # fmt: skip

    def _connect(self, arguments: dict[str, Any]) -> Answer:
        return ok(url=self.sockets.issue()) if self.sockets else failed("internal_error")

    def _lookup(self, arguments: dict[str, Any]) -> Answer:
        email = str(arguments.get("email", "")).lower()
        if not email:
            return failed("invalid_arguments")
        for person in self.people.values():
            if person.email.lower() == email and not person.deleted:
                return ok(user=_user(person, with_email=True))
        return failed("users_not_found")

    def _info(self, arguments: dict[str, Any]) -> Answer:
        person = self.people.get(str(arguments.get("user", "")))
        return ok(user=_user(person, "users:read.email" in self.scopes)) if person else failed("user_not_found")

    def _open(self, arguments: dict[str, Any]) -> Answer:
        users = [user for user in str(arguments.get("users", "")).split(",") if user]
        if not users:
            return failed("users_list_not_supplied")
        if len(users) > 1:
            return failed("too_many_users" if len(users) > 8 else "invalid_arguments")
        person = self.people.get(users[0])
        if person is None:
            return failed("user_not_found")
        return failed("user_disabled") if person.deleted else ok(channel={"id": person.dm})

    # Messages

    def _post(self, arguments: dict[str, Any]) -> Answer:
        channel = self._target(str(arguments.get("channel", "")))
        if isinstance(channel, Answer):
            return channel
        thread = arguments.get("thread_ts")
        if thread is not None and not self._find(channel, thread):
            return failed("thread_not_found")
        if refused := content_refused(arguments):
            return refused
        if wait := self._paces.setdefault(channel, Pace(self.clock)).wait():
            return too_fast(wait, "ratelimited")
        content = {key: value for key, value in arguments.items() if key != "channel"}
        if "text" in content:
            content["text"] = content["text"][:CUT_AT]
        posted = self._write(self.posted, channel, content)
        return ok(channel=channel, ts=posted.ts, message=shown(posted))

    def _post_ephemeral(self, arguments: dict[str, Any]) -> Answer:
        channel = self._target(str(arguments.get("channel", "")))
        if isinstance(channel, Answer):
            return channel
        user = str(arguments.get("user", ""))
        found = self.channels.get(channel)
        inside = user in self.people and (found is None or found.people is None or user in found.people)
        if not inside:
            return failed("user_not_in_channel")
        if refused := content_refused(arguments):
            return refused
        content = {key: value for key, value in arguments.items() if key not in ("channel", "user")}
        posted = self._write(self.ephemeral, channel, content, seen_by=user)
        return ok(message_ts=posted.ts)

    def _update(self, arguments: dict[str, Any]) -> Answer:
        where = str(arguments.get("channel", ""))
        channel = self.channels.get(where)
        if channel is None and where not in {person.dm for person in self.people.values()}:
            return failed("channel_not_found")  # neither names nor user ids are taken here
        if channel and (channel.archived or not channel.member):
            return failed("is_inactive" if channel.archived else "channel_not_found")
        if len(str(arguments.get("text", ""))) > 4_000:
            return failed("msg_too_long")
        if refused := content_refused(arguments):
            return refused
        message = self._find(where, str(arguments.get("ts", "")))
        if message is None:
            return failed("message_not_found")
        if message.author != BOT_USER:
            return failed("cant_update_message")
        if channel and channel.edit_window is not None and self.clock.now() - message.at > channel.edit_window:
            return failed("edit_window_closed")
        self._change(message, {key: value for key, value in arguments.items() if key not in ("channel", "ts")})
        return ok(channel=where, ts=message.ts, text=message.text, message=shown(message))

    def _target(self, where: str) -> str | Answer:
        """The channel's id, for an id, a name or a person; the refusal where the bot cannot write."""
        if where in self.people:
            return failed("channel_not_found") if self.people[where].deleted else self.people[where].dm
        if where in {person.dm for person in self.people.values()}:
            return where
        by_name = {channel.name: channel for channel in self.channels.values()}
        channel = self.channels.get(where) or by_name.get(where.removeprefix("#"))
        if channel is None or (channel.private and not channel.member):
            return failed("channel_not_found")
        if channel.archived:
            return failed("is_archived")
        return channel.id if channel.member or "chat:write.public" in self.scopes else failed("not_in_channel")

    def _find(self, channel: str, ts: str) -> Posted | None:
        return next((message for message in self.posted if (message.channel, message.ts) == (channel, ts)), None)

    def _write(
        self, into: list[Posted], channel: str, content: dict[str, Any], *, author: str = BOT_USER, seen_by: str = ""
    ) -> Posted:
        now = self.clock.now()
        self._written += 1
        posted = Posted(channel, content, now, f"{int(now.timestamp())}.{self._written:06d}", author, seen_by)
        into.append(posted)
        return posted

    @staticmethod
    def _change(message: Posted, content: dict[str, Any]) -> None:
        message.edits.append(message.content)
        kept = {"thread_ts": message.thread_ts} if message.thread_ts else {}
        message.content = {**content, **kept}

    def _reply(self, key: str, request: Request) -> Answer:
        """A ``response_url``: no token, the address itself is the secret."""
        reply = self.replies.get(key)
        if reply is None or self.clock.now() - reply.made_at > REPLY_LIFE:
            return Answer(404, failed("expired_url").body)
        if reply.uses >= REPLY_USES:
            return Answer(404, failed("used_url").body)
        content = read_body(request)
        if request.method != "POST" or content is None or not types_fit(content):
            return Answer(400, failed("invalid_payload").body)
        how = {key: content.pop(key, None) for key in ("response_type", "replace_original", "delete_original")}
        if not set(content) <= {"text", "blocks", "attachments", "thread_ts", "unfurl_links", "unfurl_media"}:
            return Answer(400, failed("invalid_payload").body)
        if how["response_type"] not in (None, "ephemeral", "in_channel"):
            return Answer(400, failed("invalid_payload").body)
        if not how["delete_original"] and (refused := content_refused(content)):
            return Answer(400, refused.body)
        reply.uses += 1
        original = self._find(reply.channel, reply.message_ts)
        if original and how["delete_original"]:
            self.posted.remove(original)
        elif original and how["replace_original"]:
            self._change(original, content)
        elif how["response_type"] == "in_channel":
            self._write(self.posted, reply.channel, content)
        else:
            self._write(self.ephemeral, reply.channel, content, seen_by=reply.user)
        return ok()


def _user(person: Person, with_email: bool) -> dict[str, Any]:
    profile = {"real_name": person.name, **({"email": person.email} if with_email else {})}
    return {
        "id": person.id, "team_id": TEAM, "name": person.name, "deleted": person.deleted, "is_bot": False,
        "profile": profile,
    }  # fmt: skip
