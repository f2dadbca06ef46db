"""Sessions: given keys, and a role on top whose session is refreshed before it ends."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from botocore.utils import parse_timestamp
from pydantic import SecretStr

from costguard.errors import AuthFailed, PermissionDenied
from costguard.net.clock import SystemClock
from costguard.testing.clock import FakeClock
from costguard_aws.client import Api
from costguard_aws.credentials import AwsCredentials
from costguard_aws.sessions import make_session, moment
from tests.fakes.aws import signature
from tests.fakes.aws.codec import decode
from tests.fakes.aws.server import KEY_ID, SECRET, AwsServer
from tests.unit.aws.helpers import HOME, spec

ROLE = "arn:aws:iam::123456789012:role/costguard"


@pytest.fixture
def server() -> Iterator[AwsServer]:
    """The SDK judges the end of a session by the machine's clock, so this account's clock shows the same time."""
    with AwsServer(FakeClock(SystemClock().now())) as server:
        yield server


def role(server: AwsServer, external_id: str | None = None) -> Api:
    given = AwsCredentials(
        access_key_id=KEY_ID, secret_access_key=SecretStr(SECRET), role_arn=ROLE, external_id=external_id
    )
    return Api(spec(server, credentials=given), server.clock)


def keys(server: AwsServer) -> list[str]:
    return [signature.scope(request)[0] for request in server.requests]


def test_given_keys_are_used() -> None:
    given = AwsCredentials(access_key_id="AK", secret_access_key=SecretStr("s"), session_token=SecretStr("t"))
    found = make_session(given).get_credentials()
    assert found is not None
    assert (found.access_key, found.secret_key, found.token) == ("AK", "s", "t")


def test_a_role_is_assumed_once_with_the_external_id(server: AwsServer) -> None:
    server.external_id = "ext-1"
    api = role(server, "ext-1")
    for _ in range(3):
        api.read("ec2", HOME, "DescribeRegions")
    assert server.operations() == ["AssumeRole", *["DescribeRegions"] * 3]
    assert keys(server) == [KEY_ID, *["ASIAEXAMPLE00001"] * 3]
    assert server.calls[0].params["ExternalId"] == "ext-1"


def test_a_short_session_is_refreshed_before_each_call(server: AwsServer) -> None:
    """E10: two minutes are less than the SDK's margin, so no call ever goes out with a session about to end."""
    server.session_length = timedelta(minutes=2)
    api = role(server)
    for _ in range(3):
        api.read("ec2", HOME, "DescribeRegions")
    used = [key for key in keys(server) if key != KEY_ID]
    assert len(set(used)) == 3


def test_accounts_keep_their_roles_apart(server: AwsServer) -> None:
    """Two accounts behind the same keys, asked by many threads at once: each call has its own role's signature."""
    roles = {name: f"arn:aws:iam::{id}:role/costguard" for name, id in (("a", "111111111111"), ("b", "222222222222"))}
    operations = {"a": "DescribeRegions", "b": "DescribeVolumes"}
    given = {
        name: AwsCredentials(access_key_id=KEY_ID, secret_access_key=SecretStr(SECRET), role_arn=role)
        for name, role in roles.items()
    }
    apis = {name: Api(spec(server, credentials=keys), server.clock) for name, keys in given.items()}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: apis[name].read("ec2", HOME, operations[name]), ["a", "b"] * 20))
    assumed = [call.params["RoleArn"] for call in server.calls if call.operation == "AssumeRole"]
    assert sorted(assumed) == sorted(roles.values()), "each role once, however many threads ask"
    used: dict[str, set[str]] = {}
    for request in server.requests:
        used.setdefault(decode(signature.scope(request)[2], request)[0], set()).add(signature.scope(request)[0])
    of_a, of_b = used["DescribeRegions"], used["DescribeVolumes"]
    assert (len(of_a), len(of_b)) == (1, 1)
    assert KEY_ID not in of_a | of_b
    assert not of_a & of_b


def test_a_wrong_external_id_is_a_missing_permission(server: AwsServer) -> None:
    server.external_id = "ext-1"
    with pytest.raises(PermissionDenied) as caught:
        role(server, "ext-2").read("ec2", HOME, "DescribeRegions")
    assert caught.value.missing == "sts:AssumeRole"


def test_a_session_that_is_over_before_it_begins_is_a_clock(server: AwsServer) -> None:
    server.session_length = timedelta(minutes=-5)
    with pytest.raises(AuthFailed, match="clock"):
        role(server).read("ec2", HOME, "DescribeRegions")


@pytest.mark.parametrize(
    "value",
    [
        1_764_604_800, 1_764_604_800.25, 1e11, "1764604800", "20261201", "2026-12-01T16:00:00Z",
        "2026-12-01T16:00:00.123Z", "2026-12-01T16:00:00+08:00", "Tue, 01 Dec 2026 16:00:00 GMT",
        "2026-12-01 16:00:00Z",
    ],
)  # fmt: skip
def test_a_time_is_read_as_the_sdk_reads_it(value: str | float) -> None:
    assert moment(value) == parse_timestamp(value)
    assert moment(value).utcoffset() is not None
    assert moment("2026-12-01T16:00:00Z").utcoffset() == timedelta(0)


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid timestamp"):
        moment("2026-13-01T16:00:00Z")
