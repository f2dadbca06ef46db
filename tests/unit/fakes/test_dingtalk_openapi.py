"""DingTalk's open platform by plain HTTP: what it refuses, and how it says so."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from costguard.testing.channel_contract import PlatformAnswer
from costguard.testing.cloud import Fault
from tests.fakes.dingtalk_openapi import DingTalkApi
from tests.fakes.dingtalk_reference import (
    CLIENT_ID,
    CLIENT_SECRET,
    CREATE,
    GROUP,
    GROUP_SEND,
    PERSON_SEND,
    TEMPLATE,
    UPDATE,
)

APP = {"appKey": CLIENT_ID, "appSecret": CLIENT_SECRET}
TEXT = {"robotCode": CLIENT_ID, "msgKey": "sampleText", "msgParam": '{"content":"保留 2 小时"}'}
MARKDOWN = TEXT | {"msgKey": "sampleMarkdown", "msgParam": '{"title":"预警","text":"**关机**"}'}
CARD = {
    "cardTemplateId": TEMPLATE,
    "outTrackId": "7f3c",
    "callbackType": "STREAM",
    "cardData": {"cardParamMap": {"title": "30 分钟后关机", "state": "warned"}},
    "openSpaceId": f"dtv1.card//IM_GROUP.{GROUP}",
    "imGroupOpenSpaceModel": {"supportForward": False},
    "imGroupOpenDeliverModel": {"robotCode": CLIENT_ID, "atUserIds": {"zw01": "张伟"}},
}
ALONE = {
    **{key: value for key, value in CARD.items() if not key.startswith("imGroup")},
    "openSpaceId": "dtv1.card//IM_ROBOT.zw01",
    "imRobotOpenSpaceModel": {"supportForward": False},
    "imRobotOpenDeliverModel": {"spaceType": "IM_ROBOT"},
}


@pytest.fixture
def api() -> Iterator[DingTalkApi]:
    with DingTalkApi() as server:
        yield server


Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(api: DingTalkApi) -> Ask:
    """A call with a fresh token: ``ask(path, body, method="PUT")``."""

    def call(path: str, body: Any, method: str = "POST") -> httpx.Response:
        token = httpx.post(f"{api.url}/v1.0/oauth2/accessToken", json=APP, trust_env=False).json()["accessToken"]
        headers = {"x-acs-dingtalk-access-token": token}
        return httpx.request(method, api.url + path, json=body, headers=headers, trust_env=False)

    return call


def code(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert set(body) >= {"code", "message", "requestid"}
    return answer.status_code, body["code"]


class TestToken:
    def test_it_is_the_same_until_it_ends(self, api: DingTalkApi, ask: Ask) -> None:
        url = f"{api.url}/v1.0/oauth2/accessToken"
        first = httpx.post(url, json=APP, trust_env=False).json()
        api.clock.advance(timedelta(hours=1))
        second = httpx.post(url, json=APP, trust_env=False).json()
        assert (first["expireIn"], second["expireIn"]) == (7200, 3600)
        assert first["accessToken"] == second["accessToken"]
        api.clock.advance(timedelta(hours=1))
        headers = {"x-acs-dingtalk-access-token": first["accessToken"]}
        body = TEXT | {"openConversationId": GROUP}
        late = httpx.post(api.url + GROUP_SEND, json=body, headers=headers, trust_env=False)
        assert code(late) == (400, "InvalidAuthentication")
        assert ask(GROUP_SEND, body).status_code == 200

    @pytest.mark.parametrize("token", ["", "0123"])
    def test_calls_need_it(self, api: DingTalkApi, token: str) -> None:
        headers = {"x-acs-dingtalk-access-token": token} if token else {}
        answer = httpx.post(api.url + CREATE, json=CARD, headers=headers, trust_env=False)
        assert code(answer) == (400, "InvalidAuthentication")
        assert api.cards == {}

    def test_a_wrong_secret(self, api: DingTalkApi) -> None:
        url = f"{api.url}/v1.0/oauth2/accessToken"
        wrong = httpx.post(url, json=APP | {"appSecret": "x"}, trust_env=False)
        form = httpx.post(url, data=APP, trust_env=False)
        assert (code(wrong), code(form)) == ((400, "invalidClientIdOrSecret"), (400, "Missingbody"))

    def test_a_token_that_is_not_known_any_more(self, api: DingTalkApi) -> None:
        url = f"{api.url}/v1.0/oauth2/accessToken"
        first = httpx.post(url, json=APP, trust_env=False).json()["accessToken"]
        api.expire_token()
        headers = {"x-acs-dingtalk-access-token": first}
        assert httpx.post(api.url + CREATE, json=CARD, headers=headers, trust_env=False).status_code == 400


class TestCards:
    @pytest.mark.parametrize(("card", "space"), [(CARD, GROUP), (ALONE, "zw01")])
    def test_one_is_made_once_under_its_id(self, api: DingTalkApi, ask: Ask, card: dict[str, Any], space: str) -> None:
        for _ in range(2):
            result = ask(CREATE, card).json()["result"]
            assert result["outTrackId"] == "7f3c"
            assert result["deliverResults"][0]["success"]
        assert [(made.space, made.params["state"]) for made in api.cards.values()] == [(space, "warned")]
        assert api.delivered()[0].mentions == (("zw01",) if space == GROUP else ())

    def test_a_group_without_the_robot_is_told_inside_http_200(self, api: DingTalkApi, ask: Ask) -> None:
        api.forbidden.add(GROUP)
        answer = ask(CREATE, CARD)
        assert answer.status_code == 200
        assert answer.json()["result"]["deliverResults"][0]["success"] is False
        assert api.cards == {}

    @pytest.mark.parametrize(
        ("change", "word"),
        [
            ({"cardTemplateId": ""}, "param.cardTemplateIdEmpty"),
            ({"cardTemplateId": "other.schema"}, "param.cardTemplateNotExist"),
            ({"outTrackId": None}, "param.outTrackIdEmpty"),
            ({"cardData": {"cardParamMap": {"minutes": 30}}}, "param.cardPublicDataEmpty"),
            ({"cardData": {"title": "x"}}, "param.cardPublicDataEmpty"),
            ({"openSpaceId": GROUP}, "param.openSpaceModelInvalid"),
            ({"imGroupOpenDeliverModel": {}}, "param.openSpaceModelInvalid"),
            ({"imGroupOpenSpaceModel": None}, "param.openSpaceModelInvalid"),
            ({"callbackType": None}, "param.openSpaceModelInvalid"),
            ({"title": "x"}, "param.openSpaceModelInvalid"),
        ],
    )
    def test_what_is_refused(self, api: DingTalkApi, ask: Ask, change: dict[str, Any], word: str) -> None:
        assert code(ask(CREATE, CARD | change)) == (400, word)
        assert api.cards == {}

    def test_an_update_replaces_all_or_by_key(self, api: DingTalkApi, ask: Ask) -> None:
        ask(CREATE, CARD)
        body = {"outTrackId": "7f3c", "cardData": {"cardParamMap": {"state": "kept"}}}
        by_key = body | {"cardUpdateOptions": {"updateCardDataByKey": True}}
        assert ask(UPDATE, by_key, "PUT").json() == {"success": True, "result": True}
        assert api.cards["7f3c"].params == {"title": "30 分钟后关机", "state": "kept"}
        ask(UPDATE, body, "PUT")
        assert api.cards["7f3c"].params == {"state": "kept"}
        assert len(api.cards["7f3c"].updates) == 2

    @pytest.mark.parametrize(
        ("body", "word"),
        [
            ({"outTrackId": "other", "cardData": {"cardParamMap": {}}}, "param.outTrackIdNotExist"),
            ({"cardData": {"cardParamMap": {}}}, "param.outTrackIdEmpty"),
            ({"outTrackId": "7f3c", "cardData": {"cardParamMap": {"x": None}}}, "param.cardPublicDataEmpty"),
            ({"outTrackId": "7f3c", "cardTemplateId": TEMPLATE}, "param.invalid"),
        ],
    )
    def test_updates_that_are_refused(self, api: DingTalkApi, ask: Ask, body: dict[str, Any], word: str) -> None:
        ask(CREATE, CARD)
        assert code(ask(UPDATE, body, "PUT")) == (400, word)
        assert api.cards["7f3c"].updates == []


class TestRobot:
    def test_a_group_hears_it(self, api: DingTalkApi, ask: Ask) -> None:
        assert ask(GROUP_SEND, MARKDOWN | {"openConversationId": GROUP}).json()["processQueryKey"]
        assert [(sent.to, sent.text) for sent in api.sent] == [((GROUP,), "**关机**")]
        assert api.delivered()[0].notification == "预警"

    def test_people_who_cannot_be_reached_are_told_inside_http_200(self, api: DingTalkApi, ask: Ask) -> None:
        api.forbidden.add("li02")
        answer = ask(PERSON_SEND, TEXT | {"userIds": ["zw01", "li02", "nobody"]})
        assert answer.status_code == 200
        assert answer.json()["invalidStaffIdList"] == ["nobody"]
        assert answer.json()["flowControlledStaffIdList"] == ["li02"]
        assert [sent.to for sent in api.sent] == [("zw01",)]

    @pytest.mark.parametrize(
        ("change", "word"),
        [
            ({"openConversationId": "cid?"}, "invalid.openConversationId"),
            ({"robotCode": ""}, "invalidParameter.robotCode.empty"),
            ({"robotCode": "ding-other"}, "invalidParameter.robotCode.auth"),
            ({"msgKey": ""}, "invalidParameter.msgKey.empty"),
            ({"msgKey": "markdown"}, "invalidParameter.msgKey.invalid"),
            ({"msgParam": {"content": "x"}}, "invalidParameter.msgParam.invalid"),
            ({"msgParam": "content"}, "invalidParameter.msgParam.invalid"),
            ({"msgParam": json.dumps({"content": "x" * 15_000})}, "invalidParameter.msgParam.invalid"),
            ({"msgParam": '{"content":" "}'}, "invalidParameter.param.invalid"),
            ({"msgParam": '{"text":"x"}'}, "invalidParameter.param.invalid"),
            ({"at": {}}, "invalidParameter.param.invalid"),
        ],
    )
    def test_what_is_refused(self, api: DingTalkApi, ask: Ask, change: dict[str, Any], word: str) -> None:
        assert code(ask(GROUP_SEND, TEXT | {"openConversationId": GROUP} | change)) == (400, word)
        assert api.sent == []

    @pytest.mark.parametrize(
        ("users", "word"), [([], "invalidParameter.userIds.empty"), (["zw01"] * 21, "invalidParameter.userIds.overMax")]
    )
    def test_how_many_people(self, ask: Ask, users: list[str], word: str) -> None:
        assert code(ask(PERSON_SEND, TEXT | {"userIds": users})) == (400, word)

    def test_a_session_webhook_ends(self, api: DingTalkApi) -> None:
        url, until_ms = api.session_webhook(GROUP)
        body = {"msgtype": "markdown", "markdown": {"title": "t", "text": "@zw01 x"}, "at": {"atUserIds": ["zw01"]}}
        assert httpx.post(url, json=body, trust_env=False).json()["errcode"] == 0
        assert httpx.post(url, json={"msgtype": "text"}, trust_env=False).json()["errcode"] == 40035
        assert httpx.post(url[:-1], json=body, trust_env=False).json()["errcode"] == 300001
        api.clock.advance(timedelta(minutes=20))
        assert api.clock.now().timestamp() * 1000 == until_ms
        assert httpx.post(url, json=body, trust_env=False).json()["errcode"] == 300001
        assert [(sent.to, sent.pinged) for sent in api.sent] == [((GROUP,), ("zw01",))]


def test_a_missing_permission_names_itself(api: DingTalkApi, ask: Ask) -> None:
    api.permissions.clear()
    answer = ask(CREATE, CARD)
    assert code(answer) == (403, "Forbidden.AccessDenied.AccessTokenPermissionDenied")
    assert answer.json()["accessdenieddetail"] == {"requiredScopes": ["Card.Instance.Write"]}


def test_forty_calls_a_second(api: DingTalkApi, ask: Ask) -> None:
    statuses = [ask(GROUP_SEND, TEXT | {"openConversationId": GROUP}).status_code for _ in range(41)]
    assert statuses == [200] * 40 + [403]
    api.clock.advance(timedelta(seconds=1))
    assert ask(GROUP_SEND, TEXT | {"openConversationId": GROUP}).status_code == 200


def test_an_unknown_path(api: DingTalkApi) -> None:
    assert code(httpx.post(f"{api.url}/v1.0/card/other", json={}, trust_env=False)) == (404, "InvalidAction.NotFound")


@pytest.mark.parametrize(
    ("fault", "status"),
    [(Fault.THROTTLED, 403), (Fault.SERVER_ERROR, 503), (Fault.UNAUTHENTICATED, 400), (Fault.FORBIDDEN, 403)],
)
def test_faults_hit_what_sends_and_not_the_token(api: DingTalkApi, ask: Ask, fault: Fault, status: int) -> None:
    api.fail(fault, times=1)
    assert ask(CREATE, CARD).status_code == status
    assert api.request_count() == 1


def test_a_lost_answer_has_made_the_card(api: DingTalkApi, ask: Ask) -> None:
    api.fail(Fault.LOST_ANSWER, times=1)
    with pytest.raises(httpx.HTTPError):
        ask(CREATE, CARD)
    assert list(api.cards) == ["7f3c"]


def test_a_scripted_answer_waits_for_the_next_call_that_sends(api: DingTalkApi, ask: Ask) -> None:
    api.answer(PlatformAnswer(200, '{"success":false}', frozenset()))
    assert ask(CREATE, CARD).json() == {"success": False}
    assert ask(CREATE, CARD).json()["success"]
