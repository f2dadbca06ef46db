from datetime import UTC, datetime, timedelta

import pytest

from costguard.notify.slack.sign import genuine

# The example of docs.slack.dev/authentication/verifying-requests-from-slack.
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
STAMP = "1531420618"
BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121"
    b".803a0bc887a14d10d2c447fce8b6703c"
)
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
THEN = datetime.fromtimestamp(int(STAMP), UTC)
MINUTES = timedelta(minutes=1)


def test_the_published_example() -> None:
    assert genuine(SECRET, STAMP, SIGNATURE, BODY, THEN)
    assert not genuine(SECRET, STAMP, SIGNATURE, BODY + b"&x=1", THEN)
    assert not genuine(SECRET + "x", STAMP, SIGNATURE, BODY, THEN)
    assert not genuine(SECRET, str(int(STAMP) + 1), SIGNATURE, BODY, THEN)


@pytest.mark.parametrize(
    ("apart", "fine"), [(5 * MINUTES, True), (-5 * MINUTES, True), (6 * MINUTES, False), (-6 * MINUTES, False)]
)
def test_five_minutes_either_way(apart: timedelta, fine: bool) -> None:
    assert genuine(SECRET, STAMP, SIGNATURE, BODY, THEN + apart) is fine


@pytest.mark.parametrize("stamp", ["", "soon", "-1", "1.5", "٣", "9" * 400, " 1531420618"])
def test_a_timestamp_that_is_none_is_refused_and_breaks_nothing(stamp: str) -> None:
    assert not genuine(SECRET, stamp, SIGNATURE, BODY, THEN)


@pytest.mark.parametrize("signature", ["", "v0=", "v1=" + SIGNATURE[3:], "v0=é", SIGNATURE.upper()])
def test_another_signature_is_refused(signature: str) -> None:
    assert not genuine(SECRET, STAMP, signature, BODY, THEN)
