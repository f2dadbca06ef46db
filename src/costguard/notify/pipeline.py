"""The delivery of one channel: mute → group → dedup → send → record, one message at a time.

Routing has happened when a notice was queued. There is one worker for each channel; two of them (a replica that
has not yet noticed that it lost the lease) do no harm beyond what at-least-once allows. All state is in the outbox.
"""

import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from costguard.domain.notice import Notice, NoticeKind, NoticeState, Receipt, SendReason
from costguard.errors import DeliveryError, StaleWrite
from costguard.notify.bulletins import channel_facts
from costguard.notify.dedup import dedup
from costguard.notify.group import covers, digest, groups, is_group, to_fold
from costguard.notify.mute import QuietHours, held_until, may_mention
from costguard.notify.outbox import ChannelHealth, HealthState, Outbox
from costguard.notify.pace import backoff, next_slot
from costguard.notify.render import render
from costguard.notify.route import Draft, Person, Routing, fallback_copy, route
from costguard.notify.settings import DeliverySettings
from costguard.ports import Channel, Clock, Directory, Message

log = logging.getLogger(__name__)

CHILD_HOLD = timedelta(hours=1)
CLAIM_AT_ONCE = 500
_RANDOM = secrets.SystemRandom()
_DOUBTFUL = ("maybe_delivered", "interrupted")


