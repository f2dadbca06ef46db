"""--server: the same commands against a running site, with a token, and its errors as ours."""

import ast
import socket
from collections.abc import Iterator

import pytest

from costguard.web.auth import Token
from tests.cli.cli import ROOT, Answer, costguard
from tests.web.served import client
from tests.web.stage import Stage

TOKENS = (Token("ops", "s3cret", frozenset({"read", "act"})), Token("job", "beat", frozenset({"heartbeat"})))


@pytest.fixture
def server(stage: Stage) -> Iterator[str]:
    with stage.app() as app, client(app, TOKENS) as web:
        yield str(web.base_url)


def _ask(server: str, *words: str, token: str = "s3cret") -> Answer:
    return costguard(*words, env={"COSTGUARD_SERVER": server, "COSTGUARD_TOKEN": token}, width=200)


def test_tables_and_levers_over_the_api(server: str) -> None:
    for table in ("fleet", "findings", "actions"):
        answer = _ask(server, table)
        assert answer.code == 0, answer.err
        assert "warned" in answer.out
    assert "every source was quiet" in _ask(server, "explain", "warned").out
    kept = _ask(server, "keep", "warned", "--for", "4h", "--reason", "r")
    assert "(UTC): warned (simulated/sim/r1/vm/" in kept.out
    assert _ask(server, "unkeep", "warned", "--json").document["subject"]["name"] == "warned"
    assert "in use until" in _ask(server, "heartbeat", "warned", token="beat").out


def test_without_a_configuration_at_hand_it_speaks_the_terminals_language(server: str) -> None:
    env = {"COSTGUARD_SERVER": server, "COSTGUARD_TOKEN": "s3cret", "LC_ALL": "zh_CN.UTF-8"}
    assert costguard("fleet", env=env).out.startswith("名称 ")
    assert costguard("fleet", "--lang", "en", env=env).out.startswith("NAME ")
    assert "原因" in costguard("explain", "warned", env=env).out
    assert costguard("keep", "warned", "--for", "2h", env=env).out.startswith("保留到")


def test_the_three_lines_for_a_training_loop(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the documentation has them; twice, as a loop does; and a costguard that is down never ends the training."""
    text = (ROOT / "docs" / "operations.md").read_text("utf-8")
    three = ast.parse(text.split("```python\n")[1].split("```")[0])
    assert len(three.body) == 3
    twice = ast.Module([*three.body, three.body[-1]], [])
    settings = {"COSTGUARD_SERVER": server, "COSTGUARD_TOKEN": "beat", "INSTANCE_ID": "warned", "no_proxy": "*"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert "alive until" not in _ask(server, "explain", "warned").out
    exec(compile(twice, "loop", "exec"), {})
    assert "a job said that it is alive until" in _ask(server, "explain", "warned").out
    monkeypatch.setenv("COSTGUARD_SERVER", "http://127.0.0.1:1")
    exec(compile(twice, "loop", "exec"), {})


def test_what_the_server_refuses_is_said_with_what_to_do(server: str) -> None:
    for token in ("wrong", ""):
        answer = _ask(server, "fleet", token=token)
        assert answer.code == 2
        assert "COSTGUARD_TOKEN" in answer.err
        assert "wrong" not in answer.err
    assert "no scope admin" in _ask(server, "pause").err
    twin = _ask(server, "keep", "twin", "--for", "1h", "--reason", "r", "--json")
    assert (twin.code, len(twin.document["errors"][0]["candidates"])) == (2, 2)
    assert _ask(server, "explain", "nobody").code == 2


def test_no_server_there_is_temporary(server: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    answer = _ask(nobody, "fleet")
    assert answer.code == 75
    assert "does not answer" in answer.err
    assert _ask(f"{server}/static/app.css?", "fleet").code in (2, 75)
    assert "is a URL like" in _ask("localhost:8787", "fleet").err
