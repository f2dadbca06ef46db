"""An EC2 account of 120 instances in three regions on moto, behind a gate that counts and refuses.

moto is not ours: what it lacks (it never moves in time, gives one-time spot boxes up to a stop, keeps LaunchTime over a
restart) is set in its memory, or left to the strict account of the adapter's tests.
"""

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from botocore.config import Config
from botocore.session import Session
from moto.cloudwatch.models import CloudWatchBackend, MetricDatum, cloudwatch_backends
from moto.ec2.models import ec2_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

ACCOUNT = "123456789012"
REGIONS = ("us-east-1", "us-west-2", "eu-central-1")
# The one GPU type of moto without an instance store; a stop of the others loses data.
GPU, LOCAL, CPU = "g5g.xlarge", "g4dn.xlarge", "c5.large"
READS = ("Describe", "Get", "List", "Lookup")
IDLE_DEV = 3
# A CloudTrail in which nothing happened, and a price list without these types: the price book has them.
_UNKNOWN_TO_MOTO = {
    "LookupEvents": b'{"Events":[]}',
    "GetProducts": b'{"FormatVersion":"aws_v1","PriceList":[]}',
    "DescribeCapacityReservations": b"<DescribeCapacityReservationsResponse><capacityReservationSet/>"
    b"</DescribeCapacityReservationsResponse>",
}


