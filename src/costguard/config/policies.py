"""Policy files: read, typed, and checked against everything else that is configured.

A policy is checked here as far as that is possible without the network: its ladder, the names it uses, and whether the
accounts it matches can do what it needs. What it decides is the engine's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costguard.config import hints, ladders, metrics, problems, yaml
from costguard.config.accounts import BoundAccount
from costguard.config.references import OWNER, Names, expect, expect_provider, texts, unique
from costguard.config.settings import Settings
from costguard.config.yaml import Document, Loc
from costguard.domain.decision import Response
from costguard.domain.resource import Kind
from costguard.errors import ConfigError
from costguard.plugins.manifest import OPTIONAL_CAPABILITIES
from costguard.rules.globs import glob
from costguard.rules.policy import Match, Policy
from costguard.rules.registry import RULES, policy_model

_MAX_NOT = 4
_CAPABILITY_OF_KIND = {Kind.NOTEBOOK: "notebooks", Kind.JOB: "jobs", Kind.ENDPOINT: "endpoints"}
_CAPABILITY_OF_RESPONSE = {
    Response.STOP: "stop",
    Response.RELEASE: "release",
    Response.SET_RELEASE_TIME: "set_release_time",
    Response.TAG: "tags",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """A policy and where it stands."""

    policy: Policy
    document: Document
    loc: Loc


@dataclass(frozen=True, slots=True)
class Findings:
    """Where checks put what they find."""

    errors: list[ConfigError]
    warnings: list[ConfigError]


def files(entry: str, folder: Path) -> list[Path] | None:
    """The policy files that one entry of ``policies:`` names; of a folder those directly inside. None: not there."""
    path = folder / entry
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml") and p.is_file())
    return [path] if path.is_file() else None


def read_file(path: Path, env: Mapping[str, str], found: Findings) -> tuple[Document | None, list[Placed]]:
    """One file and its policies; mistakes are appended, and a policy with one is left out."""
    document = yaml.read(path, env, found.errors)
    if document is None:
        return None, []
    data = document.data
    if data is None:
        found.warnings.append(document.error((), "holds no policy"))
        return None, []
    if not isinstance(data, dict) or "policies" not in data:
        looks_like_one = isinstance(data, list) or (isinstance(data, dict) and "rule" in data)
        hint = 'a file starts with "policies:" and a list' if looks_like_one else None
        found.errors.append(document.error((), "a policy file needs the key policies", hint=hint))
        return None, []
    for key in data:
        if key != "policies" and not key.startswith("x-"):
            message = "unknown key; a policy file has only policies (and keys that start with x-, for anchors)"
            found.errors.append(document.error((key,), message, key=True))
    listed = data["policies"]
    if not isinstance(listed, list):
        found.errors.append(document.error(("policies",), "a list of policies is expected"))
        return None, []
    placed = (_parse(document, ("policies", index), found.errors) for index in range(len(listed)))
    return document, [one for one in placed if one is not None]


def _parse(document: Document, loc: Loc, errors: list[ConfigError]) -> Placed | None:
    data = document.at(loc)
    if not isinstance(data, dict):
        errors.append(document.error(loc, "a policy is a mapping with name, rule, match, when and respond"))
        return None
    policy = parse(document, loc, data, errors)
    return Placed(policy, document, loc) if policy is not None else None


def parse(document: Document, loc: Loc, data: Mapping[str, Any], errors: list[ConfigError]) -> Policy | None:
    """The policy at ``loc``; each of its mistakes is appended, also those in what its rule has no part in."""
    rule = data.get("rule")
    model = policy_model(rule) if isinstance(rule, str) and rule in RULES else None
    if model is not None and (policy := problems.validate(model, document, loc, errors)) is not None:
        return policy
    if rule is None:
        errors.append(document.error((*loc, "rule"), "this key is required", key=True))
    elif not isinstance(rule, str):
        errors.append(document.error((*loc, "rule"), "the name of a rule is expected"))
    elif model is None:
        hint = hints.value_hint("rule", rule, RULES) or f"rules: {', '.join(RULES)}"
        errors.append(document.error((*loc, "rule"), f"unknown rule {rule!r}", hint=hint))
    told = errors if model is None else []  # what the rule's own model had to say has been said
    bare = problems.validate(Policy, document, loc, told, data={**data, "rule": str(rule), "when": {}})
    if bare is not None:
        ladders.check(bare, document, loc, errors, [])
    return None


def check(documents: Sequence[Document], placed: Sequence[Placed], names: Names, found: Findings) -> None:
    """What can be told of policies whatever else is wrong: their names, their ladders, the names they use."""
    given = ((d, loc, name) for d in documents for loc, name in texts(d, ("policies", "*", "name")))
    unique(given, found.errors, "policy name")
    for document in documents:
        for loc, name in texts(document, ("policies", "*", "respond", "*", "to")):
            expect(name, "channel or owner", names.targets, document, loc, found.errors)
        for index in range(len(document.data["policies"])):
            _match_names(document, ("policies", index, "match"), names, found)
    for one in placed:
        ladders.check(one.policy, one.document, one.loc, found.errors, found.warnings)


def check_against(
    placed: Sequence[Placed], settings: Settings, accounts: Mapping[str, BoundAccount], found: Findings
) -> None:
    """Whether the matched accounts can do what each policy needs, and whether anybody would be warned."""
    monitored = metrics.capabilities(settings.metrics, accounts)
    for one in placed:
        matched = matched_accounts(one.policy, accounts)
        if accounts and not matched:
            found.warnings.append(one.document.error((*one.loc, "match"), "matches no configured account"))
        elif matched:
            _capabilities(one, matched, monitored, found)
            _release(one, matched, found)
        _channels(one, settings, found)


def matched_accounts(policy: Policy, accounts: Mapping[str, BoundAccount]) -> dict[str, BoundAccount]:
    """The accounts that ``match`` does not rule out by name or provider."""
    match = policy.match
    if not isinstance(match, Match):
        return dict(accounts)
    names = glob(match.accounts) if match.accounts is not None else None
    return {
        name: account
        for name, account in accounts.items()
        if (names is None or names.match(name)) and (match.providers is None or account.manifest.id in match.providers)
    }


def _match_names(document: Document, match: Loc, names: Names, found: Findings) -> None:
    """The names in a match and in each ``not`` inside it."""
    for depth in range(_MAX_NOT):
        inside = (*match, *("not",) * depth)
        for loc, name in texts(document, (*inside, "accounts")):
            if "*" not in name:
                expect(name, "account", names.accounts, document, loc, found.errors)
            elif not any(glob((name,)).match(account) for account in names.accounts):
                found.warnings.append(document.error(loc, f"no account fits {name!r}"))
        for loc, name in texts(document, (*inside, "providers")):
            expect_provider(name, document, loc, found.errors)
        for loc, name in texts(document, (*inside, "owners")):
            expect(name, "owner", names.owners, document, loc, found.errors)


def _capabilities(
    one: Placed, matched: Mapping[str, BoundAccount], monitored: Mapping[str, frozenset[str]], found: Findings
) -> None:
    """``monitored``: what metrics sources can tell of each account's boxes, whatever its provider says."""
    policy = one.policy
    needs: dict[str, Loc] = dict.fromkeys(sorted(RULES[policy.rule].capabilities(policy.when)), (*one.loc, "rule"))
    for index, rung in enumerate(policy.respond):
        capability = _CAPABILITY_OF_RESPONSE.get(rung.do)
        if capability is not None:
            needs.setdefault(capability, (*one.loc, "respond", index, "do"))
        if rung.hook is not None and rung.hook.on == "instance":
            needs.setdefault("commands", (*one.loc, "respond", index, "hook", "on"))
    for capability, loc in needs.items():
        alone = {name: account for name, account in matched.items() if capability not in monitored.get(name, ())}
        _need(capability, loc, one, alone, found, only=len(alone) == len(matched))
    kinds = policy.match.kinds if isinstance(policy.match, Match) else None
    for index, kind in enumerate(kinds or ()):
        if kind in _CAPABILITY_OF_KIND:
            where = (*one.loc, "match", "kinds", index)
            # One of several kinds that is not listed here takes nothing from the others.
            _need(_CAPABILITY_OF_KIND[kind], where, one, matched, found, only=len(kinds or ()) == 1)


