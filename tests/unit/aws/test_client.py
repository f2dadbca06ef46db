"""Calls: retries within the deadline, pages, endpoints, proxies, logs."""

import json
import logging
import threading
import time
from datetime import timedelta

import pytest
from botocore.session import Session

from costguard.errors import AuthFailed, BadResponse, NotFound, PermissionDenied, Throttled, TimedOut, Unavailable
from costguard.ports import AccountSpec
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Calls, Fault
from costguard_aws.client import ATTEMPTS, Api
from costguard_aws.credentials import AwsCredentials
from tests.fakes.aws.server import AwsServer
from tests.fakes.server import Answer
from tests.unit.aws.helpers import HOME, ref, spec


@pytest.fixture
def api(server: AwsServer) -> Api:
    return Api(spec(server), server.clock)


def test_a_throttled_read_is_repeated_until_it_works(api: Api, server: AwsServer) -> None:
    """M16: with pauses that grow, and that the Clock waits for."""
    server.fail(Fault.THROTTLED, times=3)
    assert api.read("ec2", HOME, "DescribeRegions")["Regions"]
    assert len(server.clock.slept) == 3
    for slept, longest in zip(server.clock.slept, (0.5, 1.0, 2.0), strict=True):
        assert longest / 2 <= slept <= longest


@pytest.mark.parametrize(
    ("fault", "kind"), [(Fault.THROTTLED, Throttled), (Fault.SERVER_ERROR, Unavailable), (Fault.RESET, Unavailable)]
)
def test_a_read_gives_up_after_its_attempts(api: Api, server: AwsServer, fault: Fault, kind: type[Exception]) -> None:
    server.fail(fault)
    with pytest.raises(kind):
        api.read("ec2", HOME, "DescribeRegions")
    assert server.request_count() <= ATTEMPTS
    assert server.request_count() > 1


@pytest.mark.parametrize("fault", [Fault.UNAUTHENTICATED, Fault.FORBIDDEN, Fault.HTML, Fault.TRUNCATED])
def test_what_another_attempt_cannot_change_is_asked_once(api: Api, server: AwsServer, fault: Fault) -> None:
    server.fail(fault)
    with pytest.raises((AuthFailed, PermissionDenied, BadResponse)):
        list(api.pages("ec2", HOME, "DescribeInstances", "Reservations", MaxResults=1_000))
    assert server.request_count() == 1


def test_a_mutation_is_sent_once_whatever_happens(api: Api, server: AwsServer) -> None:
    box = server.ec2.add(HOME, "c6i.xlarge")
    for fault in (Fault.THROTTLED, Fault.SERVER_ERROR, Fault.RESET, Fault.LOST_ANSWER):
        before = len(server.mutations())
        server.fail(fault, on=server.on(Calls.MUTATION), times=1)
        with pytest.raises((Throttled, Unavailable, TimedOut)):
            api.mutate("ec2", HOME, "StopInstances", "t", InstanceIds=[box.id])
        assert len(server.mutations()) == before + 1
    assert server.clock.slept == []


def test_retries_end_with_the_deadline(server: AwsServer) -> None:
    """The pauses of the Clock count as much as real time does."""
    api = Api(spec(server, deadline=timedelta(seconds=1)), server.clock)
    server.fail(Fault.THROTTLED)
    with pytest.raises(Throttled):
        api.read("ec2", HOME, "DescribeRegions")
    assert sum(server.clock.slept) < 1


def test_a_server_that_is_silent_costs_one_deadline(server: AwsServer) -> None:
    api = Api(spec(server, deadline=timedelta(seconds=1)), server.clock)
    server.fail(Fault.SILENT)
    begun = time.monotonic()
    with pytest.raises(TimedOut):
        api.read("ec2", HOME, "DescribeRegions")
    assert time.monotonic() - begun < 3