@dataclass(frozen=True, slots=True)
class Delivery:
    """The configuration of the delivery; read anew for each message, so that a reload takes effect."""

    routing: Routing
    settings: DeliverySettings = field(default_factory=DeliverySettings)
    quiet: QuietHours | None = None
    timezone: str = "Asia/Shanghai"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, for logs and metrics. ``outcome`` is ``sent`` or a DeliveryReason."""

    channel: str
    kind: NoticeKind
    outcome: str
    number: int
    code: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """What one run did. ``next_at``: when it is worth running again; None when nothing waits."""

    sent: int
    next_at: datetime | None


def log_attempt(attempt: Attempt) -> None:
    """The default observer: one line for each attempt."""
    level = logging.INFO if attempt.outcome == "sent" else logging.WARNING
    log.log(
        level, "channel %s: %s %s (attempt %d)%s", attempt.channel, attempt.kind.value, attempt.outcome,
        attempt.number, f" {attempt.code}" if attempt.code else "",
    )  # fmt: skip


class ChannelWorker:
    """Delivers one channel's notices. ``worker`` names the lease; ``jitter`` gives numbers in [0, 1)."""

    def __init__(
        self,
        channel: Channel,
        outbox: Outbox,
        delivery: Callable[[], Delivery],
        clock: Clock,
        worker: str,
        *,
        observe: Callable[[Attempt], None] = log_attempt,
        jitter: Callable[[], float] = _RANDOM.random,
    ) -> None:
        self.channel, self._outbox, self._delivery, self._clock = channel, outbox, delivery, clock
        self._worker, self._observe, self._jitter = worker, observe, jitter
        self._last_try: datetime | None = None

    def run_once(self) -> Tick:
        """Sends at most one message, if the channel may be used now; tidies the queue in any case."""
        now, name = self._clock.now(), self.channel.name
        waiting = self._outbox.waiting(name)
        if any(n.not_after and n.not_after < now for n in waiting):
            self._outbox.expire(now)
            waiting = self._outbox.waiting(name)
        waiting = self._supersede(waiting)
        health = self._outbox.health(name)
        if health.paused_until and health.paused_until > now:
            if health.state is HealthState.BROKEN:
                self._divert(waiting, now)
            return Tick(0, health.paused_until if waiting else None)
        due = [n for n in waiting if (n.next_at is None or n.next_at <= now) and n.reason is not SendReason.DIGESTED]
        if to_fold(due, self.channel.max_per_minute, self._delivery().settings):
            self._fold(now)
        slot = self._slot()
        if slot and slot > now:
            return Tick(0, slot if waiting else None)
        sent = 0
        settings = self._delivery().settings
        while not sent and (claimed := self._outbox.claim(name, self._worker, now, settings.lease, 1)):
            notice = claimed[0]
            reason = self._admit(notice, now)
            if reason is None:
                continue
            sent = int(self._send(notice, reason, now))
            if not sent:
                break
        return Tick(sent, self._next(now))

    # ── before sending ──────────────────────────────────────────────────────────────────────────────────

    def _supersede(self, waiting: Sequence[Notice]) -> list[Notice]:
        """Only the newest unsent message of an alert is sent, and what is told after its end besides."""
        newest: dict[str, datetime] = {}
        for notice in waiting:
            if not notice.kind.after_the_end:
                newest[notice.alert_key] = max(notice.created_at, newest.get(notice.alert_key, notice.created_at))
        old = {n.alert_key for n in waiting if n.created_at < newest.get(n.alert_key, n.created_at)}
        for alert_key in sorted(old):
            self._outbox.supersede(alert_key, self.channel.name, newest[alert_key])
        return [n for n in waiting if n.created_at >= newest.get(n.alert_key, n.created_at)]

    def _fold(self, now: datetime) -> None:
        """Puts the due messages together where several are of one kind."""
        settings = self._delivery().settings
        claimed = self._outbox.claim(self.channel.name, self._worker, now, settings.lease, CLAIM_AT_ONCE)
        admitted = [n for n in claimed if self._admit(n, now) is not None]
        folded: set[str] = set()
        for members in groups(admitted, settings.digest_size):
            ids = [n.id for n in members]
            try:
                self._outbox.fold(digest(members, now), ids, self._worker, now + CHILD_HOLD)
            except StaleWrite:
                # Another worker took some of them after our lease ran out; it decides about all it has.
                log.warning("channel %s: %d messages are no longer ours", self.channel.name, len(ids))
            folded.update(ids)
        for notice in admitted:
            if notice.id not in folded:
                self._outbox.retry(notice.id, self._worker, next_at=now, error=notice.last_error or "")

    def _admit(self, notice: Notice, now: datetime) -> SendReason | None:
        """Why a claimed notice is sent now; None when it is not (and its row already says why)."""
        delivery = self._delivery()
        if notice.reason is SendReason.DIGESTED and self._in_digest(notice, now):
            return None
        if now - notice.created_at > delivery.settings.max_age:
            self._outbox.dead(notice.id, self._worker, error=notice.last_error or "not delivered in time")
            return None
        if until := held_until(notice, now, delivery.quiet):
            self._outbox.retry(notice.id, self._worker, next_at=until, error="", reason=SendReason.QUIET_HOURS)
            return None
        if is_group(notice):
            return SendReason.FIRST
        if notice.fallback_of and notice.owner_route:
            # The owner has not been told yet, whatever this channel already shows to others.
            return SendReason.FALLBACK
        last = self._outbox.last_sent(notice.alert_key, self.channel.name)
        send, reason = dedup(notice, last, now, delivery.settings.repeat_of(notice.kind))
        if not send:
            self._outbox.suppress(notice.id, reason)
            return None
        if notice.fallback_of:
            return SendReason.FALLBACK
        return SendReason.RETRY if reason is SendReason.FIRST and notice.last_error else reason

    def _in_digest(self, notice: Notice, now: datetime) -> bool:
        """Whether the digest that names this notice is still on its way."""
        whole = self._outbox.get(notice.last_error or "")
        if whole is None or whole.state not in (NoticeState.PENDING, NoticeState.SENDING):
            return False
        self._outbox.retry(
            notice.id, self._worker, next_at=now + CHILD_HOLD, error=whole.id, reason=SendReason.DIGESTED
        )
        return True

    def _slot(self) -> datetime | None:
        """Accepted and refused calls both count against the platform's limit."""
        times = [at for at in (self._last_try, self._outbox.last_sent_at(self.channel.name)) if at]
        return next_slot(max(times, default=None), self.channel.max_per_minute)

    def _next(self, now: datetime) -> datetime | None:
        waiting = self._outbox.waiting(self.channel.name)
        if not waiting:
            return None
        times = [min(n.next_at or now for n in waiting), self._slot() or now]
        paused = self._outbox.health(self.channel.name).paused_until
        return max([*times, paused] if paused else times)

    # ── sending ─────────────────────────────────────────────────────────────────────────────────────────

    def _send(self, notice: Notice, reason: SendReason, now: datetime) -> bool:
        self._last_try = now
        try:
            receipt = self._try(self._message(notice, now))
        except DeliveryError as error:
            self._observe(Attempt(self.channel.name, notice.kind, error.reason, notice.attempts, error.code))
            self._failed(notice, error, now)
            return False
        self._observe(Attempt(self.channel.name, notice.kind, "sent", notice.attempts))
        try:
            self._outbox.sent(notice, self._clock.now(), receipt, reason, covers(notice))
        except StaleWrite:
            # Whoever took it over after our lease ran out has recorded it, or it was called off meanwhile.
            log.warning("channel %s: notice %s was recorded by another", self.channel.name, notice.id)
        if notice.fallback_of:
            self._outbox.suppress(notice.fallback_of, SendReason.FALLBACK)
        self._recovered(now)
        return True

    def _message(self, notice: Notice, now: datetime) -> Message:
        delivery = self._delivery()
        people = [delivery.routing.people[name] for name in notice.mention if name in delivery.routing.people]
        handles = {person.name: handle for person in people if (handle := self._handle(person))}
        mentions = handles if self._addressed or may_mention(now, delivery.quiet) else {}
        doubtful = (notice.last_error or "").startswith(_DOUBTFUL) and not self.channel.idempotent
        message = render(
            notice.facts, fmt=self.channel.render_format, language=notice.language or delivery.routing.language,
            now=now, idem_key=notice.idem_key, mentions=mentions, repeat=doubtful,
        )  # fmt: skip
        alone = is_group(notice) or notice.kind.recurs
        return replace(
            message,
            to=next(iter(handles.values()), None) if notice.personal else None,
            follows=None if alone else self._outbox.began(notice),
            outcome=notice.kind.outcome or notice.facts.get("recovered") is True,
        )

    def _handle(self, person: Person) -> str | None:
        """How the platform knows a person: as configured, or by the address."""
        handle = person.handle(self.channel.kind)
        if handle is None and person.email and isinstance(self.channel, Directory):
            try:
                return self.channel.find(person.email)
            except DeliveryError as error:
                # The message goes out all the same, and mentions nobody.
                log.info("channel %s: %s could not be looked up: %s", self.channel.name, person.name, error)
        return handle

    @property
    def _addressed(self) -> bool:
        """Whether a mention is how the message reaches a person at all: a mail without the address never does, and
        it disturbs nobody's night."""
        return self.channel.kind == "email"

    def _try(self, message: Message) -> Receipt:
        """The message; if the platform refuses what is in it, its plain text, once."""
        try:
            return self.channel.send(message)
        except DeliveryError as error:
            if error.reason != "payload" or message.plain:
                raise
            log.warning("channel %s refused a message (%s); sending its plain text", self.channel.name, error.code)
        plain = replace(
            message, body=message.fallback, payload={}, plain=True, idem_key=f"{message.idem_key}p",
            mentions=message.mentions if self._addressed else (),
        )  # fmt: skip
        return self.channel.send(plain)

    # ── after a failure ─────────────────────────────────────────────────────────────────────────────────

    def _failed(self, notice: Notice, error: DeliveryError, now: datetime) -> None:
        settings = self._delivery().settings
        told = f"{error.reason}{f' {error.code}' if error.code else ''}: {error.detail}"
        wait = backoff(notice.attempts, settings, self._jitter())
        next_at = max(now + wait, error.retry_at or now)
        lost = False
        match error.reason:
            case "payload":
                lost = True
            case "rate":
                next_at = error.retry_at or now + settings.recheck
                self._unwell(HealthState.PAUSED, error, now, next_at)
            case "auth":
                next_at = now + settings.recheck
                self._unwell(HealthState.BROKEN, error, now, next_at)
            case "maybe_delivered" if not self.channel.idempotent:
                lost = (notice.last_error or "").startswith(_DOUBTFUL)
                next_at = max(next_at, now + settings.doubt)
                self._unwell(HealthState.FAILING, error, now, None)
            case _:
                self._unwell(HealthState.FAILING, error, now, None)
        if lost:
            self._outbox.dead(notice.id, self._worker, error=told)
        else:
            self._outbox.retry(notice.id, self._worker, next_at=next_at, error=told)
        warning = notice.kind is NoticeKind.WARN
        if error.reason == "auth" or (warning and (lost or notice.attempts >= settings.fallback_after)):
            self._divert([notice], now)

    def _divert(self, notices: Iterable[Notice], now: datetime) -> None:
        """Copies for the fallback channel; the originals stay until the copies are accepted."""
        routing = self._delivery().routing
        place = routing.places.get(self.channel.name)
        target = routing.places.get(place.fallback) if place and place.fallback else None
        if target is None:
            return
        language = target.language or routing.language
        self._outbox.enqueue(
            [fallback_copy(n, target.name, now, language) for n in notices if n.reason is not SendReason.DIGESTED]
        )

    def _unwell(self, state: HealthState, error: DeliveryError, now: datetime, until: datetime | None) -> None:
        before = self._outbox.health(self.channel.name)
        since = before.since if before.state is state else now
        health = ChannelHealth(
            self.channel.name, state, since, until, error.reason, f"{error.code}: {error.detail}", error.hint
        )
        if health != before:
            self._outbox.save_health(health, now)
        if state is HealthState.BROKEN and before.state is not HealthState.BROKEN:
            log.error("channel %s is broken: %s", self.channel.name, error)
            self._tell_elsewhere(health, now, recovered=False)

    def _recovered(self, now: datetime) -> None:
        before = self._outbox.health(self.channel.name)
        if before.state is HealthState.OK:
            return
        self._outbox.save_health(ChannelHealth(self.channel.name, HealthState.OK, now), now)
        log.info("channel %s works again", self.channel.name)
        if before.state is HealthState.BROKEN:
            self._tell_elsewhere(before, now, recovered=True)

    def _tell_elsewhere(self, health: ChannelHealth, now: datetime, *, recovered: bool) -> None:
        """That a channel is broken is said on its fallback, else on the first other default channel."""
        delivery = self._delivery()
        routing, name = delivery.routing, self.channel.name
        place = routing.places.get(name)
        candidates = [place.fallback if place else None, *routing.default, *routing.places]
        target = next((c for c in candidates if c and c != name and c in routing.places), None)
        if target is None:
            return
        facts = channel_facts(
            channel=name, reason=health.reason, detail=health.error, hint=health.hint, now=now,
            timezone=delivery.timezone, waiting=len(self._outbox.waiting(name)), recovered=recovered,
        )  # fmt: skip
        key = f"channel/{name}/{now.isoformat()}"
        self._outbox.enqueue(route(Draft(NoticeKind.SOURCE, f"channel/{name}", key, facts, now, to=(target,)), routing))


def drain(workers: Sequence[ChannelWorker], clock: Clock, limit: timedelta) -> int:
    """Delivers what is due within ``limit``, waiting for the pace of the channels; returns how many were sent."""
    ends = clock.now() + limit
    sent = 0
    while True:
        ticks = [worker.run_once() for worker in workers]
        sent += sum(tick.sent for tick in ticks)
        times = [tick.next_at for tick in ticks if tick.next_at is not None and tick.next_at <= ends]
        if not times:
            return sent
        clock.sleep(max(0.0, (min(times) - clock.now()).total_seconds()))
