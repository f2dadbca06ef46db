"""A whole fleet through the whole product: a provider's strict server, one Slack, a real costguard.yaml, a moved clock.

The days below are told once for each provider (it is what takes the time); the tests look at what was left behind.
"""

import json
import logging
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

from costguard import assets
from costguard.app.app import App
from costguard.app.audit import run_audit
from costguard.app.doctor import Check, examine
from costguard.app.once import OnceResult, run_once
from costguard.cli import logs
from costguard.config.load import Config, load
from costguard.daemon import levers
from costguard.daemon.levers import Person
from costguard.domain.action import Action, ActionState
from costguard.domain.charge import Stage
from costguard.domain.ledger import LedgerEntry
from costguard.domain.money import Money
from costguard.domain.notice import Notice
from costguard.domain.resource import Resource
from costguard.domain.saving import Saving
from costguard.domain.snapshot import SourceStatus
from costguard.net.redact import Redactor
from costguard.store import actions, charges, findings, inventory, ledger, outbox, savings, sources
from costguard.store.findings import FindingRecord
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import StrictServer
from tests.fakes.slack import SlackServer

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
# A Thursday, half past nine in Beijing: nobody's night, nobody's holiday.
MORNING = datetime(2026, 3, 5, 1, 30, tzinfo=UTC)
ACCOUNT = "prod"

_CONFIG = """\
version: 1
database: sqlite:///costguard.db
timezone: Asia/Shanghai
language: zh
currency: CNY
mode: {mode}
enforce_accounts: [prod]
limits: {{per_hour: 200, share: 100%}}
accounts:
  - name: prod
    provider: {provider}
    account_id: "{account_id}"
    endpoint: {endpoint}
    credentials: {credentials}
channels:
  - {{name: ops, kind: slack, url: "${{env:SLACK_URL}}"}}
notify: {{default: [ops], quiet_hours: null}}
policies: ["{policies}"]
"""


class Cloud(Protocol):
    """What the story needs of a provider's strict server, in one vocabulary. Boxes are named by their id."""

    provider: str
    account_id: str
    denied: str
    signature: str  # a regular expression for what a signature looks like
    busy: set[str]
    never: frozenset[str]  # busy, silent, prepaid, off, or not worth a stop, from the beginning

    @property
    def server(self) -> Any: ...
    @property
    def credentials(self) -> Mapping[str, str]: ...
    @property
    def secrets(self) -> tuple[str, ...]: ...
    @property
    def boxes(self) -> Mapping[str, Sequence[str]]:
        """Ids by region."""

    def signatures(self) -> Iterable[str]: ...
    def feed(self, until: datetime) -> None:
        """Measures every box up to ``until`` as it behaves now."""

    def candidates(self) -> list[str]:
        """Idle boxes of developers in readable regions whose stop ends their bill, the dearest first."""

    def tag(self, id: str, key: str, value: str) -> None: ...
    def join(self, id: str) -> None:
        """Makes it a member of a scaling group."""

    def lock(self, id: str) -> bool:
        """The provider's own lock against stops; False where it has none."""

    def restart(self, id: str) -> None:
        """Somebody stops it and starts it again, just now."""

    def lie(self, id: str) -> bool:
        """Its stop will not end its bill although everything says that it would; False where that cannot be."""

    def answer(self, id: str, exit_code: int, output: str) -> bool:
        """What commands on it will end with; False where its commands have no such script."""

    def ended(self, id: str) -> bool:
        """Whether the account no longer charges for it."""

    def charged_off(self) -> set[str]:
        """Boxes of readable regions that are off, on demand or spot, and still charged."""

    def stop_of(self, request: Any) -> str | None:
        """The box that a request asks to stop, None when it does anything else or is a provider's dry run."""

    def stops(self) -> list[str]:
        """The box of each stop that reached the account, throttled ones left out, dry runs left out."""

    def changes(self) -> int:
        """How many changing requests came, whether they worked or not; dry runs left out."""

    def calls(self) -> list[str]:
        """``name region`` of each call that was understood, in order."""


@dataclass(frozen=True)
class State:
    """All that a run could have changed."""

    ladders: Sequence[Action]
    ledger: Sequence[LedgerEntry]
    notices: int
    savings: Sequence[Saving]


@dataclass
class Run:
    """One run and what it called."""

    at: datetime
    result: OnceResult
    calls: Counter[str]
    stops: list[str]
    changes: int

    @property
    def document(self) -> Mapping[str, Any]:
        return self.result.document


