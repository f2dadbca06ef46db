"""What Slack posts here: presses (``/slack/interactivity``) and slash commands (``/slack/commands``).

Each is answered before it is worked on, and refused unless it is signed with one of the configured secrets. The
signature is of the raw body, so it is checked before anything is read.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from costguard.notify.slack.interaction import Pressed, StrangePayload, Typed, pressed, typed
from costguard.notify.slack.sign import genuine
from costguard.ports import Clock

_log = logging.getLogger(__name__)
_MAX_BODY = 256 * 1024


@dataclass(frozen=True, slots=True)
class Post:
    """One app that posts here: its signing secret, and who works on what came (on a thread, raising nothing)."""

    secret: str = field(repr=False)
    handle: Callable[[Pressed | Typed], None]


def routes(posts: Sequence[Post], clock: Clock) -> list[BaseRoute]:
    """No route at all without an app that posts."""

    def endpoint(read: Callable[[Mapping[str, str]], Pressed | Typed | None]) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            body = await _body(request)
            if body is None:
                return Response(status_code=413)
            post = _signed_by(request, body)
            if post is None:
                return Response(status_code=401)
            try:
                incoming = read(dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True)))
            except ValueError as error:
                _log.warning("what Slack posted cannot be read: %s", _sentence(error))
                return Response(status_code=400)
            # An empty 200 within 3 seconds; the work comes after it, on a thread.
            return Response(background=BackgroundTask(post.handle, incoming) if incoming is not None else None)

        return answer

    def _signed_by(request: Request, body: bytes) -> Post | None:
        stamp = request.headers.get("x-slack-request-timestamp", "")
        signature = request.headers.get("x-slack-signature", "")
        now = clock.now()
        fitting = [post for post in posts if genuine(post.secret, stamp, signature, body, now)]
        return fitting[0] if fitting else None

    if not posts:
        return []
    return [
        Route("/slack/interactivity", endpoint(_interaction), methods=["POST"]),
        Route("/slack/commands", endpoint(_command), methods=["POST"]),
    ]


async def _body(request: Request) -> bytes | None:
    """The raw body; None when it is larger than anything that Slack sends."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY:
            return None
    return bytes(body)


def _interaction(form: Mapping[str, str]) -> Pressed | None:
    payload = json.loads(form.get("payload", ""))
    if not isinstance(payload, dict):
        raise StrangePayload("no payload in what Slack sent")
    return pressed(payload)


def _command(form: Mapping[str, str]) -> Typed | None:
    # Slack asks now and then whether the address has a valid certificate.
    return None if form.get("ssl_check") == "1" else typed(form)


def _sentence(error: ValueError) -> str:
    """Our own sentence; a library's may quote what was sent."""
    return str(error) if isinstance(error, StrangePayload) else type(error).__name__
