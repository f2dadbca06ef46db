"""The newer API's codes, row by row, and what is made of those that nobody wrote down."""

from datetime import timedelta

import pytest

from costguard.notify.dingtalk.apicodes import CODES, PAUSE, meaning

DENIED = "Forbidden.AccessDenied."


@pytest.mark.parametrize(
    ("code", "reason", "wait"),
    [
        ("invalidClientIdOrSecret", "auth", None), ("authFailed", "auth", None),
        ("InvalidAuthentication", "auth", None),
        ("param.cardNotExist", "payload", None), ("param.outTrackIdNotExist", "payload", None),
        (DENIED + "AccessTokenPermissionDenied", "auth", None), (DENIED + "IpNotInWhiteList", "auth", None),
        (DENIED + "QpsLimitForApi", "rate", PAUSE), (DENIED + "QpsLimitForAppkeyAndApi", "rate", PAUSE),
        ("param.contentUnsafe", "payload", None), ("param.templateNotExist", "auth", None),
        ("param.templateUnpublished", "auth", None), ("param.openSpaceIdInvalid", "auth", None),
        ("param.userIdNotExist", "payload", None), ("param.invalid", "payload", None),
        ("system.busy", "server", timedelta(seconds=30)), ("resource.not.found", "auth", None),
        ("staffId.notExisted", "payload", None), ("invalidParameter.openConversationId", "auth", None),
        ("invalid.openConversationId", "auth", None),
        ("bot.stopped", "auth", None), ("param.cardTemplateNotExist", "auth", None),
    ],
)  # fmt: skip
def test_every_row(code: str, reason: str, wait: timedelta | None) -> None:
    """J05."""
    assert (meaning(400, code).reason, meaning(400, code).wait) == (reason, wait)


def test_the_table_above_is_whole() -> None:
    assert len(CODES) == 22


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (429, "429", "rate"), (403, DENIED + "QpsLimitForSomethingNew", "rate"), (401, "401", "auth"),
        (403, "new.word", "auth"), (404, "404", "auth"), (500, "500", "server"), (503, "oops", "server"),
        (400, "param.somethingNew", "payload"), (200, "strange", "payload"),
    ],
)  # fmt: skip
def test_unknown_words_go_by_their_status(status: int, code: str, reason: str) -> None:
    assert meaning(status, code).reason == reason


def test_a_missing_permission_is_named() -> None:
    found = meaning(403, DENIED + "AccessTokenPermissionDenied", ("Card.Instance.Write",))
    assert "Card.Instance.Write" in found.detail
    assert "权限管理" in (found.hint or "")
