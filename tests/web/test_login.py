"""Signing in with a browser: a form instead of a page, a cookie instead of a header."""

import httpx

from costguard.web.auth import Token
from tests.web.served import client
from tests.web.stage import Stage

TOKENS = (Token("ci", "s3cret", frozenset({"read"})), Token("job", "beat", frozenset({"heartbeat"})))


def test_a_right_token_becomes_a_cookie_that_scripts_cannot_read(staged: Stage) -> None:
    """K04: the token travels in the body and a cookie, never in a URL."""
    with staged.app() as app, client(app, TOKENS) as web:
        form = web.get("/", headers={"accept-language": "zh-CN"})
        assert form.status_code == 401
        assert "访问令牌" in form.text
        assert "warned" not in form.text
        answer = web.post("/login", data={"token": "s3cret"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "s3cret" not in answer.text + answer.headers["location"]
        assert web.get("/").status_code == 200
        assert web.get("/api/v1/fleet").status_code == 200
        # The cookie acts only through what a foreign page cannot send, and only within its scope.
        assert web.post("/api/v1/pause", data={"for": "1h"}).status_code == 403
        assert web.post("/api/v1/pause", json={}).status_code == 403


def test_a_wrong_token_is_told(staged: Stage) -> None:
    with staged.app() as app, client(app, TOKENS) as web:
        for given in ("wrong", "", "s3cret\x00"):
            answer: httpx.Response = web.post("/login", data={"token": given}, headers={"accept-language": "en"})
            assert answer.status_code == 401
            assert "not known" in answer.text
            assert "set-cookie" not in answer.headers


def test_without_tokens_nobody_signs_in(staged: Stage) -> None:
    with staged.app() as app, client(app) as web:
        assert web.get("/").status_code == 200
        assert web.post("/login", data={"token": ""}).status_code == 401
