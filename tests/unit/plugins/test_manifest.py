"""Manifests: what they must say, and mistakes at their line."""

import pytest

from costguard.domain.resource import Kind, ResourceRef
from costguard.domain.usage import Metric
from costguard.errors import ConfigErrors
from costguard.plugins.manifest import CAPABILITIES, Support, parse, parse_support

CAPABILITY_LINES = "\n".join(f'{name} = "full"' for name in CAPABILITIES)
GOOD = f"""\
id = "cloudx"
name = "Cloud X"
docs = "https://docs.example.com/"
tier = "beta"
currency = "CNY"
billing_timezone = "Asia/Shanghai"
stoppable = ["vm"]
group_tags = ["x:group"]
[credentials]
secret = ["key"]
plain = ["id"]
[capabilities]
{CAPABILITY_LINES}
[limits]
calls_per_second = 10
[metrics.gpu_util]
period = "60s"
delay = "120s"
statistic = "max"
cards = "each"
[billing]
delay = "24h"
final = "day 3"
[permissions]
instances = ["x:List"]
[quality]
pagination = "done"
secrets = "exempt: nothing is sent"
"""


def errors_of(text: str) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        parse(text, "manifest.toml")
    return [str(error) for error in caught.value.errors]


def test_a_manifest_is_read() -> None:
    manifest = parse(GOOD, "manifest.toml")
    assert manifest.stoppable == (Kind.VM,)
    assert manifest.metrics[Metric.GPU_UTIL].delay.total_seconds() == 120
    assert manifest.support("stop").usable
    assert manifest.support("commands") == Support("unknown")
    assert len(CAPABILITIES) == 20


def test_the_line_that_installs_the_agent_is_filled_in() -> None:
    text = GOOD + '[agent]\ninstall = "cloudx agent --in {region} {id} --region {region}"\n'
    agent = parse(text, "manifest.toml").agent
    assert agent is not None
    assert agent.line(ResourceRef("cloudx", "a", "r1", Kind.VM, "i-1")) == "cloudx agent --in r1 i-1 --region r1"
    assert parse(GOOD, "manifest.toml").agent is None


@pytest.mark.parametrize("line", ["cloudx {name}", "cloudx {}", ""])
def test_an_agent_line_with_an_unknown_blank_is_a_mistake(line: str) -> None:
    (error,) = errors_of(GOOD + f'[agent]\ninstall = "{line}"\n')
    assert "agent.install" in error


@pytest.mark.parametrize(
    ("text", "level", "note"),
    [
        ("full", "full", ""),
        ("partial: EBS only", "partial", "EBS only"),
        ("impossible: no timer: none at all", "impossible", "no timer: none at all"),
        ("not_written", "not_written", ""),
        ("unknown", "unknown", ""),
    ],
)
def test_support_says_how_far_and_why(text: str, level: str, note: str) -> None:
    support = parse_support(text)
    assert (support.level, support.note, str(support)) == (level, note, text)
    assert support.usable == (level in ("full", "partial"))


@pytest.mark.parametrize("text", ["", "partial", "partial:", "impossible", "Full", "full: really", "yes"])
def test_support_without_a_reason_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not full"):
        parse_support(text)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('tier = "beta"', 'tier = "gold"', "manifest.toml:4:1: tier: Input should be 'stable', 'beta' or"),
        ('stop = "full"', 'stop = "partial"', "capabilities.stop: 'partial' is not full"),
        ('stop = "full"\n', "", "capabilities: says nothing of stop"),
        ("calls_per_second", "calls_per_second = 1\nextra", None),
        ('id = "cloudx"', 'id = "Cloud X"', "manifest.toml:1:1: id:"),
        ("[limits]", '[limitz]\na = "b"\n[limits]', "manifest.toml:33:1: limitz: Extra inputs are not permitted"),
        ('pagination = "done"', 'pagination = "exempt"', "quality.pagination: 'exempt' is not done"),
        ('delay = "120s"', "delay = 120", "metrics.gpu_util.delay: a duration needs a unit"),
        ('start = "full"', 'start = "full"\nfly = "full"', "capabilities.fly: no such capability"),
        ('name = "Cloud X"', "name = ", "manifest.toml:2:8: Invalid value"),
    ],
)
def test_mistakes_are_told_at_their_line(old: str, new: str, told: str | None) -> None:
    text = GOOD.replace(old, new, 1)
    if told is None:
        assert parse(text, "manifest.toml").limits
    else:
        assert told in errors_of(text)[0]
