"""untagged: a resource that lacks the tags which say whose it is. Advice only."""

from collections.abc import Iterator, Sequence

from pydantic import Field

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import Snapshot
from costguard.rules.globs import folded_tag
from costguard.rules.kind import RuleKind, Words, judged
from costguard.rules.policy import Texts, When


class UntaggedWhen(When):
    """``owner`` and ``team`` also count as told when a person claimed the resource or an owner's names fit."""

    require: Texts = Field(("owner", "team"), min_length=1, description="tag keys that each resource must carry")


def _told(resource: Resource, key: str) -> bool:
    assert resource.tags is not None
    found = folded_tag(resource.tags, key)
    if found is not None and found[1].strip():
        return True
    return (key == "owner" and bool(resource.owner)) or (key == "team" and bool(resource.team))


def judge(when: UntaggedWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    for resource in resources:
        if resource.state in (State.GONE, State.DELETING):
            yield judged(resource, Outcome.CLEAR, "gone")
        elif resource.tags is None:
            yield judged(resource, Outcome.UNKNOWN, "tags_unreadable")
        elif missing := tuple(key for key in when.require if not _told(resource, key)):
            yield judged(
                resource,
                Outcome.FIRES,
                "tags_missing",
                since=resource.created_at or resource.started_at or snapshot.now,
                evidence={"missing": missing, "creator": resource.creator, "price": resource.price},
            )
        else:
            yield judged(resource, Outcome.CLEAR, "tagged")


UNTAGGED = RuleKind(
    name="untagged",
    when=UntaggedWhen,
    judge=judge,
    may_stop=False,
    capabilities=lambda when: frozenset({"tags"}),
    title=Words("Nobody's resource", "缺少标签"),
    summary=Words(
        "A resource without the tags that say whose it is; names the creator where the provider tells. Advice only.",
        "资源缺少说明归属的标签；如云厂商提供，则列出创建者。只提醒，不操作。",
    ),
    example="""\
policies:
  - name: name-your-boxes
    rule: untagged
    match: {kinds: [vm, notebook, disk]}
    when: {require: [owner, team]}
    respond:
      - {do: notify, to: [ops]}
""",
)
