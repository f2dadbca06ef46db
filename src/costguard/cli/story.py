"""The story of one box in words: first what happens to it, when, why and what would change it; then the signals with
their freshness; then each policy. Codes stay in the JSON document; here each is a sentence.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any

from costguard.cli.console import Column, money, span
from costguard.cli.tables import View, money_of
from costguard.cli.words import activity, metric_name, reading, rule, source, state
from costguard.domain.codec import decode
from costguard.notify.doc import Doc
from costguard.notify.words import words
from costguard.rules.reasons import amount, sentence

_DONE = {
    "stop": "stopped", "release": "released", "tag": "tagged", "set_release_time": "given a release timer",
    "run": "given its script",
}  # fmt: skip
_COMING = frozenset({"now", "later", "dry_run"})
_MOMENT = timedelta(minutes=1)
_GUARDED = timedelta(minutes=30)  # what the busy guard looks at, whatever the policies ask


class Story(View):
    """Renders ``costguard.explain/1``."""

    past = False

    def tell(self, document: Mapping[str, Any]) -> None:
        at = decode(document["at"])
        # Of an earlier moment everything is told as of then, and nobody can do anything about it now.
        self.past = self.now - at > _MOMENT
        when, self.now = self.when(document["at"]), at
        name, what = document["resource"]["name"], self._headline(document)
        self.screen.say(self.t("story.then" if self.past else "story.now", name=name, at=when, what=what), "bold")
        self.screen.facts(self._head(document))
        self._signals(document)
        self.screen.say("")
        for policy in document["policies"]:
            if policy["matched"]:
                self._policy(policy)
        self.screen.facts(self._unmatched(document["policies"]))

    # The first lines.

    def _headline(self, document: Mapping[str, Any]) -> str:
        ahead = document["outlook"]
        done, at = self._done(ahead["response"]), self._at(ahead["at"])
        match ahead["prospect"]:
            case "under_way":
                return self.t("story.under_way", done=done)
            case "now":
                return self.t("story.next", done=done)
            case "later":
                key = "not_yet" if not at else "again" if self._trouble(document) else "later"
                return self.t(f"story.{key}", done=done, at=at)
            case "dry_run":
                why = self.t("story.not_armed" if ahead["code"] == "not_armed" else "story.dry_run")
                return self.t("story.dry_at" if at else "story.dry", done=done, at=at, why=why)
            case "refused":
                dues = [
                    x.get("due_at")
                    for p in document["policies"]
                    for x in p["ladders"]
                    if p["policy"] == ahead["policy"]
                ]
                due = self._at(next(filter(None, dues), None))
                key = "story.refused_at" if due else "story.refused"
                return self.t(key, done=done, policy=ahead["policy"], at=due)
        if (waiting := _waiting(document)) and ahead["prospect"] in ("told", "unknown"):
            key = "story.waits_at" if waiting["due_at"] else "story.waits"
            return self.t(key, done=self._done(waiting["response"]), at=self.when(waiting["due_at"]))
        told, resource = "_told" if ahead["prospect"] == "told" else "", document["resource"]["state"]
        key = "story.stays" if resource == "running" else "story.is"
        return self.t(key + told, state=state(resource, self.language))

    def _done(self, response: str) -> str:
        """What a response makes of a box, inside a sentence."""
        return self.do({}, response) if self.language == "zh" else _DONE.get(response, response)

    def _at(self, at: str | None) -> str:
        """``at 09:37, in 28m``; nothing for what has no time or is over."""
        moment = decode(at) if at else None
        if moment is None or moment <= self.now:
            return ""
        return self.t("story.at", at=self.when(at), left=span(moment - self.now, self.language))

    def _head(self, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        resource, ahead = document["resource"], document["outlook"]
        yield from ((self.t("label.why"), why) for why in self._why(document))
        if ahead["prospect"] in ("later", "dry_run") and ahead["reason"]:
            yield self.t("label.now"), self.say(ahead["reason"])
        if trouble := self._trouble(document):
            yield self.t("label.failed"), trouble
        if not self.past:
            yield from ((self.t("label.changes"), what) for what in self._changes(document))
        for policy in document["policies"]:
            for ladder in policy["ladders"]:
                if ladder["outcome"] == "fires" and (policy["policy"] != ahead["policy"] or not ladder["verdict"]):
                    key = "label.told" if not ladder["verdict"] else "label.also"
                    yield self.t(key), self._claim(policy, ladder)
        yield self.t("label.box"), self.screen.comma.join(self._box(resource))
        yield "", resource["ref"]
        colon = self.screen.colon
        if (seen := document["activity"])["verdict"] != "off":
            said = activity(seen["verdict"], self.language) + colon + self.say(seen["reason"])
            yield self.t("label.activity"), said
        if document["protection"]:
            yield self.t("label.keep"), self.say(document["protection"]["why"])
        troubled: dict[str, list[str]] = {}
        for one in document["sources"]:
            how = "stale" if one["state"] == "ok" and not one["fresh"] else one["state"]
            if how != "ok" or one["error"]:
                read = "" if how == "ok" else reading(how, self.language)
                what = colon.join(filter(None, [read, self.say(one["error"] or "")]))
                troubled.setdefault(what, []).append(source(one["source"], self.language))
        for what, names in troubled.items():
            yield self.t("label.sources"), self.screen.list_comma.join(names) + colon + what

    def _why(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of what comes: the claim, and the guard that refuses. Of a box that nothing comes to: why no policy acts."""
        ahead = document["outlook"]
        if ahead["prospect"] == "refused":
            yield self.say(ahead["reason"])
        acting = [p for p in document["policies"] if any(ladder["verdict"] for ladder in p["ladders"])]
        if ahead["prospect"] not in ("told", "unknown", "nothing"):
            acting = [p for p in acting if p["policy"] == ahead["policy"]]
        elif not acting:
            # Whoever asks at night asks about the stop.
            yield self.t("story.no_policy")
        yield from (self._claim(policy, ladder) for policy in acting for ladder in policy["ladders"])

    def _claim(self, policy: Mapping[str, Any], ladder: Mapping[str, Any]) -> str:
        return f"{policy['policy']}{self.screen.colon}{self._because(policy, ladder)}"

    def _box(self, resource: Mapping[str, Any]) -> Iterator[str]:
        since, now = resource["started_at"], state(resource["state"], self.language)
        running = resource["state"] == "running"
        up = running and since
        yield self.t("story.since", state=now, at=self.when(since), ago=self.ago(since)) if up else now
        price, billed = money_of(resource["price"]), money_of(resource.get("billed_per_hour"))
        yield money(price, "/h") if running else self._off_costs(price, billed)
        if not resource["owner"]:
            yield self.t("story.nobody")
            return
        by = resource["owner_found_by"] or ""
        found = words("zh").owner_found(by) if self.language == "zh" else f" ({by})" if by else ""
        yield self.t("story.owner", owner=resource["owner"], found=found)

    def _off_costs(self, price: Any, billed: Any) -> str:
        if billed is None:
            return self.t("story.off_unknown") if price else "-"
        return self.t("story.off", billed=billed) if billed.nanos else self.t("story.off_free")

    # The signals.

    def _signals(self, document: Mapping[str, Any]) -> None:
        rows = _asked(document)
        # Which source says what matters most where several speak.
        several = len({s["source"] for s in rows}) > 1
        lines = [(key, list(group)) for key, group in groupby(rows, _series)]
        t = self.t
        self.screen.table(
            "\n" + t("signals"),
            [
                Column(t("signals.metric")), Column(t("source"), drop=0 if several else 1),
                Column(t("signals.window"), right=True), Column(t("signals.cards"), right=True),
                Column(t("signals.max"), right=True), Column(t("signals.mean"), right=True, drop=2),
                Column(t("signals.seen"), right=True), Column(t("signals.newest"), right=True),
            ],
            [
                [
                    metric_name(metric, self.language), origin, span(length, self.language), self._cards(group),
                    *(self._range(metric, [s[which] for s in group]) for which in ("max", "mean")),
                    f"{min(s['coverage'] for s in group):.0%}",
                    t("signals.ago", span=span(max(decode(s["age"]) for s in group), self.language)),
                ]
                for (metric, origin, length, _), group in lines
            ],
            "\n" + t("signals.none" if document["resource"]["state"] == "running" else "signals.off"),
        )  # fmt: skip
        longest = {(m, s): group for (m, s, _, _), group in lines if len(group) > 1}
        for (metric, origin), group in longest.items():
            each = t(
                "signals.each",
                metric=metric_name(metric, self.language), source=origin,
                span=span(decode(group[0]["window"]), self.language),
                cards=" · ".join(f"{s['gpu_index']} {self._amount(metric, s['max'])}" for s in group),
            )  # fmt: skip
            self.screen.facts([("", each)])

    def _cards(self, group: Sequence[Mapping[str, Any]]) -> str:
        """How many cards the row speaks of: each by itself, or one number over all of them (``all 8``)."""
        if group[0]["gpu_index"] is not None:
            return str(len(group))
        return self.t("signals.all", n=group[0]["cards"]) if group[0]["cards"] > 1 else "-"

    def _range(self, metric: str, values: Iterable[float]) -> str:
        """``0.0%``, and where cards differ ``3.0%–99.9%``."""
        found = sorted(values)
        low, high = self._amount(metric, found[0]), self._amount(metric, found[-1])
        return high if low == high else f"{low}–{high}"

    def _amount(self, metric: str, value: float) -> str:
        said = amount(metric, value)
        return said.replace(" cores", " 核") if self.language == "zh" else said

    # Each policy.

    def _policy(self, policy: Mapping[str, Any]) -> None:
        mode, own = (self.t(f"mode.plain.{policy[key]}") for key in ("effective_mode", "mode"))
        key = "story.mode" if mode == own else "story.own_mode"
        named = rule(policy["rule"], self.language)
        self.screen.say(self.t(key, policy=policy["policy"], rule=named, mode=mode, own=own), "bold")
        self.screen.facts(line for ladder in policy["ladders"] for line in self._ladder(policy, ladder))

    def _ladder(self, policy: Mapping[str, Any], ladder: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        step = ladder["threshold"] + self.screen.colon if ladder["threshold"] else ""
        yield self.t(f"label.{ladder['outcome']}"), step + self._because(policy, ladder)
        heard = (ladder["action"] or {}).get("heard", ())
        if len(heard) > 1:
            told = self.screen.list_comma.join(f"{one['owner']} {self.when(one['at'])}" for one in heard)
            yield self.t("label.warned"), self.t("story.heard", told=told)
        verdict = ladder["verdict"]
        if not verdict or ladder["outcome"] != "fires":
            return
        due = self.t("story.due", at=self.when(ladder["due_at"])) if ladder["due_at"] else ""
        reason = self.screen.colon + self.say(verdict["reason"]) if verdict["reason"] else ""
        yield self.do({}, ladder["response"]), self.t(f"story.{verdict['answer']}") + reason + due
        for guard in ladder["guards"]:
            if guard["answer"] != "allow" and guard["code"] != verdict["code"]:
                yield self.t("label.also"), self.say(guard["reason"])

    def _because(self, policy: Mapping[str, Any], ladder: Mapping[str, Any]) -> str:
        """The claim in numbers, or why there is none."""
        if ladder["outcome"] == "fires":
            facts = {"rule": policy["rule"], "evidence": ladder["evidence"], "since": ladder["since"]}
            at = {"at": self.now.isoformat()}
            if told := words(self.language).evidence(Doc({**facts, **at}), self.now, self.zone):
                return told
        return self.say(sentence(ladder["reason"], decode(ladder["evidence"])))

    def _trouble(self, document: Mapping[str, Any]) -> str:
        """How the last attempt ended that is to be repeated; empty when there is none."""
        for action in document["actions"]:
            if action["error"] and action.get("retry_at"):
                error = self.say(action["error"])
                return self.t("story.attempt", n=action["attempt"], error=error, id=action["id"])
        return ""

    def _changes(self, document: Mapping[str, Any]) -> Iterator[str]:
        """What people can do about what comes; of what does not come, what would have to be otherwise."""
        ahead, resource = document["outlook"], document["resource"]
        waiting = _waiting(document)
        if ahead["prospect"] in _COMING or waiting:
            name, policy = resource["ref"].rpartition("/")[2], waiting["policy"] if waiting else ahead["policy"]
            ids = [a["id"] for a in document["actions"] if a["policy"] == policy and not a["dry_run"]]
            yield self.t("story.keep", name=name) + (self.t("story.cancel", id=ids[0]) if ids else "")
        elif ahead["prospect"] == "refused":
            ladders = [x for p in document["policies"] if p["policy"] == ahead["policy"] for x in p["ladders"]]
            # The reason stands above; what the ladder would meet after that is with its policy.
            for ladder in ladders:
                if ladder["verdict"]:
                    yield from (self.say(change.split(" (", 1)[0]) for change in ladder["changes"][:1])
        if ahead["prospect"] == "unknown":
            yield self.t("story.missing")

    def _unmatched(self, policies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
        """Those that are not for this box, by why not."""
        by_reason: dict[str, list[str]] = {}
        for policy in policies:
            if not policy["matched"]:
                by_reason.setdefault(policy["why_not"], []).append(policy["policy"])
        for reason, names in by_reason.items():
            named = self.screen.list_comma.join(names)
            yield self.t("label.no_match"), named + self.screen.colon + self.say(reason)


def _waiting(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An open ladder whose rule cannot judge the box now: it neither acts nor ends."""
    for policy in document["policies"]:
        for ladder in policy["ladders"]:
            if ladder["outcome"] == "unknown" and ladder["action"] and ladder["verdict"]:
                return {**ladder, "policy": policy["policy"]}
    return None


def _asked(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The signals that a policy for this box asks for, and those that the guards look at before every stop."""
    wanted = {
        (window["metric"], decode(window["window"])) for p in document["policies"] for window in p.get("windows", ())
    }
    rows = [
        s for s in document["signals"]
        if (s["metric"], decode(s["window"])) in wanted or decode(s["window"]) == _GUARDED
    ]  # fmt: skip
    return rows or list(document["signals"])


def _series(signal: Mapping[str, Any]) -> tuple[str, str, timedelta, bool]:
    return signal["metric"], signal["source"], decode(signal["window"]), signal["gpu_index"] is None
