"""explain of an earlier moment and of an action: judged as it was, with the evidence that was kept."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from costguard.app.app import App
from costguard.app.explain import explain, explain_action
from costguard.domain.action import Action, ActionState
from costguard.errors import UsageError
from costguard.testing.clock import FakeClock
from tests.daemon.rig import Cloud, configure, rows


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, Action]]:
    """A dry run over an idle box: warned, and recorded when it would have been stopped."""
    clock = FakeClock()
    cloud = Cloud(clock)
    cloud.add("i-1")
    config = configure(tmp_path_factory.mktemp("explain"), "http://127.0.0.1:9", mode="dry_run")
    app = App.open(config, clock, connect=cloud.connect, threads=1)
    app.lead.round()
    end = clock.now() + timedelta(hours=2)
    while clock.now() < end:
        app.lead.round()
        app.poll()
        app.decide()
        clock.advance(timedelta(minutes=5))
    (action,) = rows(app.database)
    yield app, action
    app.close()


def test_an_action_is_explained_by_what_was_kept_with_it(stopped: tuple[App, Action]) -> None:
    app, action = stopped
    assert action.state is ActionState.RECORDED
    told = explain_action(app, action.id)
    assert told["schema"] == "costguard.explain_action/1"
    assert told["action"]["evidence"]["gpu_util_max"] == 0.0  # type: ignore[index]
    kinds = [line["kind"] for line in told["history"]]  # type: ignore[union-attr,index]
    assert kinds[0] == "finding"
    assert "recorded" in kinds
    assert [line["at"] for line in told["history"]] == sorted(line["at"] for line in told["history"])  # type: ignore[union-attr,index]


def test_an_unknown_action_is_a_usage_error(stopped: tuple[App, Action]) -> None:
    with pytest.raises(UsageError, match="no action"):
        explain_action(stopped[0], "nothing")


def test_an_earlier_moment_is_judged_by_its_own_samples(stopped: tuple[App, Action]) -> None:
    app, action = stopped
    told = explain(app, "i-1", action.created_at + timedelta(minutes=20))
    (policy,) = told["policies"]  # type: ignore[misc]
    assert policy["ladders"][0]["outcome"] == "fires"
    assert told["actions"][0]["id"] == action.id  # type: ignore[index]
    assert told["resource"]["state"] == "running"  # type: ignore[index]
    before = explain(app, "i-1", action.created_at - timedelta(hours=30))
    assert before["resource"]["state"] == "stopped"  # type: ignore[index]
    assert before["actions"] == []
    with pytest.raises(UsageError, match="still to come"):
        explain(app, "i-1", app.clock.now() + timedelta(minutes=1))
