"""A site on a real socket of this machine, for tests that speak HTTP to it."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import httpx
import uvicorn

from costguard.app.app import App
from costguard.app.serve import site_of
from costguard.web.auth import Token
from costguard.web.site import Site, create


@contextmanager
def served(site: Site) -> Iterator[str]:
    """The site's base URL while it is served."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    config = uvicorn.Config(create(site), log_level="warning", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(5.0)
        listening.close()


@contextmanager
def client(app: App, tokens: Sequence[Token] = (), **headers: str) -> Iterator[httpx.Client]:
    """Speaks to the site of an application."""
    with (
        served(replace(site_of(app), tokens=tuple(tokens))) as url,
        httpx.Client(base_url=url, headers=headers, trust_env=False) as found,
    ):
        yield found