@dataclass
class Desk:
    """Where costguard runs: a folder with its configuration, its database, its log at DEBUG."""

    cloud: Cloud
    slack: SlackServer
    clock: FakeClock
    folder: Path
    log: StringIO = field(default_factory=StringIO)
    documents: list[str] = field(default_factory=list)

    def config(self, mode: str) -> Config:
        cloud = self.cloud
        path = self.folder / "costguard.yaml"
        values = ", ".join(f'{name}: "${{env:{name.upper()}}}"' for name in cloud.credentials)
        text = _CONFIG.format(
            mode=mode, provider=cloud.provider, account_id=cloud.account_id, endpoint=cloud.server.url,
            credentials=f"{{{values}}}", policies=assets.policies(),
        )  # fmt: skip
        path.write_text(text, "utf-8")
        env = {name.upper(): value for name, value in cloud.credentials.items()}
        return load(path, {**env, "SLACK_URL": self.slack.webhook_url})

    @contextmanager
    def app(self, mode: str = "dry_run") -> Iterator[App]:
        """A fresh process on the same database; its whole log is kept, before and after redaction."""
        config = self.config(mode)
        assert not [w for w in config.warnings if "counts as" not in str(w)]
        with _logging(Redactor(config.secrets), self.log):
            app = App.open(config, self.clock, threads=2)
            try:
                yield app
            finally:
                app.close()

    def run(self, mode: str) -> Run:
        self.cloud.feed(self.clock.now() + 20 * MINUTE)
        before = Counter(self.cloud.calls())
        stops, changes = len(self.cloud.stops()), self.cloud.changes()
        at = self.clock.now()
        with self.app(mode) as app:
            result = run_once(app)
        self.documents.append(json.dumps(result.document, ensure_ascii=False))
        calls = Counter(self.cloud.calls()) - before
        return Run(at, result, calls, self.cloud.stops()[stops:], self.cloud.changes() - changes)

    def wait(self, until: datetime) -> None:
        """To a moment; runs whose calls were throttled may have used some of the time."""
        assert until > self.clock.now(), "the runs before took longer than the story allows"
        self.clock.advance(until - self.clock.now())

    # What was left behind.

    def resources(self) -> list[Resource]:
        with self.app() as app, app.database.read() as conn:
            return list(inventory.resources(conn))

    def sources(self) -> list[SourceStatus]:
        with self.app() as app, app.database.read() as conn:
            return list(sources.sources(conn))

    def ladders(self) -> list[Action]:
        with self.app() as app, app.database.read() as conn:
            return list(actions.list_actions(conn))

    def findings(self) -> list[FindingRecord]:
        """The open ones: what ``costguard findings`` shows."""
        with self.app() as app, app.database.read() as conn:
            return list(findings.open_findings(conn))

    def ledger(self) -> list[LedgerEntry]:
        with self.app() as app, app.database.read() as conn:
            return list(ledger.list_entries(conn))

    def notices(self) -> list[Notice]:
        with self.app() as app, app.database.read() as conn:
            return list(outbox.list_notices(conn))

    def savings(self) -> list[Saving]:
        now = self.clock.now()
        with self.app() as app, app.database.read() as conn:
            return list(savings.savings(conn, now - timedelta(days=30), now + timedelta(days=1)))

    def state(self) -> State:
        return State(self.ladders(), self.ledger(), len(self.notices()), self.savings())

    def keep(self, id: str) -> None:
        now = self.clock.now()
        with self.app() as app, app.database.write() as conn:
            levers.keep(
                conn, id, person=Person("zhangwei"), now=now, reason="a demonstration", until=now + 8 * HOUR,
                longest=timedelta(days=7),
            )  # fmt: skip

    def bill(self) -> bool:
        """Reads the bill as the service does; False when it could not be read."""
        with self.app() as app:
            return app.biller.charges(app.accounts[ACCOUNT])

    def billed(self, start: datetime, end: datetime) -> Money:
        """What the database says was billed for usage in [start, end), refunds and round-downs included."""
        with self.app() as app, app.database.read() as conn:
            amounts = [one.billed_cost for one in charges.list_charges(conn, start, end, account=ACCOUNT)]
        assert amounts
        return sum(amounts[1:], amounts[0])

    def stages(self, start: datetime, end: datetime) -> set[Stage]:
        with self.app() as app, app.database.read() as conn:
            return {one.stage for one in charges.list_charges(conn, start, end, account=ACCOUNT)}

    def written(self) -> str:
        """Everything that costguard wrote anywhere: log, database files, documents, messages."""
        files = [p.read_bytes().decode("latin-1") for p in sorted(self.folder.glob("costguard.db*"))]
        posted = [json.dumps(p.content, ensure_ascii=False) for p in self.slack.posted]
        return "\n".join([self.log.getvalue(), *files, *self.documents, *posted])


@contextmanager
def _logging(redactor: Redactor, to: StringIO) -> Iterator[None]:
    """The command line's own logging at DEBUG, and beside it every record of the adapters as it was made."""
    root = logging.getLogger()
    kept, level, stderr = list(root.handlers), root.level, sys.stderr
    bare = logging.StreamHandler(to)
    bare.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    sys.stderr = to
    try:
        logs.setup(redactor, "DEBUG")
        root.addHandler(bare)
        yield
    finally:
        root.handlers[:] = kept
        root.setLevel(level)
        sys.stderr = stderr


