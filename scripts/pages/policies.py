"""docs/policies.md: what a policy may say, and every rule kind with its keys and one complete example."""

from pathlib import Path
from typing import Any

from costguard.rules.fields import TimeGrammar
from costguard.rules.kind import RuleKind
from costguard.rules.policy import GpuMatch, Hook, Limits, Match, Policy, Rung
from costguard.rules.registry import RULES
from scripts.pages.markdown import code, table
from scripts.pages.models import model_table, summary

_PARTS = (Match, GpuMatch, Rung, Hook, Limits, TimeGrammar)
_INTRO = """\
A policy is one entry of `policies:` in a YAML file: a rule, what it looks at, and what is done. Durations are
written `45m 8h 7d`, money `"12.50 CNY"`, rates `"12 CNY/h"` or `"1.5 CNY/gpu/h"`, shares `5%`. The starter pack
is in `policies/`, with its tests in `policies/tests/`; how to write tests of your own is in
[policies-tests.md](policies-tests.md).

A rule claims something about a resource only from what it knows: a missing or late input makes it say
*unknown*, and unknown never fires. Rules that may stop boxes for another reason than idleness hold the stop
while the box is busy, or while nobody can tell, unless `when_busy: stop` or `when_unknown: stop` is written.

Rungs ascend. `after` counts from the confirmed delivery of the ladder's first warning; without a warn rung,
from the first round in which the finding held. A stop or release without a warning at least ten minutes before
is an error unless its rung says `unwarned: true`. Several policies on one resource have a ladder each; of the
rungs that are due and allowed the mildest that ends the compute bill acts, then the earliest due, then by name.

**Keeping a box.** Tags `costguard=keep`, `costguard:keep-until=2026-12-01T09:00+08:00` (case, spaces, `-` and
`_` do not matter; a malformed tag keeps and tells the owner), or `costguard keep RESOURCE --for 4h --reason R`."""


def page(root: Path) -> str:
    """The page."""
    index = [
        (f"[{name}](#{name})", kind.title.en, kind.title.zh, "yes" if kind.may_stop else "no")
        for name, kind in RULES.items()
    ]
    parts = ["# Policies", _INTRO, "## Rules at a glance", table(["rule", "", "", "may stop"], index)]
    parts += ["## A policy", model_table(Policy)]
    parts += ["### When", "The rule's own keys: see each rule below."]
    for model in _PARTS:
        parts += [f"### {model.__name__}", summary(model), model_table(model)]
    for kind in RULES.values():
        parts += _rule(kind)
    return "\n\n".join(part for part in parts if part)


def _rule(kind: RuleKind[Any]) -> list[str]:
    keys = model_table(kind.when) if kind.when.model_fields else "It has no keys."
    facts = [f"speaks of: {kind.subject.value}", "" if kind.may_stop else "may not stop or release", _needs(kind)]
    needs = " · ".join(filter(None, facts))
    return [f"## {kind.name}", kind.summary.en, kind.summary.zh, needs, keys, f"```yaml\n{kind.example.rstrip()}\n```"]


def _needs(kind: RuleKind[Any]) -> str:
    names = kind.capabilities(_sample(kind))
    return "needs " + ", ".join(code(name) for name in sorted(names)) if names else ""


def _sample(kind: RuleKind[Any]) -> Any:
    """The `when` of the rule's own example."""
    from ruamel.yaml import YAML

    document = YAML(typ="safe").load(kind.example)
    return kind.when.model_validate(document["policies"][0].get("when", {}))
