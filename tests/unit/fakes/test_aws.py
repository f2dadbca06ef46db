"""The AWS server judged by AWS's own SDK: what moto gets wrong is right here."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from costguard.testing.cloud import Calls, Fault
from tests.fakes.aws.box import Box
from tests.fakes.aws.server import AwsServer
from tests.unit.fakes.aws_client import HERE, client, error_of


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    with AwsServer() as server:
        yield server


@pytest.fixture
def ec2(aws: AwsServer) -> Any:
    return client(aws, "ec2")


def state_of(ec2: Any, box: Box) -> str:
    found = ec2.describe_instances(InstanceIds=[box.id])["Reservations"][0]["Instances"][0]
    return str(found["State"]["Name"])


class TestSignature:
    def test_the_right_key_is_known(self, aws: AwsServer) -> None:
        assert client(aws, "sts").get_caller_identity()["Account"] == "123456789012"

    def test_another_secret_and_another_key_are_refused(self, aws: AwsServer) -> None:
        assert error_of(client(aws, "sts", secret="other").get_caller_identity)[0] == "SignatureDoesNotMatch"
        assert error_of(client(aws, "sts", key="AKIAOTHER").get_caller_identity)[0] == "InvalidClientTokenId"

    @pytest.mark.parametrize("service", ["ec2", "cloudwatch", "autoscaling", "ce", "ssm"])
    def test_every_protocol_is_signed(self, aws: AwsServer, service: str) -> None:
        calls = {
            "ec2": ("describe_regions", {}),
            "cloudwatch": ("list_metrics", {}),
            "autoscaling": ("describe_auto_scaling_instances", {}),
            "ssm": ("describe_instance_information", {}),
            "ce": (
                "get_cost_and_usage",
                {
                    "TimePeriod": {"Start": "2026-03-01", "End": "2026-03-02"},
                    "Granularity": "DAILY",
                    "Metrics": ["UnblendedCost"],
                    "GroupBy": [
                        {"Type": "DIMENSION", "Key": "SERVICE"},
                        {"Type": "DIMENSION", "Key": "RECORD_TYPE"},
                    ],
                },
            ),
        }
        name, arguments = calls[service]
        getattr(client(aws, service), name)(**arguments)
        with pytest.raises(ClientError):
            getattr(client(aws, service, secret="other"), name)(**arguments)


class TestPages:
    @pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 30])
    def test_the_sdks_paginator_finds_all_of_them(self, aws: AwsServer, ec2: Any, count: int) -> None:
        """G01: moto ignores MaxResults."""
        made = [aws.ec2.add(HERE, "c6i.xlarge").id for _ in range(count)]
        pages = list(ec2.get_paginator("describe_instances").paginate(MaxResults=10))
        found = [i["InstanceId"] for page in pages for r in page["Reservations"] for i in r["Instances"]]
        assert found == made
        assert len(pages) == max(1, -(-count // 10))

    @pytest.mark.parametrize("size", [4, 1_001])
    def test_the_page_size_has_limits(self, ec2: Any, size: int) -> None:
        assert error_of(ec2.describe_instances, MaxResults=size)[0] == "InvalidParameterValue"

    def test_ids_and_pages_do_not_go_together(self, aws: AwsServer, ec2: Any) -> None:
        box = aws.ec2.add(HERE, "c6i.xlarge")
        code, _ = error_of(ec2.describe_instances, InstanceIds=[box.id], MaxResults=10)
        assert code == "InvalidParameterCombination"

    def test_a_token_that_was_never_given_is_refused(self, ec2: Any) -> None:
        assert error_of(ec2.describe_instances, MaxResults=10, NextToken="x")[0] == "InvalidNextToken"

    def test_regions_are_apart(self, aws: AwsServer, ec2: Any) -> None:
        aws.ec2.add("us-west-2", "c6i.xlarge")
        assert ec2.describe_instances()["Reservations"] == []
        assert len(client(aws, "ec2", "us-west-2").describe_instances()["Reservations"]) == 1

    def test_faults_of_paging(self, aws: AwsServer, ec2: Any) -> None:
        made = [aws.ec2.add(HERE, "c6i.xlarge").id for _ in range(12)]
        aws.fail(Fault.DUPLICATED_ITEM, on=aws.on(Calls.INVENTORY))
        pages = list(ec2.get_paginator("describe_instances").paginate(MaxResults=10))
        found = [i["InstanceId"] for page in pages for r in page["Reservations"] for i in r["Instances"]]
        assert (len(found), sorted(set(found))) == (13, sorted(made))
        aws.heal()
        aws.fail(Fault.REPEATED_TOKEN, on=aws.on(Calls.INVENTORY))
        first = ec2.describe_instances(MaxResults=10)["NextToken"]
        assert ec2.describe_instances(MaxResults=10, NextToken=first)["NextToken"] == first


class TestPower:
    def test_states_take_their_time(self, aws: AwsServer, ec2: Any) -> None:
        box = aws.ec2.add(HERE, "c6i.xlarge")
        change = ec2.stop_instances(InstanceIds=[box.id])["StoppingInstances"][0]
        assert (change["PreviousState"]["Name"], change["CurrentState"]) == (
            "running",
            {"Code": 64, "Name": "stopping"},
        )
        aws.clock.advance(timedelta(seconds=39))
        assert state_of(ec2, box) == "stopping"
        aws.clock.advance(timedelta(seconds=1))
        assert state_of(ec2, box) == "stopped"
        ec2.start_instances(InstanceIds=[box.id])
        assert state_of(ec2, box) == "pending"
        aws.clock.advance(timedelta(seconds=20))
        assert state_of(ec2, box) == "running"

    def test_a_start_is_a_new_launch_and_the_first_attachment_stays(self, aws: AwsServer, ec2: Any) -> None:
        """A04: moto keeps the first LaunchTime for ever."""
        box = aws.ec2.add(HERE, "c6i.xlarge")
        before = ec2.describe_instances(InstanceIds=[box.id])["Reservations"][0]["Instances"][0]
        ec2.stop_instances(InstanceIds=[box.id])
        aws.clock.advance(timedelta(hours=9))
        ec2.start_instances(InstanceIds=[box.id])
        after = ec2.describe_instances(InstanceIds=[box.id])["Reservations"][0]["Instances"][0]
        assert after["LaunchTime"] == aws.clock.now()
        assert before["LaunchTime"] == aws.clock.now() - timedelta(hours=14)
        assert after["NetworkInterfaces"] == before["NetworkInterfaces"]
        assert "StateReason" not in after

    def test_a_stop_says_who_and_when(self, aws: AwsServer, ec2: Any) -> None:
        box = aws.ec2.add(HERE, "c6i.xlarge")
        ec2.stop_instances(InstanceIds=[box.id])
        found = ec2.describe_instances(InstanceIds=[box.id])["Reservations"][0]["Instances"][0]
        assert found["StateTransitionReason"] == "User initiated (2026-03-05 12:00:00 GMT)"
        assert found["StateReason"]["Code"] == "Client.UserInitiatedShutdown"

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"protected": True}, "OperationNotPermitted"),
            ({"lifecycle": "spot", "spot_type": "one-time"}, "UnsupportedOperation"),
            ({"root": "instance-store"}, "UnsupportedOperation"),
            ({"state": "pending"}, "IncorrectInstanceState"),
            ({"state": "shutting-down"}, "IncorrectInstanceState"),
            ({"state": "terminated"}, "IncorrectInstanceState"),
        ],
    )
    def test_stops_that_are_refused(self, aws: AwsServer, ec2: Any, fields: dict[str, Any], code: str) -> None:
        """C05, C29: moto stops a one-time spot box and revives a terminated one."""
        box, well = aws.ec2.add(HERE, "c6i.xlarge", **fields), aws.ec2.add(HERE, "c6i.xlarge")
        assert error_of(ec2.stop_instances, InstanceIds=[well.id, box.id])[0] == code
        assert (state_of(ec2, box), state_of(ec2, well)) == (fields.get("state", "running"), "running")

    def test_hibernation_needs_its_configuration(self, aws: AwsServer, ec2: Any) -> None:
        box = aws.ec2.add(HERE, "c6i.xlarge")
        assert error_of(ec2.stop_instances, InstanceIds=[box.id], Hibernate=True)[0] == "UnsupportedOperation"
        box.hibernation = "configured"
        ec2.stop_instances(InstanceIds=[box.id], Hibernate=True)

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"state": "stopping"}, "IncorrectInstanceState"),
            ({"state": "terminated"}, "IncorrectInstanceState"),
            ({"state": "stopped", "spot_type": "persistent", "interrupted": True}, "IncorrectSpotRequestState"),
        ],
    )
    def test_starts_that_are_refused(self, aws: AwsServer, ec2: Any, fields: dict[str, Any], code: str) -> None:
        box = aws.ec2.add(HERE, "c6i.xlarge", **fields)
        assert error_of(ec2.start_instances, InstanceIds=[box.id])[0] == code

    def test_a_type_may_be_sold_out(self, aws: AwsServer, ec2: Any) -> None:
        """C12."""
        box = aws.ec2.add(HERE, "p3.8xlarge", state="stopped")
        aws.ec2.sold_out.add("p3.8xlarge")
        assert error_of(ec2.start_instances, InstanceIds=[box.id]) == ("InsufficientInstanceCapacity", 500)
        assert state_of(ec2, box) == "stopped"

    def test_again_is_no_error_and_no_change(self, aws: AwsServer, ec2: Any) -> None:
        off = aws.ec2.add(HERE, "c6i.xlarge", state="stopped")
        on = aws.ec2.add(HERE, "c6i.xlarge")
        launched = on.launched
        ec2.stop_instances(InstanceIds=[off.id])
        ec2.start_instances(InstanceIds=[on.id])
        assert (state_of(ec2, off), state_of(ec2, on), on.launched) == ("stopped", "running", launched)

    def test_the_terminated_are_shown_for_an_hour(self, aws: AwsServer, ec2: Any) -> None:
        box, locked = aws.ec2.add(HERE, "c6i.xlarge"), aws.ec2.add(HERE, "c6i.xlarge", undeletable=True)
        assert error_of(ec2.terminate_instances, InstanceIds=[locked.id])[0] == "OperationNotPermitted"
        ec2.terminate_instances(InstanceIds=[box.id])
        aws.clock.advance(timedelta(minutes=59))
        assert state_of(ec2, box) == "terminated"
        aws.clock.advance(timedelta(minutes=2))
        assert error_of(ec2.describe_instances, InstanceIds=[box.id])[0] == "InvalidInstanceID.NotFound"

    @pytest.mark.parametrize(
        ("id", "code"), [("i-0123456789abcdef0", "InvalidInstanceID.NotFound"), ("i-1", "InvalidInstanceID.Malformed")]
    )
    def test_ids_that_are_none(self, ec2: Any, id: str, code: str) -> None:
        for call in (ec2.stop_instances, ec2.start_instances, ec2.describe_instances):
            assert error_of(call, InstanceIds=[id]) == (code, 400)

    def test_a_dry_run_changes_nothing_and_is_no_mutation(self, aws: AwsServer, ec2: Any) -> None:
        """C32."""
        box = aws.ec2.add(HERE, "c6i.xlarge")
        assert error_of(ec2.stop_instances, InstanceIds=[box.id], DryRun=True) == ("DryRunOperation", 412)
        assert (state_of(ec2, box), aws.mutations()) == ("running", [])
        aws.fail(Fault.FORBIDDEN, on=aws.on(Calls.MUTATION))
        assert error_of(ec2.stop_instances, InstanceIds=[box.id], DryRun=True) == ("UnauthorizedOperation", 403)
        assert error_of(ec2.stop_instances, InstanceIds=[box.id]) == ("UnauthorizedOperation", 403)
        assert [(seen.what, seen.vm_id) for seen in aws.mutations()] == [("stop", box.id)]


class TestFacts:
    def test_locks_are_told_one_by_one(self, aws: AwsServer, ec2: Any) -> None:
        box = aws.ec2.add(HERE, "c6i.xlarge", protected=True)
        for name, key, value in (
            ("disableApiStop", "DisableApiStop", True),
            ("disableApiTermination", "DisableApiTermination", False),
        ):
            answer = ec2.describe_instance_attribute(InstanceId=box.id, Attribute=name)
            assert answer[key]["Value"] is value

    def test_a_spot_request_follows_its_box(self, aws: AwsServer, ec2: Any) -> None:
        box = aws.ec2.add(HERE, "c6i.xlarge", lifecycle="spot", spot_type="persistent", spot_price="0.500000")

        def request() -> dict[str, Any]:
            found: dict[str, Any] = ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]
            return found

        assert request()["SpotInstanceRequestId"] == box.request
        assert (request()["State"], request()["Type"], request()["SpotPrice"]) == ("active", "persistent", "0.500000")
        ec2.stop_instances(InstanceIds=[box.id])
        assert request()["State"] == "disabled"

    def test_spot_history_starts_with_the_point_before(self, aws: AwsServer, ec2: Any) -> None:
        now = aws.clock.now()
        for hours, price in ((30, "1.0"), (9, "2.0"), (2, "3.0")):
            aws.ec2.spot_prices.append(
                {
                    "InstanceType": "p3.8xlarge",
                    "AvailabilityZone": "us-east-1a",
                    "ProductDescription": "Linux/UNIX",
                    "SpotPrice": price,
                    "Timestamp": now - timedelta(hours=hours),
                }
            )
        answer = ec2.describe_spot_price_history(
            InstanceTypes=["p3.8xlarge"],
            ProductDescriptions=["Linux/UNIX"],
            StartTime=now - timedelta(hours=6),
            EndTime=now,
            MaxResults=100,
        )
        assert [point["SpotPrice"] for point in answer["SpotPriceHistory"]] == ["3.0", "2.0"]

    def test_group_members_are_told(self, aws: AwsServer) -> None:
        member, alone = aws.ec2.add(HERE, "c6i.xlarge", group="workers"), aws.ec2.add(HERE, "c6i.xlarge")
        answer = client(aws, "autoscaling").describe_auto_scaling_instances(InstanceIds=[member.id, alone.id])
        assert [i["AutoScalingGroupName"] for i in answer["AutoScalingInstances"]] == ["workers"]

    def test_types_with_gpus(self, ec2: Any) -> None:
        filters = [{"Name": "instance-type", "Values": ["p3.8xlarge", "c6i.xlarge"]}]
        found = {t["InstanceType"]: t for t in ec2.describe_instance_types(Filters=filters)["InstanceTypes"]}
        (card,) = found["p3.8xlarge"]["GpuInfo"]["Gpus"]
        assert (card["Name"], card["Count"], card["MemoryInfo"]["SizeInMiB"]) == ("V100", 4, 16_384)
        assert "GpuInfo" not in found["c6i.xlarge"]


class TestErrors:
    @pytest.mark.parametrize(
        ("fault", "code", "status"),
        [
            (Fault.THROTTLED, "RequestLimitExceeded", 503),
            (Fault.UNAUTHENTICATED, "AuthFailure", 401),
            (Fault.FORBIDDEN, "UnauthorizedOperation", 403),
            (Fault.SERVER_ERROR, "InternalError", 500),
        ],
    )
    def test_ec2s_own_words(self, aws: AwsServer, ec2: Any, fault: Fault, code: str, status: int) -> None:
        aws.fail(fault, times=1)
        assert error_of(ec2.describe_instances) == (code, status)
        assert ec2.describe_instances()["Reservations"] == []

    def test_a_denied_region(self, aws: AwsServer, ec2: Any) -> None:
        aws.denied.add(HERE)
        assert error_of(ec2.describe_instances)[0] == "UnauthorizedOperation"
        assert client(aws, "ec2", "us-west-2").describe_instances()["Reservations"] == []

    @pytest.mark.parametrize(
        ("service", "fault", "code"),
        [("cloudwatch", Fault.FORBIDDEN, "AccessDenied"), ("cloudwatch", Fault.THROTTLED, "Throttling")],
    )
    def test_cloudwatchs_own_words(self, aws: AwsServer, service: str, fault: Fault, code: str) -> None:
        aws.fail(fault)
        assert error_of(client(aws, service).list_metrics)[0].startswith(code)
