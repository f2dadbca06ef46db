"""docs/metrics.md: what /metrics tells, from the metric objects themselves."""

from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from costguard.daemon import metrics
from scripts.pages.markdown import code, table


def collectors() -> list[MetricWrapperBase]:
    """Every metric of costguard, by name."""
    found = [value for value in vars(metrics).values() if isinstance(value, MetricWrapperBase)]
    return sorted(found, key=_name)


def page(root: Path) -> str:
    """The page."""
    rows = [
        (code(_name(metric)), metric._type, ", ".join(map(code, metric._labelnames)) or "–", metric._documentation)
        for metric in collectors()
    ]
    return "\n\n".join(
        [
            "# Metrics",
            "`/metrics` in the Prometheus text format. Guard codes, states and reasons that appear as label values are "
            "those of the JSON documents. A follower tells the same facts as the leader, read from the database.",
            table(["metric", "type", "labels", "meaning"], rows),
        ]
    )


def _name(metric: MetricWrapperBase) -> str:
    return str(metric._name) + ("_total" if metric._type == "counter" else "")