def _need(
    capability: str, loc: Loc, one: Placed, matched: Mapping[str, BoundAccount], found: Findings, *, only: bool = True
) -> None:
    """An error when no matched account has the capability (a warning unless ``only``), a warning when some lack it."""
    support = {name: account.manifest.support(capability) for name, account in matched.items()}
    lacking = [name for name, level in support.items() if not level.usable]
    if not lacking:
        return
    said = ", ".join(sorted({f"{matched[name].manifest.id} says {support[name]}" for name in lacking}))
    message = f"policy {one.policy.name} needs {capability}; {said}"
    untold = capability in OPTIONAL_CAPABILITIES and any(level.level == "unknown" for level in support.values())
    if len(lacking) == len(matched) and only and not untold:
        found.errors.append(one.document.error(loc, message))
    else:
        found.warnings.append(one.document.error(loc, f"{message}: it will not work in {', '.join(lacking)}"))


def _release(one: Placed, matched: Mapping[str, BoundAccount], found: Findings) -> None:
    """Destroying, and setting a timer that destroys, is only ever done where the account says so."""
    asked: list[tuple[Loc, str]] = [
        ((*one.loc, "respond", index, "do"), f"do: {rung.do.value}")
        for index, rung in enumerate(one.policy.respond)
        if rung.do in (Response.RELEASE, Response.SET_RELEASE_TIME)
    ]
    if getattr(one.policy.when, "backstop", False):
        asked.append(((*one.loc, "when", "backstop"), "backstop"))
    refused = [name for name, account in matched.items() if not account.spec.allow_release]
    for loc, what in asked:
        if refused and len(refused) == len(matched):
            message = f"{what} destroys, and no matched account says allow_release: true"
            found.errors.append(one.document.error(loc, message))
        elif refused:
            message = f"{what} destroys, and is refused in {', '.join(refused)}: no allow_release"
            found.warnings.append(one.document.error(loc, message))


def _channels(one: Placed, settings: Settings, found: Findings) -> None:
    policy = one.policy
    if not any(rung.do.acts for rung in policy.respond):
        return
    enforced = settings.mode == "enforce" and policy.mode == "enforce"
    if enforced and not settings.channels:
        message = "enforce without any channel: nobody would be warned, so nothing would ever be stopped"
        found.errors.append(
            one.document.error((*one.loc, "name"), message, hint="configure channels and notify.default")
        )
        return
    if not enforced or settings.notify.default:
        return
    owners = {owner.name for owner in settings.owners}
    for index, rung in enumerate(policy.respond):
        reached = [name for name in rung.to or () if name != OWNER and name not in owners]
        if rung.do is Response.WARN and not reached:
            message = "reaches nobody when the owner is not known: name a channel, or set notify.default"
            found.errors.append(one.document.error((*one.loc, "respond", index), message))
