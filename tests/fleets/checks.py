"""What must hold after the story, whatever the provider. A provider's test module inherits it and adds its own."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal

from costguard.app.doctor import Finding
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.resource import Kind
from costguard.domain.snapshot import SourceState
from tests.fleets.rig import MINUTE, Desk, Run, Story, leaks

PER_HOUR = 10  # of idle-dev in the starter policies


class Checks:
    """Each test looks at one story (a module's fixture); none changes it."""

    def test_every_resource_is_seen_once_and_none_of_the_denied_region(self, story: Story) -> None:
        """G01, M16, M20: pages, throttles and lost answers lose nothing and double nothing."""
        cloud = story.cloud
        seen = Counter(r.ref.id for r in story.desk.resources() if r.ref.kind is Kind.VM)
        readable = {id for region, ids in cloud.boxes.items() for id in ids if region != cloud.denied}
        assert len(readable | set(cloud.boxes[cloud.denied])) == 250
        assert set(seen) == readable
        assert set(seen.values()) == {1}

    def test_sources_are_honest(self, story: Story) -> None:
        """A region that nobody named and that was never readable is skipped in every run, and why is said; it does not
        make a run fail. The rest was read."""
        for run in (story.first, story.quiet, story.warned, story.stopped, story.settled, story.repeated):
            assert not run.result.unreadable, [s for s in run.document["sources"] if s["state"] != "ok"]
            assert not run.document["partial"]
            told = {(s["region"], s["source"]): s["state"] for s in run.document["sources"]}
            assert {region for (region, _), state in told.items() if state == "skipped"} == {story.cloud.denied}
            assert {state for (region, _), state in told.items() if region != story.cloud.denied} == {"ok"}
        assert story.audit_complete
        assert story.cloud.denied in str(story.audit["sources"])
        (status,) = (s for s in story.desk.sources() if (s.region, s.source) == (story.cloud.denied, "inventory"))
        assert status.state is SourceState.SKIPPED
        assert (status.error or "").startswith("never readable, tried again daily: ")
        told_daily = [n for n in story.desk.notices() if n.alert_key.startswith("told/aside/prod/")]
        assert len(told_daily) == 1
        assert story.cloud.denied in str(told_daily[0].facts["region"])

    def test_looking_changes_nothing(self, story: Story) -> None:
        """C18: neither dry runs, nor an audit, nor a doctor send anything that changes; their decisions say dry run."""
        assert story.looking == 0
        stops = [d for d in story.quiet.document["decisions"] if d["response"] == "stop"]
        assert Counter(d["code"] for d in stops)["dry_run"] == PER_HOUR
        assert {d["code"] for d in stops} <= {
            "dry_run",
            "limit",
            "saves_nothing",
            "loses_data",
            "protected",
            "group_member",
        }
        assert any(c.finding is Finding.WARNING and story.cloud.denied in c.text for c in story.checks)

    def test_the_dry_run_and_the_real_one_choose_the_same_boxes(self, story: Story) -> None:
        """C18: who was stopped is who the dry run said, some of them later, none besides."""
        stops = [d for d in story.quiet.document["decisions"] if d["response"] == "stop"]
        said = {d["subject"]["id"] for d in stops if d["code"] in ("dry_run", "limit")}
        assert set(story.stopped_by("idle-dev")) <= said

    def test_each_stop_is_carried_out_exactly_once(self, story: Story) -> None:
        """C11: an answer that was lost is looked into, never repeated; a refusal for too many calls is tried again."""
        stops = Counter(story.cloud.stops())
        assert set(stops.values()) == {1}
        done = {a.subject.id for a in story.after.ladders if a.response.ends_billing and a.state is ActionState.DONE}
        assert done == set(stops)

    def test_the_limits_of_the_policies_hold(self, story: Story) -> None:
        """M18: as many as the starter policies allow in an hour, the rest deferred with the reason."""
        assert len(story.stopped_by("idle-dev")) == PER_HOUR
        assert [d for d in story.stopped.document["decisions"] if d["code"] == "limit"]

    def test_who_must_not_be_stopped_is_not(self, story: Story) -> None:
        """A10, C04, C07, C24, C29, K02, M12: busy, silent, prepaid, not worth it, kept, grouped, restarted."""
        stopped = set(story.cloud.stops())
        assert stopped.isdisjoint(story.cloud.never)
        assert stopped.isdisjoint(story.cloud.boxes[story.cloud.denied])
        assert {why for why, id in story.spared.items() if id in stopped} == set()

    def test_each_of_them_would_have_gone_first(self, story: Story) -> None:
        """The test above could not fail otherwise: those who were spared are dearer than some that went."""
        price = {r.ref.id: r.price.nanos for r in story.desk.resources() if r.price is not None}
        cheapest = min(price[id] for id in story.cloud.stops() if id in price)
        assert {why for why, id in story.spared.items() if price.get(id, 0) < cheapest} == set()

    def test_a_box_that_is_seen_at_work_on_the_spot_is_left_alone_and_told_so(self, story: Story) -> None:
        """A08: every metric says that it rests; the look at the box itself says what it does."""
        if (id := story.spared.get("at work")) is None:
            return  # no script for its commands
        assert "the box itself is at work: its GPU is at 87 %" in story.lines_of(id)
        posted = [str(post.content) for post in story.desk.slack.posted]
        assert any("到机器上看到它在干活：GPU 87%" in text and id in text for text in posted)

    def test_savings_are_booked_where_billing_ended_and_nowhere_else(self, story: Story) -> None:
        """C06, C07, I20: "stopped but still charged" is told and saves nothing."""
        stopped = set(story.cloud.stops())
        ended = {id for id in stopped if story.cloud.ended(id)}
        assert ended
        assert {s.ref.id for s in story.after.savings} == ended
        assert len(story.after.savings) == len(ended)
        if story.liar is not None:
            assert story.liar in stopped - ended, story.lines_of(story.liar)
            assert "done, but the provider still bills it" in story.lines_of(story.liar)

    def test_what_is_off_and_still_charged_is_a_finding_at_once(self, story: Story) -> None:
        """C07: whoever stopped it, a stop of our own that lied among them; told, and never a reason to end anything."""
        for run in (story.first, story.quiet, story.settled):
            told = [f for f in run.document["findings"] if f["rule"] == "still_billed"]
            charged = story.cloud.charged_off()
            assert {f["subject"]["id"] for f in told} == (charged if run is story.settled else charged - {story.liar})
            assert all(Decimal(f["waste_per_hour"]["amount"]) > 0 for f in told)
        ladders = [a for a in story.after.ladders if a.rule == "still_billed"]
        assert {a.response for a in ladders} <= {Response.NOTIFY}
        assert story.liar is None or story.liar in {a.subject.id for a in ladders}

    def test_each_stop_has_its_lines(self, story: Story) -> None:
        """Every action leaves lines with its evidence, refusals and deferrals as well."""
        told = {e.action_id for e in story.after.ledger}
        assert {a.id for a in story.after.ladders} <= told
        assert {LedgerKind.WARNING, LedgerKind.EXECUTED, LedgerKind.SAVING} <= {e.kind for e in story.after.ledger}

    def test_a_run_repeated_changes_nothing(self, story: Story) -> None:
        """J01, J16: no call that changes, no row, no line, no message."""
        assert story.repeated.changes == 0
        before, after = story.before, story.after
        assert [e.text for e in after.ledger if e not in before.ledger] == []
        assert [_told(a) for a in after.ladders] == [_told(a) for a in before.ladders]
        assert (after.notices, after.savings) == (before.notices, before.savings)

    def test_no_secret_is_written_anywhere(self, story: Story) -> None:
        """K04: not in the log at DEBUG, not in the database's files, not in a document, not in a message."""
        text = story.desk.written()
        assert len(text) > 100_000
        assert leaks(story.cloud, text) == []


def off_and_charged(desk: Desk, id: str, start: Callable[[], None], stop: Callable[[], None]) -> Run:
    """A box that is off and still charged, that starts (``start``), and is stopped in the way that saves (``stop``).

    Returns the first run. What the run says and what ``costguard findings`` shows is the same each time.
    """

    def claimed(run: Run) -> list[str]:
        found = [f["subject"]["id"] for f in run.document["findings"] if f["rule"] == "still_billed"]
        assert [one.finding.subject.id for one in desk.findings() if one.finding.rule == "still_billed"] == found
        return found

    first = desk.run("enforce")
    assert claimed(first) == [id]
    start()
    # An answer of before the stop would look the same for a while.
    desk.clock.advance(5 * MINUTE)
    assert claimed(desk.run("enforce")) == []
    stop()
    assert claimed(desk.run("enforce")) == []
    assert desk.cloud.changes() == 0
    return first


def _told(action: Action) -> tuple[object, ...]:
    """All of a ladder but the count of looks in which its finding is over."""
    return action.id, action.state, action.code, action.rung, action.attempt, action.token, action.warned_at
