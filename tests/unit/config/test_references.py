"""What does not go together in costguard.yaml, beyond the bad files."""

from pathlib import Path

import pytest

from costguard.config.load import load
from costguard.config.references import is_loopback
from costguard.errors import ConfigErrors


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True), ("127.5.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False),
        ("::", False), ("10.0.0.5", False), ("costguard.internal", False), ("", False),
    ],
)  # fmt: skip
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def warnings(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "policies").mkdir(exist_ok=True)
    (tmp_path / "policies" / "p.yaml").write_text("policies: []\n")
    (tmp_path / "costguard.yaml").write_text(text)
    return [str(w).removeprefix(f"{tmp_path}/") for w in load(tmp_path / "costguard.yaml", {}).warnings]


def test_one_account_configured_twice_is_said(tmp_path: Path) -> None:
    """K01: the same account under two names counts everything twice."""
    told = warnings(
        tmp_path,
        "version: 1\nexchange_rates: {USD: '7'}\naccounts:\n"
        "  - {name: a, provider: aws, account_id: '1'}\n  - {name: b, provider: aws, account_id: '1'}\n",
    )
    assert told == [
        "costguard.yaml:5:42: accounts[1].account_id: the same account as 'a': its resources are counted twice unless "
        "the regions differ"
    ]


def test_a_page_for_others_is_fine_with_a_token(tmp_path: Path) -> None:
    text = "version: 1\nweb: {listen: '[::]:8787', tokens: [{name: ci, token: 0123456789abcdef0}]}\n"
    assert warnings(tmp_path, text) == []


def test_a_chat_in_which_nobody_would_be_known(tmp_path: Path) -> None:
    text = """\
version: 1
channels: [{name: dev, kind: dingtalk, mode: stream, client_id: a, client_secret: b}]
owners: [{name: zw, dingtalk_mobile: "13800000000"}]
"""
    (told,) = warnings(tmp_path, text)
    assert "channels[0].mode" in told
    assert "nobody may press a button" in told
    assert warnings(tmp_path, text.replace("dingtalk_mobile", "dingtalk")) == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://hooks.slack.com/services/T/B/x", True), ("HTTP://chat.internal/h", True),
        ("https://hooks.slack.com/services/T/B/x", False), ("http://127.0.0.1:9/h", False),
        ("http://localhost:9/h", False),
    ],
)  # fmt: skip
def test_a_secret_address_in_the_clear_is_told(tmp_path: Path, address: str, told: bool) -> None:
    """A test server on this machine is nobody's business."""
    found = warnings(tmp_path, f"version: 1\nchannels: [{{name: a, kind: slack, url: '{address}'}}]\n")
    assert ["channels[0].url: http:// shows the messages" in warning for warning in found] == [True] * told


def test_a_slack_in_which_nobody_would_be_known(tmp_path: Path) -> None:
    text = """\
version: 1
channels: [{name: team, kind: slack, token: xoxb-1, channel: C1, app_token: xapp-1}]
owners: [{name: zw, dingtalk: manager1234}]
"""
    (told,) = warnings(tmp_path, text)
    assert "channels[0].app_token" in told
    assert "a slack member id or an email" in told
    for known in ("slack: U012", "email: zw@example.com"):
        assert warnings(tmp_path, text.replace("dingtalk: manager1234", known)) == []
    deaf = text.replace(", app_token: xapp-1", "")
    assert warnings(tmp_path, deaf) == [], "a bot without buttons needs to know nobody"


@pytest.mark.parametrize(
    ("report", "complaint"),
    [
        ("{name: r, to: [ops], weekday: mon, day: 3}", "monthly or weekly: weekday does not go with day"),
        ("{name: r, to: [ops], weekday: mon, revise: never}", "weekday does not go with revise"),
        ("{name: r, to: [ops], weekday: monday}", "weekday"),
        ("{name: r, to: [ops], day: 31}", "day"),
        ("{name: r, to: [nowhere]}", "unknown channel 'nowhere'"),
        ("{name: r, to: []}", "to"),
        ("{name: r, to: [ops], at: '9'}", "at"),
        ("{name: r, to: [ops]}\n  - {name: r, to: [ops]}", "r"),
    ],
)
def test_reports_that_cannot_be_are_refused_at_their_place(tmp_path: Path, report: str, complaint: str) -> None:
    channel = "channels: [{name: ops, kind: slack, url: 'https://hooks.slack.com/services/T/B/x'}]"
    with pytest.raises(ConfigErrors) as caught:
        warnings(tmp_path, f"version: 1\n{channel}\nreports:\n  - {report}\n")
    (error,) = caught.value.errors
    told = str(error).removeprefix(f"{tmp_path}/")
    assert told.startswith(("costguard.yaml:4:", "costguard.yaml:5:"))
    assert complaint in told
