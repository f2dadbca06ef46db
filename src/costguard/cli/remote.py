"""A running costguard over its API, with the same errors as a local one."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from costguard.errors import StoreError, UsageError
from costguard.net.http import HttpClient, HttpError, HttpResponse


class Remote:
    """Asks ``server``. ``token`` goes into the header, never into the URL or a message."""

    def __init__(self, server: str, token: str | None) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise UsageError(f"--server is a URL like http://127.0.0.1:8787, not {server!r}")
        self._base = server.rstrip("/")
        self._headers = {"accept": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        self._http = HttpClient(deadline=timedelta(seconds=30))

    def table(self, name: str, query: Mapping[str, str]) -> Mapping[str, Any]:
        return self._ask("GET", name, params=dict(query))

    def pull(self, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        body = json.dumps({k: v for k, v in values.items() if v is not None}).encode()
        return self._ask("POST", name, content=body)

    def _ask(
        self, method: str, name: str, *, params: dict[str, str] | None = None, content: bytes | None = None
    ) -> Mapping[str, Any]:
        headers = self._headers | ({"content-type": "application/json"} if content is not None else {})
        try:
            answer = self._http.request(
                method, f"{self._base}/api/v1/{name}", params=params or None, headers=headers, content=content
            )
        except HttpError as error:
            raise StoreError(f"{self._base} does not answer: {error}") from None
        return self._document(answer)

    def _document(self, answer: HttpResponse) -> Mapping[str, Any]:
        try:
            document = json.loads(answer.body)
        except ValueError:
            raise StoreError(f"{self._base} is no costguard: it answered {answer.status} without JSON") from None
        if not isinstance(document, dict):
            raise StoreError(f"{self._base} is no costguard: its answer is no object")
        if answer.status == 200:
            return document
        first = (document.get("errors") or [{}])[0]
        message = str(first.get("message", f"it answered {answer.status}"))
        if answer.status in (401, 403):
            raise UsageError(f"{message} (set COSTGUARD_TOKEN)")
        if answer.status in (404, 422):
            raise UsageError(message, first.get("candidates", ()))
        raise StoreError(message)
