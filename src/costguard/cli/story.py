"""The story of one box in words: first what happens to it, when, why and what would change it; then the signals with
their freshness; then each policy. Codes stay in the JSON document; here each is a sentence.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any

from costguard.cli.console import Column, money, span
from costguard.cli.tables import View, money_of
from costguard.domain.codec import decode
from costguard.notify.doc import Doc
from costguard.notify.words import words
from costguard.rules.reasons import METRICS, amount, sentence

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
        told = f" at {self.when(document['at'])}" if self.past else ""
        self.now = at
        self.screen.say(f"{document['resource']['name']}{told}: {self._headline(document)}", "bold")
        self.screen.facts(self._head(document))
        self._signals(document)
        self.screen.say("")
        for policy in document["policies"]:
            if policy["matched"]:
                self._policy(policy)
        self.screen.facts(_unmatched(document["policies"]))

    # The first lines.

    def _headline(self, document: Mapping[str, Any]) -> str:
        ahead = document["outlook"]
        done = _DONE.get(ahead["response"], ahead["response"])
        at = self._at(ahead["at"])
        match ahead["prospect"]:
            case "under_way":
                return f"it is being {done} right now"
            case "now":
                return f"will be {done} in the next round; nothing is against it"
            case "later":
                again = " after a failure" if _trouble(document) else ""
                return f"will be {done}{again} {at}" if at else f"is to be {done}, but not yet"
            case "dry_run":
                return f"would be {done}{' ' + at if at else ''}, but nothing is done: {self._dry(ahead['code'])}"
            case "refused":
                dues = [
                    x.get("due_at")
                    for p in document["policies"]
                    for x in p["ladders"]
                    if p["policy"] == ahead["policy"]
                ]
                due = self._at(next(filter(None, dues), None))
                return f"is not {done}, although {ahead['policy']} wants it{' ' + due if due else ''}"
        if (waiting := _waiting(document)) and ahead["prospect"] in ("told", "unknown"):
            due = f" at {self.when(waiting['due_at'])}" if waiting["due_at"] else ""
            return f"was to be {_DONE.get(waiting['response'], '')}{due}; that waits until it can be judged again"
        stays = "stays on" if document["resource"]["state"] == "running" else f"is {document['resource']['state']}"
        return f"{stays}; nothing is planned" + (", but people are told" if ahead["prospect"] == "told" else "")

    def _at(self, at: str | None) -> str:
        """``at 09:37, in 28m``; nothing for what has no time or is over."""
        moment = decode(at) if at else None
        return f"at {self.when(at)}, in {span(moment - self.now)}" if moment and moment > self.now else ""

    def _dry(self, code: str) -> str:
        return "the account is not armed" if code == "not_armed" else "this is a dry run"

    def _head(self, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        resource, ahead = document["resource"], document["outlook"]
        yield from (("why", why) for why in self._why(document))
        if ahead["prospect"] in ("later", "dry_run") and ahead["reason"]:
            yield "now", ahead["reason"]
        if trouble := _trouble(document):
            yield "failed", trouble
        if not self.past:
            yield from (("changes", what) for what in _changes(document))
        for policy in document["policies"]:
            for ladder in policy["ladders"]:
                if ladder["outcome"] == "fires" and (policy["policy"] != ahead["policy"] or not ladder["verdict"]):
                    yield "told" if not ladder["verdict"] else "also", self._claim(policy, ladder)
        yield "box", ", ".join(self._box(resource))
        yield "", resource["ref"]
        if document["activity"]["verdict"] != "off":
            yield "activity", f"{document['activity']['verdict']}: {document['activity']['reason']}"
        if document["protection"]:
            yield "keep", document["protection"]["why"]
        troubled: dict[str, list[str]] = {}
        for source in document["sources"]:
            state = "stale" if source["state"] == "ok" and not source["fresh"] else source["state"]
            if state != "ok" or source["error"]:
                what = ": ".join(filter(None, ["" if state == "ok" else state, source["error"]]))
                troubled.setdefault(what, []).append(source["source"])
        yield from (("sources", f"{', '.join(names)}: {what}") for what, names in troubled.items())

    def _why(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of what comes: the claim, and the guard that refuses. Of a box that nothing comes to: why no policy acts."""
        ahead = document["outlook"]
        if ahead["prospect"] == "refused":
            yield ahead["reason"]
        acting = [p for p in document["policies"] if any(ladder["verdict"] for ladder in p["ladders"])]
        if ahead["prospect"] not in ("told", "unknown", "nothing"):
            acting = [p for p in acting if p["policy"] == ahead["policy"]]
        elif not acting:
            # Whoever asks at night asks about the stop.
            yield "no policy that could stop it matches it"
        yield from (self._claim(policy, ladder) for policy in acting for ladder in policy["ladders"])

    def _claim(self, policy: Mapping[str, Any], ladder: Mapping[str, Any]) -> str:
        return f"{policy['policy']}: {self._because(policy, ladder)}"

    def _box(self, resource: Mapping[str, Any]) -> Iterator[str]:
        since = resource["started_at"]
        up = resource["state"] == "running" and since
        yield f"{resource['state']} since {self.when(since)} ({self.ago(since)})" if up else resource["state"]
        price, billed = money_of(resource["price"]), money_of(resource.get("billed_per_hour"))
        yield money(price, "/h") if resource["state"] == "running" else _off_costs(price, billed)
        found = f" ({resource['owner_found_by']})" if resource["owner_found_by"] else ""
        yield f"owner {resource['owner']}{found}" if resource["owner"] else "nobody knows whose it is"

    # The signals.

    def _signals(self, document: Mapping[str, Any]) -> None:
        rows = _asked(document)
        # Which source says what matters most where several speak.
        several = len({s["source"] for s in rows}) > 1
        lines = [(key, list(group)) for key, group in groupby(rows, _series)]
        self.screen.table(
            "\nsignals",
            [
                Column("METRIC"), Column("SOURCE", drop=0 if several else 1), Column("WINDOW", right=True),
                Column("CARDS", right=True), Column("MAX", right=True), Column("MEAN", right=True, drop=2),
                Column("SEEN", right=True), Column("NEWEST", right=True),
            ],
            [
                [
                    METRICS.get(metric, metric), source, span(length),
                    _cards(group), *(_range(metric, [s[which] for s in group]) for which in ("max", "mean")),
                    f"{min(s['coverage'] for s in group):.0%}", f"{span(max(decode(s['age']) for s in group))} ago",
                ]
                for (metric, source, length, _), group in lines
            ],
            "\nno usage samples at all: unknown, and so never stopped for being idle"
            if document["resource"]["state"] == "running" else "\nno usage samples: it does not run",
        )  # fmt: skip
        longest = {(m, s): group for (m, s, _, _), group in lines if len(group) > 1}
        self.screen.facts(
            ("", f"{METRICS.get(metric, metric)} of each card in {span(decode(group[0]['window']))} ({source}): "
            + " · ".join(f"{s['gpu_index']} {amount(metric, s['max'])}" for s in group))
            for (metric, source), group in longest.items()
        )  # fmt: skip

    # Each policy.

    def _policy(self, policy: Mapping[str, Any]) -> None:
        mode, own = policy["effective_mode"].replace("_", " "), policy["mode"].replace("_", " ")
        said = mode if mode == own else f"{mode}; its own mode: {own}"
        self.screen.say(f"{policy['policy']} ({policy['rule']}, {said})", "bold")
        self.screen.facts(line for ladder in policy["ladders"] for line in self._ladder(policy, ladder))

    def _ladder(self, policy: Mapping[str, Any], ladder: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        outcome = {"fires": "fires", "clear": "clear", "unknown": "unknown"}[ladder["outcome"]]
        step = f"{ladder['threshold']}: " if ladder["threshold"] else ""
        yield outcome, step + self._because(policy, ladder)
        heard = (ladder["action"] or {}).get("heard", ())
        if len(heard) > 1:
            told = ", ".join(f"{one['owner']} {self.when(one['at'])}" for one in heard)
            yield "warned", f"{told}: its owner changed, and each is warned for the whole grace"
        verdict = ladder["verdict"]
        if not verdict or ladder["outcome"] != "fires":
            return
        due = f", due {self.when(ladder['due_at'])}" if ladder["due_at"] else ""
        answer = {"allow": "nothing is against it", "defer": "waits", "deny": "no"}[verdict["answer"]]
        yield ladder["response"], f"{answer}{': ' + verdict['reason'] if verdict['reason'] else ''}{due}"
        for guard in ladder["guards"]:
            if guard["answer"] != "allow" and guard["code"] != verdict["code"]:
                yield "also", guard["reason"]

    def _because(self, policy: Mapping[str, Any], ladder: Mapping[str, Any]) -> str:
        """The claim in numbers, or why there is none."""
        if ladder["outcome"] == "fires":
            facts = {"rule": policy["rule"], "evidence": ladder["evidence"], "since": ladder["since"]}
            at = {"at": self.now.isoformat()}
            if told := words("en").evidence(Doc({**facts, **at}), self.now, self.zone):
                return told
        return sentence(ladder["reason"], decode(ladder["evidence"]))


def _trouble(document: Mapping[str, Any]) -> str:
    """How the last attempt ended that is to be repeated; empty when there is none."""
    for action in document["actions"]:
        if action["error"] and action.get("retry_at"):
            return f"attempt {action['attempt']}: {action['error']} (`costguard explain --action {action['id']}`)"
    return ""


def _waiting(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An open ladder whose rule cannot judge the box now: it neither acts nor ends."""
    for policy in document["policies"]:
        for ladder in policy["ladders"]:
            if ladder["outcome"] == "unknown" and ladder["action"] and ladder["verdict"]:
                return {**ladder, "policy": policy["policy"]}
    return None


def _changes(document: Mapping[str, Any]) -> Iterator[str]:
    """What people can do about what comes; of what does not come, what would have to be otherwise."""
    ahead, resource = document["outlook"], document["resource"]
    waiting = _waiting(document)
    if ahead["prospect"] in _COMING or waiting:
        name, policy = resource["ref"].rpartition("/")[2], waiting["policy"] if waiting else ahead["policy"]
        ids = [a["id"] for a in document["actions"] if a["policy"] == policy and not a["dry_run"]]
        cancel = f", or `costguard cancel {ids[0]}`" if ids else ""
        yield f"work on it, `costguard keep {name} --for 4h`{cancel}"
    elif ahead["prospect"] == "refused":
        ladders = [x for p in document["policies"] if p["policy"] == ahead["policy"] for x in p["ladders"]]
        # The reason stands above; what the ladder would meet after that is with its policy.
        yield from (change.split(" (", 1)[0] for x in ladders if x["verdict"] for change in x["changes"][:1])
    if ahead["prospect"] == "unknown":
        yield "what is missing arrives: `costguard doctor --metrics` says what to install"


def _unmatched(policies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Those that are not for this box, by why not."""
    by_reason: dict[str, list[str]] = {}
    for policy in policies:
        if not policy["matched"]:
            by_reason.setdefault(policy["why_not"], []).append(policy["policy"])
    for reason, names in by_reason.items():
        yield "no match", f"{', '.join(names)}: {reason}"


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


def _cards(group: Sequence[Mapping[str, Any]]) -> str:
    """How many cards the row speaks of: each by itself, or one number over all of them (``all 8``)."""
    if group[0]["gpu_index"] is not None:
        return str(len(group))
    return f"all {group[0]['cards']}" if group[0]["cards"] > 1 else "-"


def _range(metric: str, values: Iterable[float]) -> str:
    """``0.0%``, and where cards differ ``3.0%–99.9%``."""
    found = sorted(values)
    low, high = amount(metric, found[0]), amount(metric, found[-1])
    return high if low == high else f"{low}–{high}"


def _off_costs(price: Any, billed: Any) -> str:
    if billed is None:
        return "whether it is charged while off is not known" if price else "-"
    return f"off and still charged {billed}/h" if billed.nanos else "not charged while off"
