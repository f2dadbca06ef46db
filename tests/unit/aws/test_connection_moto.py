"""The connection against moto's server, an implementation that is not ours.

moto does not page, restarts no LaunchTime, lets one-time spot boxes be stopped and never moves in time; the strict
account of the other tests does. What moto has, it has from AWS: instance types, tags, protections, Auto Scaling, STS.
"""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import Session
from moto.core.base_backend import BackendDict
from moto.server import ThreadedMotoServer
from pydantic import SecretStr

from costguard.domain.resource import Ends, Gpus, Kind, State
from costguard.domain.usage import Metric
from costguard.errors import InvalidState, NotFound
from costguard.net.clock import SystemClock
from costguard.ports import AccountSpec, PowerResult
from costguard_aws.connection import AwsConnection
from costguard_aws.credentials import AwsCredentials
from tests.fakes.aws import moto

pytestmark = pytest.mark.slow

REGIONS = ("us-east-1", "us-west-2", "eu-central-1")
FLEET = {"g4dn.xlarge": 20, "p4d.24xlarge": 5, "c5.large": 75}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        moto.complete(patch)
        # Loading and listing all of its images takes moto longer than everything else here.
        patch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
        BackendDict.reset()  # whatever ran on moto before in this process left its account behind
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        client.cache_clear()
        server.stop()


@cache
def client(url: str, service: str, region: str = "us-east-1") -> Any:
    return Session().create_client(
        service, region_name=region, endpoint_url=url, aws_access_key_id="AKIAFIXTURE", aws_secret_access_key="x",
        config=Config(proxies={}),
    )  # fmt: skip


@pytest.fixture(scope="module")
def fleet(url: str) -> dict[str, list[str]]:
    """300 instances in three regions, by region."""
    made: dict[str, list[str]] = {}
    for region in REGIONS:
        ec2 = client(url, "ec2", region)
        image = ec2.register_image(Name="dlami", RootDeviceName="/dev/xvda")["ImageId"]
        for kind, count in FLEET.items():
            run = ec2.run_instances(
                ImageId=image, InstanceType=kind, MinCount=count, MaxCount=count,
                TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": kind}]}],
            )  # fmt: skip
            made.setdefault(region, []).extend(box["InstanceId"] for box in run["Instances"])
    return made


@pytest.fixture
def aws(url: str) -> Iterator[AwsConnection]:
    keys = AwsCredentials(access_key_id="AKIAFIXTURE", secret_access_key=SecretStr("x"))
    # moto lists all 1,395 types where EC2 would answer a dry run, and takes its time on a busy machine.
    spec = AccountSpec("prod", credentials=keys, endpoint=url, deadline=timedelta(seconds=60))
    connection = AwsConnection(spec, SystemClock())
    yield connection
    connection.close()


def test_three_hundred_boxes_in_three_regions(aws: AwsConnection, fleet: dict[str, list[str]]) -> None:
    assert set(REGIONS) <= set(aws.regions())
    for region, made in fleet.items():
        found = {r.ref.id: r for r in aws.list(Kind.VM, region)}
        assert sorted(found) == sorted(made)
        gpus = {r.sku: r.gpus for r in found.values()}
        assert gpus == {
            "g4dn.xlarge": Gpus("T4", Decimal(1), 16_384),
            "p4d.24xlarge": Gpus("A100", Decimal(8), 40_960),
            "c5.large": None,
        }
        assert {r.state for r in found.values()} == {State.RUNNING}
        assert all(r.name == r.sku for r in found.values())
        assert all(r.started_at and r.created_at and r.stop_effect for r in found.values())


def test_the_local_disk_of_a_gpu_box_is_told(aws: AwsConnection, fleet: dict[str, list[str]]) -> None:
    box = aws.get(
        next(aws_ref for aws_ref in (r.ref for r in aws.list(Kind.VM, "us-east-1") if r.sku == "g4dn.xlarge"))
    )
    assert box.stop_effect is not None
    assert box.stop_effect.compute_billing_ends is Ends.YES
    assert "local_disk" in box.stop_effect.lost


