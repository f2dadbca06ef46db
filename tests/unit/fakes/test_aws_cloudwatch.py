"""CloudWatch on the AWS server, judged by AWS's own SDK."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.fakes.aws.server import AwsServer
from tests.unit.fakes.aws_client import HERE, client

NAMESPACE, GPU = "CWAgent", "nvidia_smi_utilization_gpu"


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    with AwsServer() as server:
        yield server


@pytest.fixture
def watch(aws: AwsServer) -> Any:
    return client(aws, "cloudwatch")


class TestCloudWatch:
    def query(self, dimensions: dict[str, str], id: str = "q", period: int = 60, **fields: Any) -> dict[str, Any]:
        pairs = [{"Name": name, "Value": value} for name, value in dimensions.items()]
        metric = {"Namespace": NAMESPACE, "MetricName": GPU, "Dimensions": pairs}
        return {"Id": id, "MetricStat": {"Metric": metric, "Period": period, "Stat": "Maximum"}, **fields}

    def ask(self, watch: Any, *queries: dict[str, Any], minutes: int = 10, **fields: Any) -> dict[str, Any]:
        end = datetime(2026, 3, 5, 12, tzinfo=UTC)
        answer: dict[str, Any] = watch.get_metric_data(
            MetricDataQueries=list(queries), StartTime=end - timedelta(minutes=minutes), EndTime=end, **fields
        )
        return answer

    def put(self, aws: AwsServer, dimensions: dict[str, str], values: list[float], step: int = 60) -> None:
        start = aws.clock.now() - timedelta(seconds=step * len(values))
        points = {start + timedelta(seconds=step * n): value for n, value in enumerate(values)}
        aws.cloudwatch.put(NAMESPACE, GPU, dimensions, points)

    def test_newest_first_start_included_end_excluded(self, aws: AwsServer, watch: Any) -> None:
        self.put(aws, {"index": "0"}, [float(n) for n in range(20)])
        (result,) = self.ask(watch, self.query({"index": "0"}))["MetricDataResults"]
        assert (result["Values"], result["StatusCode"]) == ([float(n) for n in range(19, 9, -1)], "Complete")
        assert result["Timestamps"][0] == aws.clock.now() - timedelta(minutes=1)
        (oldest,) = self.ask(watch, self.query({"index": "0"}), ScanBy="TimestampAscending")["MetricDataResults"]
        assert oldest["Values"] == result["Values"][::-1]

    def test_part_of_the_dimensions_is_another_metric(self, aws: AwsServer, watch: Any) -> None:
        self.put(aws, {"index": "0", "name": "A100"}, [1.0, 2.0])
        for dimensions, values in (({"index": "0"}, []), ({"index": "0", "name": "A100"}, [2.0, 1.0])):
            (result,) = self.ask(watch, self.query(dimensions))["MetricDataResults"]
            assert (result["Values"], result["StatusCode"]) == (values, "Complete")

    def test_a_wider_period_takes_the_maximum_of_aligned_ones(self, aws: AwsServer, watch: Any) -> None:
        self.put(aws, {"index": "0"}, [float(n) for n in range(10)])
        (result,) = self.ask(watch, self.query({"index": "0"}, period=300))["MetricDataResults"]
        assert result["Values"] == [9.0, 4.0]
        assert all(at.minute % 5 == 0 for at in result["Timestamps"])

    def test_long_answers_come_in_pages_and_a_cut_series_says_so(self, aws: AwsServer, watch: Any) -> None:
        for card in ("0", "1"):
            self.put(aws, {"index": card}, [float(n) for n in range(10)])
        queries = [self.query({"index": card}, id=f"q{card}") for card in ("0", "1")]
        first = self.ask(watch, *queries, MaxDatapoints=15)
        assert [(r["Id"], len(r["Values"]), r["StatusCode"]) for r in first["MetricDataResults"]] == [
            ("q0", 10, "Complete"),
            ("q1", 5, "PartialData"),
        ]
        second = self.ask(watch, *queries, MaxDatapoints=15, NextToken=first["NextToken"])
        assert [(r["Id"], len(r["Values"]), r["StatusCode"]) for r in second["MetricDataResults"]] == [
            ("q1", 5, "Complete")
        ]
        assert "NextToken" not in second

    @pytest.mark.parametrize(
        "fields",
        [{"ids": ["q", "q"]}, {"ids": ["Q"]}, {"ids": [f"q{n}" for n in range(501)]}, {"period": 61}, {"minutes": 0}],
    )
    def test_questions_that_are_refused(self, watch: Any, fields: dict[str, Any]) -> None:
        """G10: 500 queries a call, moto takes more."""
        queries = [self.query({"i": "0"}, id, fields.get("period", 60)) for id in fields.get("ids", ["q"])]
        with pytest.raises(ClientError, match="ValidationError"):
            self.ask(watch, *queries, minutes=fields.get("minutes", 10))

    def test_fine_points_are_not_kept_for_ever(self, aws: AwsServer, watch: Any) -> None:
        """A13: minutes for 15 days, five minutes for 63."""
        at = aws.clock.now() - timedelta(days=20)
        aws.cloudwatch.put(NAMESPACE, GPU, {"index": "0"}, {at: 7.0})
        for period, values in ((60, []), (300, [7.0])):
            answer = watch.get_metric_data(
                MetricDataQueries=[self.query({"index": "0"}, period=period)],
                StartTime=at - timedelta(hours=1),
                EndTime=at + timedelta(hours=1),
            )
            assert answer["MetricDataResults"][0]["Values"] == values

    def test_a_broken_series_fails_alone(self, aws: AwsServer, watch: Any) -> None:
        """M02."""
        boxes = [aws.ec2.add(HERE, "p3.8xlarge") for _ in range(2)]
        for box in boxes:
            self.put(aws, {"InstanceId": box.id}, [5.0])
        aws.cloudwatch.broken.add(boxes[0].id)
        queries = [self.query({"InstanceId": box.id}, id=f"q{n}") for n, box in enumerate(boxes)]
        found = {r["Id"]: (r["StatusCode"], r["Values"]) for r in self.ask(watch, *queries)["MetricDataResults"]}
        assert found == {"q0": ("InternalError", []), "q1": ("Complete", [5.0])}

    def test_metrics_are_where_their_box_is(self, aws: AwsServer, watch: Any) -> None:
        box = aws.ec2.add("us-west-2", "p3.8xlarge")
        self.put(aws, {"InstanceId": box.id}, [5.0])
        there = client(aws, "cloudwatch", "us-west-2")
        for region, count in ((watch, 0), (there, 1)):
            (result,) = self.ask(region, self.query({"InstanceId": box.id}))["MetricDataResults"]
            assert len(result["Values"]) == count
            assert bool(region.list_metrics()["Metrics"]) == bool(count)

    def test_only_the_recently_active_are_listed(self, aws: AwsServer, watch: Any) -> None:
        self.put(aws, {"index": "0"}, [1.0])
        self.put(aws, {"index": "1"}, [1.0])
        assert {m["MetricName"] for m in watch.list_metrics(RecentlyActive="PT3H")["Metrics"]} == {GPU}
        only = watch.list_metrics(Dimensions=[{"Name": "index", "Value": "1"}])["Metrics"]
        assert {d["Value"] for m in only for d in m["Dimensions"]} == {"1"}
        aws.clock.advance(timedelta(hours=4))
        assert watch.list_metrics(RecentlyActive="PT3H")["Metrics"] == []
        assert watch.list_metrics()["Metrics"] != []

    def test_a_long_list_comes_in_pages(self, aws: AwsServer, watch: Any) -> None:
        for card in range(120):
            self.put(aws, {"index": str(card)}, [1.0])
        listed = [m for page in watch.get_paginator("list_metrics").paginate() for m in page["Metrics"]]
        assert {m["Dimensions"][0]["Value"] for m in listed} == {str(card) for card in range(120)}