def test_pages_end_with_a_repeated_token(api: Api, server: AwsServer) -> None:
    """E09."""
    server.fail(Fault.REPEATED_TOKEN)
    for _ in range(300):
        server.ec2.add(HOME, "c6i.xlarge")
    with pytest.raises(BadResponse) as caught:
        list(api.pages("ec2", HOME, "DescribeInstances", "Reservations", MaxResults=1_000))
    assert caught.value.where == "NextToken"
    assert server.operations().count("DescribeInstances") == 2


def test_pages_end_with_the_cap(api: Api, server: AwsServer) -> None:
    server.costs.endless = True
    with pytest.raises(BadResponse, match="more than 3 pages"):
        list(
            api.pages(
                "ce", HOME, "GetCostAndUsage", "ResultsByTime", next_key="NextPageToken", cap=3,
                TimePeriod={"Start": "2026-01-01", "End": "2026-03-01"}, Granularity="DAILY",
                Metrics=["UnblendedCost"],
                GroupBy=[{"Type": "DIMENSION", "Key": "SERVICE"}, {"Type": "DIMENSION", "Key": "RECORD_TYPE"}],
            )
        )  # fmt: skip
    assert server.request_count() == 3


@pytest.mark.parametrize(
    "body",
    [
        b"<DescribeInstancesResponse><requestId>1</requestId></DescribeInstancesResponse>",
        b"<?xml version='1.0'?><html><body/></html>",
        b"",
        b"{}",
    ],
)
def test_an_answer_without_its_list_is_no_empty_list(api: Api, server: AwsServer, body: bytes) -> None:
    server.answer_next(Answer(200, body, {"Content-Type": "text/xml"}))
    with pytest.raises(BadResponse):
        list(api.pages("ec2", HOME, "DescribeInstances", "Reservations", MaxResults=1_000))


def test_one_client_per_service_and_region(api: Api, server: AwsServer) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(api.client("ec2", HOME))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(client) for client in found}) == 1
    assert api.client("ec2", "us-west-2") is not found[0]
    assert api.endpoints() == {f"ec2.{HOME}": server.url, "ec2.us-west-2": server.url}


def test_every_client_logs_where_it_goes(
    server: AwsServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stray AWS_ENDPOINT_URL redirects a daemon: it is seen at the start."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", "http://127.0.0.1:9")
    caplog.set_level(logging.INFO, "costguard_aws")
    Api(spec(server, endpoint=None), server.clock).client("ec2", HOME)
    Api(spec(server, endpoint=None), server.clock).client("cloudwatch", HOME)
    assert [(r.levelname, r.getMessage().partition(" is ")[2]) for r in caplog.records] == [
        ("WARNING", "http://127.0.0.1:9, not AWS: AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_* or the profile's endpoint_url"),
        ("INFO", "https://monitoring.us-east-1.amazonaws.com"),
    ]


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-iso-b", "aws-iso-e", "aws-iso-f"])
def test_the_hosts_of_every_partition_are_awss_own(partition: str, caplog: pytest.LogCaptureFixture) -> None:
    regions = Session().get_available_regions("ec2", partition)
    assert regions
    for region in regions[:3]:
        Api(AccountSpec("prod", regions=(region,)), FakeClock()).client("ec2", region)
    assert not caplog.records


def test_an_endpoint_that_the_account_names_is_no_surprise(server: AwsServer, caplog: pytest.LogCaptureFixture) -> None:
    Api(spec(server), server.clock).client("ec2", HOME)
    assert not caplog.records