def test_stop_and_start(aws: AwsConnection, fleet: dict[str, list[str]]) -> None:
    box = next(r for r in aws.list(Kind.VM, "us-west-2") if r.sku == "c5.large")
    assert aws.stop(box.ref, "t") is PowerResult.ACCEPTED
    stopped = aws.get(box.ref)
    assert stopped.state is State.STOPPED
    assert stopped.stopped_at is not None
    assert aws.stop(box.ref, "t") is PowerResult.ALREADY
    assert aws.start(box.ref, "t") is PowerResult.ACCEPTED
    assert aws.get(box.ref).state is State.RUNNING


def test_a_protected_box(aws: AwsConnection, url: str, fleet: dict[str, list[str]]) -> None:
    box = next(r for r in aws.list(Kind.VM, "eu-central-1") if r.sku == "c5.large")
    ec2 = client(url, "ec2", "eu-central-1")
    ec2.modify_instance_attribute(InstanceId=box.ref.id, DisableApiStop={"Value": True})
    assert aws.get(box.ref).protected == "disableApiStop"
    with pytest.raises(InvalidState):
        aws.stop(box.ref, "t")


def test_a_member_of_a_scaling_group(aws: AwsConnection, url: str, fleet: dict[str, list[str]]) -> None:
    asg, ec2 = client(url, "autoscaling"), client(url, "ec2")
    image = ec2.register_image(Name="worker", RootDeviceName="/dev/xvda")["ImageId"]
    asg.create_launch_configuration(LaunchConfigurationName="lc", ImageId=image, InstanceType="m5.large")
    asg.create_auto_scaling_group(
        AutoScalingGroupName="workers", LaunchConfigurationName="lc", MinSize=1, MaxSize=1,
        AvailabilityZones=["us-east-1a"],
    )  # fmt: skip
    (member,) = (r for r in aws.list(Kind.VM, "us-east-1") if r.sku == "m5.large")
    assert member.group == "aws:autoscaling:groupName=workers"
    assert aws.get(member.ref).group == "aws:autoscaling:groupName=workers"
    client(url, "ec2").terminate_instances(InstanceIds=[member.ref.id])
    with pytest.raises(NotFound):
        aws.get(member.ref)


def test_agent_metrics(aws: AwsConnection, url: str, fleet: dict[str, list[str]]) -> None:
    box = next(r for r in aws.list(Kind.VM, "us-east-1") if r.sku == "g4dn.xlarge")
    now = SystemClock().now().replace(second=0, microsecond=0)
    dimensions = [{"Name": "InstanceId", "Value": box.ref.id}, {"Name": "index", "Value": "0"}]
    for minutes, value in ((4, 12.0), (3, 97.0)):
        client(url, "cloudwatch").put_metric_data(
            Namespace="CWAgent",
            MetricData=[
                {
                    "MetricName": "nvidia_smi_utilization_gpu",
                    "Dimensions": dimensions,
                    "Timestamp": now - timedelta(minutes=minutes),
                    "Value": value,
                }
            ],
        )
    batch = aws.usage([box], frozenset({Metric.GPU_UTIL}), now - timedelta(minutes=30), now)
    assert batch.failed == {}
    assert [(s.value, s.series.gpu_index) for s in batch.samples] == [(12.0, 0), (97.0, 0)]


def test_the_probe_stops_nothing(aws: AwsConnection, fleet: dict[str, list[str]]) -> None:
    boxes = [r for r in aws.list(Kind.VM, "us-east-1") if r.state is State.RUNNING][:3]
    answers = aws.probe("us-east-1", boxes)
    assert {a.permission for a in answers if a.granted} >= {"ec2:DescribeInstances", "ec2:StopInstances"}
    after = [aws.get(box.ref) for box in boxes]
    assert [(r.state, r.tags) for r in after] == [(r.state, r.tags) for r in boxes]


def test_who_am_i_and_tags(aws: AwsConnection, fleet: dict[str, list[str]]) -> None:
    assert aws.identity().account_id == "123456789012"
    box = next(iter(aws.list(Kind.VM, "us-west-2")))
    aws.tag(box.ref, {"costguard:stopped": "idle-dev"})
    tags = aws.get(box.ref).tags
    assert tags is not None
    assert (tags["costguard:stopped"], tags["Name"]) == ("idle-dev", box.name)