def leaks(cloud: Cloud, text: str) -> list[str]:
    """Secrets, key ids and signatures that stand in a text."""
    found = [secret for secret in cloud.secrets if secret in text]
    made = set(cloud.signatures())
    assert made
    return found + sorted(made.intersection(re.findall(cloud.signature, text)))


def flaky(server: StrictServer, seed: int, spare: Callable[[Any], bool] = lambda _request: False) -> None:
    """One request in twenty is throttled, one in twenty is carried out and never answered, ``spare`` ones apart.

    They come evenly: by chance alone some call would fail as often as it is tried, now and then.
    """
    dice = random.Random(seed)
    throttled, lost = dice.sample(range(20), 2)
    turn = 0

    def at(place: int, request: Any) -> bool:
        return turn % 20 == place and not spare(request)

    def is_throttled(request: Any) -> bool:
        nonlocal turn
        turn += 1
        return at(throttled, request)

    server.fail(Fault.THROTTLED, on=is_throttled)
    server.fail(Fault.LOST_ANSWER, on=lambda request: at(lost, request))


@dataclass
class Story:
    """Two dry runs, an audit and a doctor; then enforced: warnings, people who change their minds, stops, a repetition.

    ``kept`` … ``woke`` are boxes that were idle and dear enough to be the first to go, had they been left alone.
    """

    desk: Desk
    first: Run
    quiet: Run
    audit: Mapping[str, Any]
    audit_complete: bool
    checks: list[Check]
    looking: int  # changing requests until here
    warned: Run
    stopped: Run
    settled: Run
    repeated: Run
    before: State
    after: State
    spared: Mapping[str, str]  # why → box
    liar: str | None

    @property
    def cloud(self) -> Cloud:
        return self.desk.cloud

    def lines_of(self, id: str) -> list[str]:
        """What the ledger tells of a box, the newest first."""
        return [e.text for e in self.after.ledger if e.subject is not None and e.subject.id == id]

    def stopped_by(self, policy: str) -> list[str]:
        """The boxes that a policy's ladders have stopped."""
        done = [a for a in self.after.ladders if a.state is ActionState.DONE and a.response.ends_billing]
        return [action.subject.id for action in done if action.policy == policy]


def tell(desk: Desk) -> Story:
    """Lives it through."""
    cloud, server = desk.cloud, desk.cloud.server
    picked = iter(cloud.candidates())
    liar = next(picked)
    spared = {why: next(picked) for why in ("keep tag", "group", "kept", "restarted", "retagged", "woke")}
    cloud.tag(spared["keep tag"], "costguard", "keep")
    cloud.join(spared["group"])
    locked = next(picked)
    if cloud.lock(locked):
        spared["locked"] = locked
    at_work = next(picked)
    if cloud.answer(at_work, 75, "gpu: gpu=87 cpu=30 load=40/2 network=900 disk=100\n"):
        spared["at work"] = at_work
    told_lie = cloud.lie(liar)
    server.denied.add(cloud.denied)

    flaky(server, 1)
    first = desk.run("dry_run")
    server.heal()
    desk.wait(MORNING + 32 * MINUTE)
    quiet = desk.run("dry_run")
    with desk.app("dry_run") as app:
        audit, complete = run_audit(app)
        checks = list(examine(app))
    desk.documents += [json.dumps(audit, ensure_ascii=False), *map(str, checks)]
    looking = cloud.changes()

    def of_liar(request: Any) -> bool:
        """A throttled stop comes back later and may find its place in the hour taken: the liar's must not."""
        return cloud.stop_of(request) == liar

    def of_another(request: Any) -> bool:
        return cloud.stop_of(request) not in (None, liar)

    flaky(server, 2, spare=of_liar)
    warned = desk.run("enforce")
    desk.keep(spared["kept"])
    desk.wait(warned.at + 20 * MINUTE)
    cloud.restart(spared["restarted"])
    cloud.tag(spared["retagged"], "CostGuard ", "Keep")
    cloud.busy.add(spared["woke"])
    desk.wait(warned.at + 34 * MINUTE)
    server.fail(Fault.LOST_ANSWER, on=of_another, times=1)
    server.fail(Fault.THROTTLED, on=of_another, times=1)
    stopped = desk.run("enforce")
    server.heal()
    settled = desk.run("enforce")
    before = desk.state()
    repeated = desk.run("enforce")
    return Story(
        desk, first, quiet, audit, complete, checks, looking, warned, stopped, settled, repeated, before, desk.state(),
        spared, liar if told_lie else None,
    )  # fmt: skip