def test_a_loopback_endpoint_never_goes_through_the_environments_proxy(
    server: AwsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert Api(spec(server), server.clock).read("ec2", HOME, "DescribeRegions")["Regions"]


def test_the_accounts_own_proxy_is_used(server: AwsServer) -> None:
    """The server stands in for the proxy: it sees the absolute URL."""
    api = Api(spec(server, endpoint="http://aws.invalid", proxy=server.url), server.clock)
    server.answer_next(Answer(200, b"<DescribeRegionsResponse><regionInfo/></DescribeRegionsResponse>"))
    api.read("ec2", HOME, "DescribeRegions")
    assert server.requests[0].target == "http://aws.invalid/"


@pytest.mark.parametrize(
    ("fields", "home", "partition", "currency"),
    [
        ({}, "us-east-1", "aws", "USD"),
        ({"regions": ("eu-central-1",)}, "eu-central-1", "aws", "USD"),
        ({"regions": ("cn-north-1",)}, "cn-north-1", "aws-cn", "CNY"),
        ({"credentials": AwsCredentials(region="cn-northwest-1")}, "cn-northwest-1", "aws-cn", "CNY"),
        (
            {"credentials": AwsCredentials(role_arn="arn:aws-cn:iam::123456789012:role/x")},
            "cn-north-1", "aws-cn", "CNY",
        ),
        ({"regions": (" beijing", "us-east-99", "eu-west-1")}, "eu-west-1", "aws", "USD"),
        ({"currency": "EUR"}, "us-east-1", "aws", "EUR"),
    ],
)  # fmt: skip
def test_the_home_region_names_the_partition(
    fields: dict[str, object], home: str, partition: str, currency: str
) -> None:
    api = Api(AccountSpec("prod", **fields), FakeClock())  # type: ignore[arg-type]
    assert (api.home_region, api.partition, api.currency) == (home, partition, currency)


def test_china_has_its_own_hosts() -> None:
    api = Api(AccountSpec("cn", regions=("cn-north-1",)), FakeClock())
    assert api.client("ec2", "cn-north-1").meta.endpoint_url == "https://ec2.cn-north-1.amazonaws.com.cn"


def test_a_profile_that_does_not_exist_is_our_error() -> None:
    """K05."""
    with pytest.raises(AuthFailed):
        Api(AccountSpec("prod", credentials=AwsCredentials(profile="nobody")), FakeClock())


def test_without_credentials_nothing_is_sent(server: AwsServer) -> None:
    """K05."""
    api = Api(AccountSpec("prod", endpoint=server.url), server.clock)
    with pytest.raises(AuthFailed):
        api.read("ec2", HOME, "DescribeRegions")
    assert server.request_count() == 0


def test_the_sdks_debug_log_is_kept_shut(api: Api, server: AwsServer, caplog: pytest.LogCaptureFixture) -> None:
    """K04: it would hold signed headers."""
    caplog.set_level(logging.DEBUG)
    logging.getLogger("botocore").setLevel(logging.DEBUG)
    api.read("ec2", HOME, "DescribeRegions")
    assert not [record for record in caplog.records if record.name.startswith(("botocore", "urllib3"))]


def test_the_token_is_logged_and_not_sent(api: Api, server: AwsServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "costguard_aws")
    box = server.ec2.add(HOME, "c6i.xlarge")
    api.mutate("ec2", HOME, "StopInstances", "token-77", InstanceIds=[box.id])
    assert "token-77" in caplog.text
    assert b"token-77" not in server.requests[-1].body


def test_a_closed_connection_makes_new_clients(api: Api, server: AwsServer) -> None:
    api.read("ec2", HOME, "DescribeRegions")
    api.close()
    assert api.endpoints() == {}
    assert api.read("ec2", HOME, "DescribeRegions")


def test_an_unknown_instance_is_not_found(api: Api) -> None:
    with pytest.raises(NotFound):
        api.read("ec2", HOME, "DescribeInstances", InstanceIds=[ref("i-0123456789abcdef0").id])


def test_json_services_speak_their_own_errors(api: Api, server: AwsServer) -> None:
    body = json.dumps({"__type": "com.amazon.coral#ThrottlingException", "message": "x"}).encode()
    for _ in range(ATTEMPTS):
        server.answer_next(Answer(400, body, {"Content-Type": "application/x-amz-json-1.1"}))
    with pytest.raises(Throttled):
        api.read("service-quotas", HOME, "GetServiceQuota", ServiceCode="ec2", QuotaCode="L-1")
