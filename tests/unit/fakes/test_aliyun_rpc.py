"""The Alibaba Cloud server's wire: signatures, nonces, times, parameters, faults, and the SDK's own client."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from aliyunsdkcore.acs_exception.exceptions import ClientException, ServerException
from aliyunsdkcore.auth.credentials import StsTokenCredential
from aliyunsdkcore.client import AcsClient
from aliyunsdkcore.request import CommonRequest

from costguard.testing.cloud import Calls, Fault, Mutation
from tests.fakes.aliyun.rpc import unflatten
from tests.fakes.aliyun.server import ACCOUNT, KEY_ID, SECRET, AliyunServer
from tests.fakes.aliyun.signature import Session, sign, string_to_sign
from tests.unit.fakes.aliyun_client import HERE, Client, common, send, signed


@pytest.fixture
def aliyun() -> Iterator[AliyunServer]:
    with AliyunServer() as server:
        yield server


@pytest.fixture
def client(aliyun: AliyunServer) -> Client:
    return Client(aliyun)


class TestSignature:
    def test_the_published_vector(self) -> None:
        """The example in "Request signatures of RPC APIs" (keys testid and testsecret)."""
        pairs = [
            ("Timestamp", "2016-02-23T12:46:24Z"), ("Format", "XML"), ("AccessKeyId", "testid"),
            ("Action", "DescribeRegions"), ("SignatureMethod", "HMAC-SHA1"),
            ("SignatureNonce", "3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf"), ("Version", "2014-05-26"),
            ("SignatureVersion", "1.0"),
        ]  # fmt: skip
        assert sign(string_to_sign("GET", pairs), "testsecret") == "OLeaidS1JvxuMvnyHOwuJ+uX5qY="

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_query_and_form_are_signed_alike(self, aliyun: AliyunServer, method: str) -> None:
        status, body = send(aliyun, signed(common("DescribeRegions"), SECRET, method), method)
        assert (status, len(body["Regions"]["Region"])) == (200, 3)

    def test_a_signature_for_another_method_is_none(self, aliyun: AliyunServer) -> None:
        status, body = send(aliyun, signed(common("DescribeRegions"), SECRET, "POST"), "GET")
        assert (status, body["Code"]) == (400, "SignatureDoesNotMatch")

    def test_hard_characters_are_encoded_as_the_standard_says(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, "ecs.g7.xlarge")
        value = "张伟 *~+/=&%é"
        client.ecs("TagResources", ResourceType="instance", ResourceId=[box.id], Tag=[{"Key": "k *~", "Value": value}])
        assert box.tags == {"k *~": value}

    def test_the_message_of_a_wrong_signature_holds_the_key_id(self, aliyun: AliyunServer) -> None:
        """What an adapter must not log."""
        _, body = send(aliyun, signed(common("DescribeRegions"), "wrong"))
        assert body["Code"] == "SignatureDoesNotMatch"
        assert KEY_ID in body["Message"]

    def test_a_nonce_is_used_once(self, aliyun: AliyunServer) -> None:
        request = signed(common("DescribeRegions"), SECRET)
        assert [send(aliyun, request)[0] for _ in range(2)] == [200, 400]
        assert send(aliyun, request)[1]["Code"] == "SignatureNonceUsed"

    @pytest.mark.parametrize(
        ("change", "code", "status"),
        [
            ({"AccessKeyId": "LTAIOTHER"}, "InvalidAccessKeyId.NotFound", 404),
            ({"AccessKeyId": ""}, "MissingAccessKeyId", 400),
            ({"SignatureNonce": ""}, "IncompleteSignature", 400),
            ({"SignatureMethod": "HMAC-SHA256"}, "InvalidSignatureMethod", 400),
            ({"Timestamp": "2026-03-05 12:00:00"}, "InvalidTimeStamp.Format", 400),
            ({"Timestamp": "2020-01-01T00:00:00Z"}, "InvalidTimeStamp.Expired", 400),
            ({"SecurityToken": "none-was-given"}, "InvalidSecurityToken.MismatchWithAccessKey", 400),
            ({"Action": ""}, "MissingAction", 400),
            ({"Action": "DescribeEverything"}, "InvalidAction.NotFound", 404),
            ({"Action": "add"}, "InvalidAction.NotFound", 404),
            ({"Version": "2014-05-27"}, "InvalidVersion", 400),
            ({"RegionId": "us-east-99", "Action": "DescribeInstances"}, "InvalidRegionId.NotFound", 404),
            ({"RegionId": "", "Action": "DescribeInstances"}, "MissingRegionId", 400),
        ],
    )
    def test_what_the_gateway_refuses(
        self, aliyun: AliyunServer, change: dict[str, str], code: str, status: int
    ) -> None:
        found, body = send(aliyun, signed({**common("DescribeRegions"), **change}, SECRET))
        assert (body["Code"], found) == (code, status)
        assert aliyun.calls == []

    def test_a_clock_a_quarter_of_an_hour_off_is_refused(self, aliyun: AliyunServer, client: Client) -> None:
        for skew, status in ((14, 200), (16, 400), (-16, 400)):
            aliyun.gate.skew = timedelta(minutes=skew)
            assert client.raw("Ecs", "DescribeRegions")[0] == status

    def test_a_disabled_key(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.gate.sessions[KEY_ID] = Session(SECRET, active=False)
        assert client.error("Ecs", "DescribeRegions") == ("InvalidAccessKeyId.Inactive", 400)

    def test_a_temporary_key_needs_its_token_and_ends(self, aliyun: AliyunServer, client: Client) -> None:
        """E10."""
        role = f"acs:ram::{ACCOUNT}:role/costguard"
        keys = client.call("Sts", "AssumeRole", RoleArn=role, RoleSessionName="cg", DurationSeconds=900)["Credentials"]
        bare = Client(aliyun, keys["AccessKeySecret"], keys["AccessKeyId"])
        assert bare.error("Sts", "GetCallerIdentity") == ("MissingSecurityToken", 400)
        whole = Client(aliyun, keys["AccessKeySecret"], keys["AccessKeyId"], SecurityToken=keys["SecurityToken"])
        told = whole.call("Sts", "GetCallerIdentity")
        assert (told["AccountId"], told["IdentityType"]) == (ACCOUNT, "AssumedRoleUser")
        aliyun.clock.advance(timedelta(minutes=15))
        assert whole.error("Sts", "GetCallerIdentity") == ("InvalidSecurityToken.Expired", 400)

    def test_an_unknown_role(self, client: Client) -> None:
        assert client.error("Sts", "AssumeRole", RoleArn="acs:ram::1:role/x", RoleSessionName="cg") == (
            "EntityNotExist.Role",
            404,
        )


class TestParameters:
    @pytest.mark.parametrize(
        ("action", "params", "code"),
        [
            ("DescribeInstances", {"Color": "blue"}, "UnsupportedParameter"),
            ("DescribeInstances", {"MaxResults": "many"}, "InvalidParameter"),
            ("DescribeInstances", {"InstanceIds": "i-1"}, "InvalidParameter"),
            ("DescribeInstances", {"InstanceIds": '"i-1"'}, "InvalidInstanceIds.Malformed"),
            ("DescribeInstances", {"InstanceIds": json.dumps(["i-1"] * 101)}, "InvalidInstanceIds.Malformed"),
            ("DescribeInstances", {"PageSize": 101}, "InvalidParameter"),
            ("DescribeInstances", {"Status": "Sleeping"}, "InvalidStatus.NotFound"),
            ("DescribeInstances", {"InstanceChargeType": "Free"}, "InvalidInstanceChargeType.NotFound"),
            ("DescribeInstances", {"NextToken": "made-up"}, "InvalidParameter"),
            ("StopInstance", {}, "MissingInstanceId"),
            ("StopInstance", {"InstanceId": "i-1", "DryRun": "perhaps"}, "InvalidParameter"),
            ("StopInstances", {"InstanceId.2": "i-1"}, "InvalidParameter"),
            ("StopInstances", {"InstanceId": "i-1"}, "InvalidParameter"),
            ("RunCommand", {"Type": "RunShellScript", "InstanceId": ["i-1"]}, "MissingCommandContent"),
        ],
    )
    def test_wrong_ones_are_refused(self, client: Client, action: str, params: dict[str, Any], code: str) -> None:
        assert client.error("Ecs", action, **params)[0] == code

    def test_lists_and_objects(self) -> None:
        flat = {"Tag.1.Key": "a", "Tag.1.Value": "b", "Tag.2.Key": "c", "Disk.Size": "40", "Id.1": "x", "Name": "n"}
        assert unflatten(flat) == {
            "Tag": [{"Key": "a", "Value": "b"}, {"Key": "c"}],
            "Disk": {"Size": "40"},
            "Id": ["x"],
            "Name": "n",
        }

    def test_without_a_format_the_answer_is_xml(self, aliyun: AliyunServer) -> None:
        for action, status, part in (
            ("DescribeRegions", 200, "<RegionId>cn-beijing</RegionId>"),
            ("Nothing", 404, "<Code>InvalidAction.NotFound</Code>"),
        ):
            params = {name: value for name, value in common(action).items() if name != "Format"}
            with httpx.Client(trust_env=False, verify=False) as http:
                answer = http.get(aliyun.url, params=signed(params, SECRET))
            assert (answer.status_code, answer.headers["content-type"]) == (status, "text/xml;charset=utf-8")
            assert part in answer.text


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "product", "action", "code", "status"),
        [
            (Fault.THROTTLED, "Ecs", "DescribeRegions", "Throttling", 400),
            (Fault.THROTTLED, "Cms", "DescribeMetricMetaList", "Throttling.User", 400),
            (Fault.THROTTLED, "Bss", "QueryAccountBalance", "Throttling.Api", 400),
            (Fault.UNAUTHENTICATED, "Sts", "GetCallerIdentity", "InvalidAccessKeyId.NotFound", 404),
            (Fault.SERVER_ERROR, "Ecs", "DescribeRegions", "ServiceUnavailable", 503),
            (Fault.SERVER_ERROR, "Cms", "DescribeMetricMetaList", "InternalError", 500),
            (Fault.FORBIDDEN, "Ecs", "DescribeRegions", "Forbidden.RAM", 403),
            (Fault.FORBIDDEN, "Vpc", "DescribeEipAddresses", "Forbidden.RAM", 403),
            (Fault.FORBIDDEN, "Cms", "DescribeMetricMetaList", "403", 200),
            (Fault.FORBIDDEN, "Bss", "QueryAccountBalance", "NotAuthorized", 400),
            (Fault.FORBIDDEN, "Sts", "GetCallerIdentity", "NoPermission", 403),
        ],
    )
    def test_each_product_says_it_its_own_way(
        self, aliyun: AliyunServer, client: Client, fault: Fault, product: str, action: str, code: str, status: int
    ) -> None:
        aliyun.fail(fault, times=1)
        assert client.error(product, action) == (code, status)
        assert client.raw(product, action)[0] == 200

    def test_a_denied_region_denies_nothing_else(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.denied.add("cn-hangzhou")
        assert client.error("Ecs", "DescribeInstances", RegionId="cn-hangzhou") == ("Forbidden.RAM", 403)
        assert client.error("Cms", "DescribeMetricMetaList", RegionId="cn-hangzhou") == ("403", 200)
        assert client.raw("Ecs", "DescribeInstances")[0] == 200
        assert client.raw("Bss", "QueryAccountBalance", RegionId="cn-hangzhou")[0] == 200

    def test_a_denied_action(self, aliyun: AliyunServer, client: Client) -> None:
        """C32: a dry run proves the permission before all else."""
        box = aliyun.ecs.add(HERE, "ecs.g7.xlarge")
        aliyun.denied_actions.add("StopInstance")
        status, body = client.raw("Ecs", "StopInstance", InstanceId=box.id, DryRun=True)
        assert (status, body["Code"], body["AccessDeniedDetail"]["AuthAction"]) == (
            403, "Forbidden.RAM", "ecs:StopInstance",
        )  # fmt: skip

    def test_throttled_until_the_next_minute(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.limits["DescribeInstances"] = (2, timedelta(minutes=1))
        found = [client.raw("Ecs", "DescribeInstances")[0] for _ in range(3)]
        elsewhere = client.raw("Ecs", "DescribeInstances", RegionId="cn-hangzhou")[0]
        aliyun.clock.advance(timedelta(seconds=59))
        late = client.raw("Ecs", "DescribeInstances")[0]
        aliyun.clock.advance(timedelta(seconds=1))
        assert (found, elsewhere, late) == ([200, 200, 400], 200, 400)
        assert client.raw("Ecs", "DescribeInstances")[0] == 200

    def test_lost_answers_and_resets(self, aliyun: AliyunServer, client: Client) -> None:
        """C11: the work is done in the one case and not in the other."""
        boxes = [aliyun.ecs.add(HERE, "ecs.g7.xlarge") for _ in range(2)]
        for fault, box in zip((Fault.LOST_ANSWER, Fault.RESET), boxes, strict=True):
            aliyun.fail(fault, on=aliyun.on(Calls.MUTATION), times=1)
            with pytest.raises(httpx.TransportError):
                client.ecs("StopInstance", InstanceId=box.id)
        assert [box.state for box in boxes] == ["Stopping", "Running"]
        assert aliyun.mutations() == [Mutation("stop", box.id) for box in boxes]

    def test_yes_and_nothing(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, "ecs.g7.xlarge")
        aliyun.say_yes.add("StopInstance")
        assert client.ecs("StopInstance", InstanceId=box.id)["RequestId"]
        assert box.state == "Running"

    def test_a_page_of_a_proxy_and_half_an_answer(self, aliyun: AliyunServer, client: Client) -> None:
        for fault in (Fault.HTML, Fault.TRUNCATED):
            aliyun.fail(fault, times=1)
            with pytest.raises(json.JSONDecodeError):
                client.ecs("DescribeRegions")

    def test_slow_answers(self, aliyun: AliyunServer) -> None:
        aliyun.slow_s = 0.4
        with httpx.Client(trust_env=False, verify=False, timeout=0.1) as http, pytest.raises(httpx.ReadTimeout):
            http.get(aliyun.url, params=signed(common("DescribeRegions"), SECRET))

    def test_a_share_of_the_calls_fails_the_same_each_time(self) -> None:
        patterns = []
        for _ in range(2):
            with AliyunServer() as server:
                server.flaky(Fault.THROTTLED, 0.3, seed=7, on=Calls.INVENTORY)
                patterns.append([Client(server).raw("Ecs", "DescribeInstances")[0] for _ in range(40)])
                assert all(Client(server).raw("Ecs", "DescribeRegions")[0] == 200 for _ in range(5))
        assert patterns[0] == patterns[1]
        assert 4 <= patterns[0].count(400) <= 20

    def test_every_call_is_recorded(self, aliyun: AliyunServer, client: Client) -> None:
        client.ecs("DescribeInstances", MaxResults=50)
        client.error("Ecs", "DescribeInstances", Color="blue")
        (call,) = aliyun.calls
        assert (call.product, call.region, call.action, call.params) == (
            "Ecs", HERE, "DescribeInstances", {"MaxResults": 50},
        )  # fmt: skip
        assert aliyun.actions() == ["DescribeInstances"]
        assert len(set(aliyun.signatures())) == aliyun.request_count() == 2

    def test_dry_runs_are_no_mutations(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, "ecs.g7.xlarge")
        client.error("Ecs", "StopInstance", InstanceId=box.id, DryRun=True)
        assert aliyun.mutations() == []
        client.ecs("RunCommand", Type="RunShellScript", CommandContent="true", InstanceId=[box.id], ClientToken="t-1")
        client.ecs("StopInstances", InstanceId=[box.id])
        assert aliyun.mutations() == [Mutation("run_command", box.id, "t-1"), Mutation("stop", box.id)]


class TestTheSdk:
    """aliyun-python-sdk-core as its users use it."""

    def request(self, aliyun: AliyunServer, action: str, product: str = "Ecs", **params: Any) -> CommonRequest:
        version = {"Ecs": "2014-05-26", "Sts": "2015-04-01"}[product]
        request = CommonRequest(
            domain=aliyun.url.removeprefix("http://"), version=version, action_name=action, product=product
        )
        request.set_protocol_type("http")
        for name, value in params.items():
            request.add_query_param(name, value)
        return request

    def test_it_gets_through(self, aliyun: AliyunServer) -> None:
        acs = AcsClient(KEY_ID, SECRET, HERE, auto_retry=False)
        box = aliyun.ecs.add(HERE, "ecs.g7.xlarge", name="张伟 *~")
        for method in ("GET", "POST"):
            request = self.request(aliyun, "DescribeInstances", InstanceName="张伟 *~", MaxResults=10)
            request.set_method(method)
            told = json.loads(acs.do_action_with_exception(request))
            assert [i["InstanceId"] for i in told["Instances"]["Instance"]] == [box.id]

    def test_its_truth_values_are_understood(self, aliyun: AliyunServer) -> None:
        acs = AcsClient(KEY_ID, SECRET, HERE, auto_retry=False)
        box = aliyun.ecs.add(HERE, "ecs.g7.xlarge")
        with pytest.raises(ServerException) as caught:
            acs.do_action_with_exception(self.request(aliyun, "StopInstance", InstanceId=box.id, DryRun=True))
        assert (caught.value.get_error_code(), caught.value.get_http_status()) == ("DryRunOperation", 400)

    def test_tokens_and_refusals(self, aliyun: AliyunServer, client: Client) -> None:
        role = f"acs:ram::{ACCOUNT}:role/costguard"
        keys = client.call("Sts", "AssumeRole", RoleArn=role, RoleSessionName="cg")["Credentials"]
        credential = StsTokenCredential(keys["AccessKeyId"], keys["AccessKeySecret"], keys["SecurityToken"])
        acs = AcsClient(region_id=HERE, credential=credential, auto_retry=False)
        told = json.loads(acs.do_action_with_exception(self.request(aliyun, "GetCallerIdentity", "Sts")))
        assert told["AccountId"] == ACCOUNT
        with pytest.raises(ServerException) as caught:
            AcsClient(KEY_ID, "wrong", HERE, auto_retry=False).do_action_with_exception(
                self.request(aliyun, "DescribeRegions")
            )
        assert caught.value.get_error_code() == "SignatureDoesNotMatch"

    def test_a_reset_is_its_http_error(self, aliyun: AliyunServer) -> None:
        aliyun.fail(Fault.RESET)
        with pytest.raises(ClientException) as caught:
            AcsClient(KEY_ID, SECRET, HERE, auto_retry=False).do_action_with_exception(
                self.request(aliyun, "DescribeRegions")
            )
        assert caught.value.get_error_code() == "SDK.HttpError"
