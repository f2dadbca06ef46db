"""Signature, common parameters and the wire of the Tencent Cloud server."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from costguard.testing.cloud import Calls, Fault, Mutation
from tests.fakes.tencent.server import SECRET_ID, SECRET_KEY, TencentServer
from tests.fakes.tencent.tc3 import canonical_request, sign
from tests.unit.fakes.tencent_client import HERE, Client, authorization

# The example of "Signature v3" in Tencent Cloud's documentation.
_EXAMPLE_BODY = b'{"Limit": 1, "Filters": [{"Values": ["\\u672a\\u547d\\u540d"], "Name": "instance-name"}]}'
_EXAMPLE_HEADERS = {"content-type": "application/json; charset=utf-8", "host": "cvm.tencentcloudapi.com"}
_EXAMPLE_KEY = "Gu5t9xGARNpq86cd98joQYCN3*******"
_EXAMPLE_TIME = 1551113065


@pytest.fixture
def tencent() -> Iterator[TencentServer]:
    with TencentServer() as server:
        yield server


@pytest.fixture
def client(tencent: TencentServer) -> Client:
    return Client(tencent)


class TestSignature:
    def test_the_published_example(self) -> None:
        canonical = canonical_request("POST", "", _EXAMPLE_HEADERS, ("content-type", "host"), _EXAMPLE_BODY)
        assert sign(_EXAMPLE_KEY, _EXAMPLE_TIME, "cvm", canonical) == (
            "2230eefd229f582d8b1b891af7107b91597240707d778ab3738f756258d7652c"
        )

    def test_the_client_of_these_tests_gives_the_same(self) -> None:
        value = authorization("AKID", _EXAMPLE_KEY, "cvm", _EXAMPLE_TIME, _EXAMPLE_HEADERS, _EXAMPLE_BODY)
        assert value.endswith("Signature=2230eefd229f582d8b1b891af7107b91597240707d778ab3738f756258d7652c")

    @pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
    def test_a_good_one_gets_in(self, tencent: TencentServer, content_type: str) -> None:
        client = Client(tencent, content_type=content_type)
        assert client.cvm("DescribeInstances")["TotalCount"] == 0
        assert len(tencent.signatures()[0]) == 64

    def test_more_headers_may_be_signed(self, tencent: TencentServer, client: Client) -> None:
        headers = client.headers("cvm", "DescribeInstances", b"{}")
        signed = {name: headers[name] for name in ("Content-Type", "Host", "X-TC-Action")}
        stamp = int(headers["X-TC-Timestamp"])
        headers["Authorization"] = authorization(SECRET_ID, SECRET_KEY, "cvm", stamp, signed, b"{}")
        assert "Error" not in client.send(headers, b"{}").json()["Response"]

    @pytest.mark.parametrize(
        ("changed", "code"),
        [
            ({"Authorization": "TC3-HMAC-SHA256 Credential=x"}, "AuthFailure.InvalidAuthorization"),
            ({"Authorization": ""}, "AuthFailure.InvalidAuthorization"),
            ({"scope_date": "2019-02-25"}, "AuthFailure.SignatureFailure"),
            ({"Content_Type": "application/json; charset=utf-8"}, "AuthFailure.SignatureFailure"),
            ({"X_TC_Timestamp": "soon"}, "InvalidParameter"),
            ({"X_TC_Timestamp": ""}, "MissingParameter"),
            ({"X_TC_Action": ""}, "MissingParameter"),
            ({"X_TC_Version": ""}, "MissingParameter"),
            ({"X_TC_Version": "2018-03-12"}, "NoSuchVersion"),
            ({"X_TC_Action": "DescribeEverything"}, "InvalidAction"),
            ({"X_TC_Action": "describeInstances"}, "InvalidAction"),
            ({"X_TC_Region": ""}, "MissingParameter"),
            ({"X_TC_Region": "ap-atlantis"}, "UnsupportedRegion"),
            ({"X_TC_Token": "stolen"}, "AuthFailure.TokenFailure"),
            ({"service": "cvn"}, "NoSuchProduct"),
        ],
    )
    def test_a_bad_one_does_not(self, client: Client, changed: dict[str, str], code: str) -> None:
        assert client.refused(**changed) == code

    def test_a_signature_is_of_one_service_one_body_and_one_secret(self, tencent: TencentServer) -> None:
        client = Client(tencent)
        headers = client.headers("cvm", "DescribeInstances", b"{}")
        assert (
            client.send(headers, b'{"Limit":1}').json()["Response"]["Error"]["Code"] == "AuthFailure.SignatureFailure"
        )
        moved = {**headers, "Authorization": headers["Authorization"].replace("/cvm/", "/cbs/")}
        assert client.send(moved, b"{}").json()["Response"]["Error"]["Code"] == "AuthFailure.SignatureFailure"
        assert Client(tencent, secret="wrong").refused() == "AuthFailure.SignatureFailure"
        assert Client(tencent, key="AKIDnobody").refused() == "AuthFailure.SecretIdNotFound"

    @pytest.mark.parametrize(("minutes", "ok"), [(-6, False), (-4, True), (4, True), (6, False)])
    def test_the_window_is_five_minutes(self, client: Client, minutes: int, ok: bool) -> None:
        at = str(int((datetime.now(UTC) + timedelta(minutes=minutes)).timestamp()))
        told = client.raw("cvm", "DescribeInstances", {}, at=at)
        assert told.get("Error", {}).get("Code") == (None if ok else "AuthFailure.SignatureExpire")

    def test_a_gateway_that_is_ahead(self, tencent: TencentServer, client: Client) -> None:
        tencent.gate.skew = timedelta(hours=1)
        assert client.refused() == "AuthFailure.SignatureExpire"

    def test_only_posts_of_json(self, tencent: TencentServer) -> None:
        assert Client(tencent, content_type="text/plain").refused() == "InvalidParameter"
        with httpx.Client(trust_env=False, verify=False) as http:
            told = http.put(tencent.url, content=b"{}").json()["Response"]
        assert told["Error"]["Code"] == "UnsupportedProtocol"


class TestParameters:
    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ("{", "InvalidParameter"),
            ("[]", "InvalidParameter"),
            ('{"limit": 1}', "UnknownParameter"),
            ('{"Limit": "1"}', "InvalidParameter"),
            ('{"Limit": true}', "InvalidParameter"),
            ('{"Limit": null}', "InvalidParameter"),
            ('{"Limit": 101}', "InvalidParameterValue.LimitExceeded"),
            ('{"Limit": 0}', "InvalidParameterValue"),
            ('{"InstanceIds": "ins-00000001"}', "InvalidParameter"),
            ('{"InstanceIds": ["ins-1"]}', "InvalidInstanceId.Malformed"),
            ('{"Filters": [{"Name": "zone"}]}', "MissingParameter"),
            ('{"Filters": [{"Name": "zone", "Values": ["x"], "Value": "x"}]}', "UnknownParameter"),
            ('{"Filters": [{"Name": "colour", "Values": ["x"]}]}', "InvalidFilter"),
            (
                '{"Filters": [{"Name": "zone", "Values": ["1","2","3","4","5","6"]}]}',
                "InvalidFilterValue.LimitExceeded",
            ),
            ('{"Filters": [{"Name": "instance-charge-type", "Values": ["SPOTPAID"]}]}', "InvalidFilter"),
        ],
    )
    def test_what_is_not_declared_is_refused(self, client: Client, body: str, code: str) -> None:
        assert client.refused(body=body) == code

    def test_what_is_required(self, client: Client) -> None:
        assert client.error("cvm", "StopInstances") == "MissingParameter"
        assert client.error("cvm", "StopInstances", InstanceIds=[]) == "MissingParameter"
        assert client.error("cvm", "StopInstances", InstanceIds=["ins-00000001"], DryRun=True) == "UnknownParameter"


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "code"),
        [
            (Fault.THROTTLED, "RequestLimitExceeded"),
            (Fault.UNAUTHENTICATED, "AuthFailure.SecretIdNotFound"),
            (Fault.FORBIDDEN, "UnauthorizedOperation"),
            (Fault.SERVER_ERROR, "InternalServerError"),
        ],
    )
    def test_said_inside_200(self, tencent: TencentServer, client: Client, fault: Fault, code: str) -> None:
        tencent.fail(fault, times=1)
        assert client.error("cvm", "DescribeInstances") == code
        assert client.cvm("DescribeInstances")["InstanceSet"] == []

    def test_each_product_denies_in_its_own_way(self, tencent: TencentServer, client: Client) -> None:
        tencent.denied_actions = {"DescribeAccountBalance", "DescribeDisks", "GetResources"}
        assert client.error("billing", "DescribeAccountBalance") == "UnauthorizedOperation.CamNoAuth"
        assert client.error("cbs", "DescribeDisks") == "UnauthorizedOperation"
        assert client.error("tag", "GetResources") == "AuthFailure.UnauthorizedOperation"
        assert tencent.calls[0].code == "UnauthorizedOperation.CamNoAuth"

    def test_a_gateway_in_trouble(self, tencent: TencentServer, client: Client) -> None:
        tencent.server_status = 502
        tencent.fail(Fault.SERVER_ERROR)
        answer = client.send(client.headers("cvm", "DescribeInstances", b"{}"), b"{}")
        assert (answer.status_code, answer.headers["content-type"]) == (502, "text/html")

    def test_html_half_answers_and_silence(self, tencent: TencentServer, client: Client) -> None:
        """E09."""
        for fault in (Fault.HTML, Fault.TRUNCATED):
            tencent.fail(fault, times=1)
            with pytest.raises(json.JSONDecodeError):
                client.cvm("DescribeInstances")
        for fault in (Fault.RESET, Fault.LOST_ANSWER):
            tencent.fail(fault, times=1)
            with pytest.raises(httpx.TransportError):
                client.cvm("DescribeInstances")
        assert tencent.actions() == ["DescribeInstances", "DescribeInstances"]

    def test_a_charset_in_the_answer_and_answers_that_lack_their_sets(
        self, tencent: TencentServer, client: Client
    ) -> None:
        tencent.content_type = "application/json; charset=utf-8"
        answer = client.send(client.headers("cvm", "DescribeInstances", b"{}"), b"{}")
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        tencent.hollow = {"DescribeInstances"}
        assert set(client.cvm("DescribeInstances")) == {"RequestId"}
        tencent.hollow, tencent.nulls = set(), {"DescribeInstances"}
        assert client.cvm("DescribeInstances")["InstanceSet"] is None

    def test_a_denied_region_denies_nothing_else(self, tencent: TencentServer, client: Client) -> None:
        tencent.denied.add("ap-shanghai")
        assert Client(tencent, region="ap-shanghai").error("cvm", "DescribeInstances") == "UnauthorizedOperation"
        assert client.cvm("DescribeInstances")["TotalCount"] == 0
        assert len(client.cvm("DescribeRegions")["RegionSet"]) == 3

    def test_rates(self, tencent: TencentServer, client: Client) -> None:
        tencent.limits["DescribeInstances"] = (2, timedelta(seconds=1))
        client.cvm("DescribeInstances")
        client.cvm("DescribeInstances")
        assert client.error("cvm", "DescribeInstances") == "RequestLimitExceeded"
        assert Client(tencent, region="ap-shanghai").cvm("DescribeInstances")["TotalCount"] == 0
        tencent.clock.advance(timedelta(seconds=1))
        client.cvm("DescribeInstances")

    def test_any_code_can_be_said(self, tencent: TencentServer, client: Client) -> None:
        tencent.refusals["StopInstances"] = "UnauthorizedOperation.MFAExpired"
        id = tencent.cvm.add(HERE, "S5.LARGE8").id
        assert client.error("cvm", "StopInstances", InstanceIds=[id]) == "UnauthorizedOperation.MFAExpired"
        assert tencent.mutations() == [Mutation("stop", id)]

    def test_a_share_of_the_calls(self, tencent: TencentServer, client: Client) -> None:
        def codes() -> list[Any]:
            return [client.raw("cvm", "DescribeInstances", {}).get("Error", {}).get("Code") for _ in range(20)]

        tencent.flaky(Fault.THROTTLED, 0.3, seed=7, on=Calls.INVENTORY)
        first = codes()
        tencent.heal()
        tencent.flaky(Fault.THROTTLED, 0.3, seed=7, on=Calls.INVENTORY)
        assert codes() == first
        assert set(first) == {None, "RequestLimitExceeded"}