class Gate:
    """The WSGI application before moto. ``deny`` names what is refused for lack of a permission."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self.requests: list[tuple[str, str]] = []
        self.deny: Callable[[str, str], bool] = lambda operation, region: False

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        target = environ.get("HTTP_X_AMZ_TARGET", "") or environ.get("PATH_INFO", "")
        operation = (parse_qs(body.decode("utf-8", "replace")).get("Action") or [target.rpartition(".")[2]])[0]
        operation = operation.rpartition("/")[2]
        scope = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].split("/")
        region = scope[2] if len(scope) > 2 else ""
        self.requests.append((operation, region))
        if self.deny(operation, region):
            return self._refuse(environ, start_response)
        if operation in _UNKNOWN_TO_MOTO:
            body = _UNKNOWN_TO_MOTO[operation]
            start_response(
                "200 OK", [("Content-Type", "application/x-amz-json-1.1"), ("Content-Length", str(len(body)))]
            )
            return [body]
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer

    def _refuse(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        # CloudWatch speaks smithy RPC in CBOR, the AWS JSON protocol or the query protocol, as the SDK chose.
        kind = environ.get("CONTENT_TYPE", "")
        if "cbor" in kind:
            # {"__type": "AccessDenied"} in CBOR
            body = b"\xa1f__typelAccessDenied"
            headers = [("Content-Type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor")]
        elif "json" in kind:
            body, headers = b'{"__type": "AccessDenied", "message": "no"}', [("Content-Type", kind)]
        else:
            body = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"
            headers = [("Content-Type", "text/xml")]
        start_response("403 Forbidden", [*headers, ("Content-Length", str(len(body)))])
        return [body]

    def changed(self) -> list[str]:
        """The operations so far that may have changed something."""
        return [
            operation for operation, _ in self.requests
            if not operation.startswith(READS) and operation not in {"AssumeRole"}
        ]  # fmt: skip

    def calls(self, operation: str) -> int:
        return sum(name == operation for name, _ in self.requests)


@dataclass
class Ec2:
    """The account. ``boxes`` maps what each instance is here for to its ids."""

    gate: Gate
    url: str
    boxes: dict[str, list[str]] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    session: Session = field(default_factory=Session)
    clients: dict[tuple[str, str], Any] = field(default_factory=dict)

    def client(self, service: str, region: str) -> Any:
        known = self.clients.get((service, region))
        if known is None:
            known = self.clients[service, region] = self.session.create_client(
                service, region_name=region, endpoint_url=self.url, aws_access_key_id="AKIAFIXTURE",
                aws_secret_access_key="x", config=Config(proxies={}),
            )  # fmt: skip
        return known

    def ids(self, *what: str) -> set[str]:
        return {id for one in what for id in self.boxes[one]}

    def build(self) -> None:
        for region in REGIONS:
            self._region(region)

    def _region(self, region: str) -> None:
        ec2 = self.client("ec2", region)
        image = ec2.register_image(Name="dlami", RootDeviceName="/dev/xvda")["ImageId"]

        def run(what: str, type: str, count: int, tags: dict[str, str], **more: Any) -> list[str]:
            named = {"Name": f"{what}-{region}", **tags}
            answer = ec2.run_instances(
                ImageId=image, InstanceType=type, MinCount=count, MaxCount=count,
                TagSpecifications=[
                    {"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in named.items()]}
                ],
                **more,
            )  # fmt: skip
            made = [box["InstanceId"] for box in answer["Instances"]]
            self.boxes.setdefault(what, []).extend(made)
            self.where.update(dict.fromkeys(made, region))
            return made

        dev = {"role": "dev", "owner": "alice"}
        run("idle", GPU, IDLE_DEV, dev)
        run("untagged", GPU, 1, {})
        run("busy", GPU, 1, dev)
        run("kept", GPU, 1, {**dev, "CostGuard": "Keep"})
        run("blind", GPU, 1, dev)
        run("local disk", LOCAL, 1, dev)
        run("spot", GPU, 1, dev, InstanceMarketOptions={"MarketType": "spot"})
        (locked,) = run("locked", GPU, 1, dev)
        ec2.modify_instance_attribute(InstanceId=locked, DisableApiStop={"Value": True})
        (stopped,) = run("stopped", GPU, 1, dev)
        ec2.stop_instances(InstanceIds=[stopped])
        self._group(region, image, dev)
        run("cpu", CPU, 40 - IDLE_DEV - 9, {"role": "web"})

    def _group(self, region: str, image: str, tags: dict[str, str]) -> None:
        asg = self.client("autoscaling", region)
        asg.create_launch_configuration(LaunchConfigurationName="lc", ImageId=image, InstanceType=GPU)
        asg.create_auto_scaling_group(
            AutoScalingGroupName="workers", LaunchConfigurationName="lc", MinSize=1, MaxSize=1,
            AvailabilityZones=[f"{region}a"],
            Tags=[{"Key": k, "Value": v, "PropagateAtLaunch": True} for k, v in tags.items()],
        )  # fmt: skip
        (member,) = asg.describe_auto_scaling_groups()["AutoScalingGroups"][0]["Instances"]
        self.boxes.setdefault("group", []).append(member["InstanceId"])
        self.where[member["InstanceId"]] = region

    def measure(self, ids: Iterable[str], start: datetime, end: datetime, util: float) -> None:
        """What the agent and the hypervisor tell of boxes: one card, each minute; CPU and traffic each five.

        Straight into moto's memory: parsing 15,000 values takes its server longer than all the tests.
        """
        for id in ids:
            values = cloudwatch_backends[ACCOUNT][self.where[id]].metric_data
            me = [{"Name": "InstanceId", "Value": id}]
            card = [*me, {"Name": "index", "Value": "0"}]
            at, until = (moment.astimezone(UTC).replace(tzinfo=None) for moment in (start, end))
            while at < until:
                values.append(MetricDatum("CWAgent", "nvidia_smi_utilization_gpu", util, card, at, "Percent"))
                if at.minute % 5 == 0:
                    for name in ("CPUUtilization", "NetworkIn", "NetworkOut"):
                        values.append(MetricDatum("AWS/EC2", name, 0.5, me, at, None))
                at += timedelta(minutes=1)

    def measured(self) -> dict[str, list[Any]]:
        """Every value so far, by region: what a test adds is taken away with :meth:`forget`."""
        return {region: list(cloudwatch_backends[ACCOUNT][region].metric_data) for region in REGIONS}

    def forget(self, but: dict[str, list[Any]]) -> None:
        for region, values in but.items():
            cloudwatch_backends[ACCOUNT][region].metric_data = values

    def states(self) -> dict[str, str]:
        return {id: ec2_backends[ACCOUNT][region].get_instance(id).state for id, region in self.where.items()}

    def start(self, ids: Iterable[str]) -> None:
        for id in ids:
            self.client("ec2", self.where[id]).start_instances(InstanceIds=[id])

    def close(self) -> None:
        for client in self.clients.values():
            client.close()

    def restart(self, id: str, at: datetime) -> None:
        """A person stops and starts it; the new LaunchTime is set by hand, for moto keeps the old one."""
        ec2 = self.client("ec2", self.where[id])
        ec2.stop_instances(InstanceIds=[id])
        ec2.start_instances(InstanceIds=[id])
        ec2_backends[ACCOUNT][self.where[id]].get_instance(id).launch_time = at.replace(tzinfo=None)

    def launched(self, id: str) -> Any:
        return ec2_backends[ACCOUNT][self.where[id]].get_instance(id).launch_time

    def retag(self, id: str, **tags: str) -> None:
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        self.client("ec2", self.where[id]).create_tags(Resources=[id], Tags=pairs)


@contextmanager
def _indexed() -> Iterator[None]:
    """moto looks through every value of a region for each minute of each query. Here it gets only those of the series
    that is asked for, and judges them itself."""
    get_data, list_metrics = CloudWatchBackend.get_metric_data, CloudWatchBackend.list_metrics

    def narrowed(backend: CloudWatchBackend, values: list[MetricDatum]) -> CloudWatchBackend:
        twin = copy(backend)
        twin.metric_data = values
        return twin

    def series(backend: CloudWatchBackend) -> dict[Any, list[MetricDatum]]:
        found: dict[Any, list[MetricDatum]] = {}
        for datum in backend.metric_data:
            found.setdefault((datum.name, datum.dimensions[0].value), []).append(datum)
        return found

    def quick_data(self: CloudWatchBackend, queries: list[dict[str, Any]], *args: Any, **more: Any) -> Any:
        known = series(self)
        answers: list[Any] = []
        for query in queries:
            asked = query["MetricStat"]["Metric"]
            instance = next(d["Value"] for d in asked["Dimensions"] if d["Name"] == "InstanceId")
            values = known.get((asked["MetricName"], instance), [])
            answers += get_data(narrowed(self, values), [query], *args, **more)
        return answers

    def quick_list(self: CloudWatchBackend, *args: Any, **more: Any) -> Any:
        return list_metrics(narrowed(self, [values[0] for values in series(self).values()]), *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CloudWatchBackend, "get_metric_data", quick_data)
        patch.setattr(CloudWatchBackend, "list_metrics", quick_list)
        yield


class Moto:
    """The server: ``with Moto() as account``."""

    def __enter__(self) -> Ec2:
        self._quick = _indexed()
        self._quick.__enter__()
        gate = Gate()
        self._server = make_server("127.0.0.1", 0, gate, threaded=True, request_handler=MotoRequestHandler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self._account = Ec2(gate, f"http://127.0.0.1:{self._server.server_port}")
        return self._account

    def __exit__(self, *_: object) -> None:
        self._account.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
        self._quick.__exit__(None, None, None)
