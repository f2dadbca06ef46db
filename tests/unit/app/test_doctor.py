"""What doctor says of budgets kept at the provider and of boxes that nobody sees working."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from costguard.app.doctor import Finding, _budgets, _candidates, _permission, _remedy, _usage_seen
from costguard.config.accounts import BoundAccount
from costguard.daemon.accounts import Account
from costguard.domain.budget import ProviderBudget
from costguard.domain.money import Money
from costguard.domain.resource import UNKNOWN_GPUS, Gpus, Kind, Resource, ResourceRef, State
from costguard.errors import AuthFailed, PermissionDenied, ProviderError, Throttled, TimedOut, Unavailable
from costguard.plugins import registry
from costguard.ports import AccountSpec, Clock, Connection, PermissionProbe
from costguard.testing.builders import make_resource
from costguard.testing.clock import FakeClock

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Kept:
    """The one role that is asked for."""

    def __init__(self, found: Sequence[ProviderBudget] | ProviderError) -> None:
        self._found = found

    def budgets(self) -> Sequence[ProviderBudget]:
        if isinstance(self._found, ProviderError):
            raise self._found
        return self._found


def account(provider: str, connection: object = None, *, allow_release: bool = False) -> Account:
    def connect(spec: AccountSpec, clock: Clock) -> Connection:
        return connection  # type: ignore[return-value]  # of its roles only those tested are there

    manifest = registry.find(provider).manifest
    assert manifest is not None
    bound = BoundAccount(AccountSpec("prod", allow_release=allow_release), manifest, enforce=False, listed=False)
    return Account(bound, connect, FakeClock())


def box(provider: str, region: str, id: str) -> Resource:
    ref = ResourceRef(provider, "prod", region, Kind.VM, id)
    return Resource(ref, "trainer", State.RUNNING, "running", NOW, gpus=Gpus("T4", Decimal(1)))


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (AuthFailed("the key is not valid", provider="aws"), "check the credentials"),
        (PermissionDenied("no right", provider="aws"), "check the credentials"),
        (Unavailable("the name cannot be resolved", provider="aws"), "could not be reached"),
        (TimedOut("no answer in time", provider="aws"), "check DNS, proxy, firewall and the account's endpoint"),
        (Throttled("too fast", provider="aws"), "wait a minute"),
    ],
)
def test_a_network_that_failed_says_nothing_about_the_credentials(error: ProviderError, hint: str) -> None:
    assert hint in _remedy(error)
    assert isinstance(error, AuthFailed | PermissionDenied) is (_remedy(error) == "check the credentials")


@pytest.mark.parametrize(
    ("provider", "region", "id", "line"),
    [
        (
            "aws", "us-east-1", "i-0abc",
            "aws ssm send-command --region us-east-1 --instance-ids i-0abc --document-name AWS-ConfigureAWSPackage "
            "--parameters action=Install,name=AmazonCloudWatchAgent  # ",
        ),
        (
            "aliyun", "cn-beijing", "i-2ze1",
            "aliyun cms InstallMonitoringAgent --region cn-beijing --Force true --InstanceIds.1 i-2ze1  # ",
        ),
        ("tencent", "ap-shanghai", "ins-1", "wget http://update2.agent.tencentyun.com/update/linux_stargate_installer"),
        ("simulated", "r1", "sim-1", "install the agent; see docs/providers.md for simulated"),
    ],
)  # fmt: skip
def test_the_line_that_installs_the_agent_is_printed_for_the_box(
    provider: str, region: str, id: str, line: str
) -> None:
    unseen, seen = box(provider, region, id), box(provider, region, "other")
    counted, found = _usage_seen(account(provider), "account prod", [unseen, seen], {str(seen.ref)})
    assert (counted.finding, counted.text) == (Finding.WARNING, "GPU use seen of 1 of 2 running GPU boxes")
    assert id in found.text
    assert found.hint.startswith(line)


def test_a_box_whose_gpus_nobody_counts_is_told_apart() -> None:
    """G11: it is no GPU box without an agent, and no CPU box either."""
    odd = replace(box("aws", "us-east-1", "i-0odd"), gpus=UNKNOWN_GPUS, sku="p9.large")
    told, counted = _usage_seen(account("aws"), "account prod", [odd], set())
    assert told.text == (
        "how many GPUs trainer (i-0odd, p9.large) has, if any, is not known: it is never stopped for being idle"
    )
    assert (counted.finding, counted.text) == (Finding.OK, "GPU use seen of 0 of 0 running GPU boxes")


def test_budgets_at_the_provider_are_told() -> None:
    def usd(amount: str) -> Money:
        return Money.of(amount, "USD")

    kept = [
        ProviderBudget("prod", "ml-team", "month", usd("10000"), usd("8200.129"), usd("12300")),
        ProviderBudget("prod", "young", "year", usd("5"), None, None),
        ProviderBudget("prod", "planned", "day", None, usd("0"), None),
    ]
    assert [(c.finding, c.text) for c in _budgets(account("aws", Kept(kept)), "account prod")] == [
        (Finding.INFO, "budget ml-team at the provider (month): $8,200.13 spent of $10,000.00, $12,300.00 forecast"),
        (Finding.INFO, "budget young at the provider (year): spending unknown of $5.00"),
        (Finding.INFO, "budget planned at the provider (day): $0.00 spent"),
    ]


def test_budgets_that_may_not_be_read_are_no_fault() -> None:
    denied = PermissionDenied("no", missing="budgets:ViewBudget", provider="aws", account="prod", operation="Describe")
    (found,) = _budgets(account("aws", Kept(denied)), "account prod")
    assert (found.finding, found.hint) == (Finding.INFO, "grant budgets:ViewBudget")


def test_a_provider_without_budgets_says_nothing() -> None:
    assert list(_budgets(account("aws", object()), "account prod")) == []


@pytest.mark.parametrize(("allow", "chosen"), [(False, ["i-1"]), (True, ["i-1", "eip-1", "d-2"])])
def test_what_is_left_over_is_probed_where_it_may_be_released(allow: bool, chosen: list[str]) -> None:
    """One of each kind, and none that a box uses; stopped boxes tell nothing of the right to stop."""
    disk = {"kind": Kind.DISK, "cards": 0}
    found = [
        make_resource("i-1"), make_resource("i-2", state=State.STOPPED), make_resource("d-1", **disk, depends_on="i-1"),
        make_resource("d-2", **disk), make_resource("eip-1", kind=Kind.ADDRESS, cards=0),
    ]  # fmt: skip
    assert [r.ref.id for r in _candidates(found, account("aws", allow_release=allow))] == chosen


def test_without_the_right_to_run_commands_nothing_is_wrong_and_looks_are_left_out() -> None:
    probe = PermissionProbe("commands", "ssm:SendCommand", granted=False)
    armed, watched = (_permission("aws", "us-east-1", probe, armed) for armed in (True, False))
    assert (armed.finding, watched.finding) == (Finding.INFO, Finding.OK)
    assert "no look at the box before a stop" in str(armed.text)
    assert "none, as expected in dry run" in str(watched.text)
