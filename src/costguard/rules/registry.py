"""The registry: every rule kind by name, and the policy models derived from them.

To add a rule: write its file, add its line to ``_KINDS``. Nothing else knows the list.
"""

from functools import cache, reduce
from operator import or_
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, create_model

from costguard.rules.anomaly import ANOMALY
from costguard.rules.balance import BALANCE
from costguard.rules.budget import BUDGET
from costguard.rules.expiry import EXPIRY
from costguard.rules.idle import IDLE
from costguard.rules.kind import RuleKind
from costguard.rules.lifetime import LIFETIME
from costguard.rules.policy import Policy
from costguard.rules.quota import QUOTA
from costguard.rules.schedule import SCHEDULE
from costguard.rules.spot_price import SPOT_PRICE
from costguard.rules.still_billed import STILL_BILLED
from costguard.rules.stuck import STUCK
from costguard.rules.underused import UNDERUSED
from costguard.rules.unmonitored import UNMONITORED
from costguard.rules.untagged import UNTAGGED
from costguard.rules.waste import WASTE

_KINDS: tuple[RuleKind[Any], ...] = (
    IDLE,
    STUCK,
    UNDERUSED,
    LIFETIME,
    SCHEDULE,
    SPOT_PRICE,
    BUDGET,
    BALANCE,
    ANOMALY,
    WASTE,
    STILL_BILLED,
    UNTAGGED,
    UNMONITORED,
    QUOTA,
    EXPIRY,
)

RULES = MappingProxyType({kind.name: kind for kind in _KINDS})


@cache
def policy_model(rule: str) -> type[Policy]:
    """Policy with this rule's ``when``, made when the rule is first used; ``when`` may be left out if the rule has a
    default for every key. Raises KeyError for a rule that is not registered."""
    kind = RULES[rule]
    required = any(field.is_required() for field in kind.when.model_fields.values())
    try:
        default = ... if required else kind.when()
    except ValueError:  # every key has a default, but one of several must be chosen
        default = ...
    name = "".join(part.capitalize() for part in kind.name.split("_"))
    fields: dict[str, Any] = {
        "rule": (Literal[kind.name], Field(description=kind.summary.en)),
        "when": (kind.when, Field(default, description=kind.title.en)),
    }
    model: type[Policy] = create_model(f"{name}Policy", __base__=Policy, __doc__=kind.summary.en, **fields)
    return model


@cache
def _adapter() -> TypeAdapter[Policy]:
    models: Any = reduce(or_, map(policy_model, RULES))
    return TypeAdapter(Annotated[models, Field(discriminator="rule")])


def parse_policy(data: object) -> Policy:
    """One policy from plain data (a dict as YAML gives it). Raises pydantic's ValidationError."""
    return _adapter().validate_python(data)


def policy_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one policy, discriminated on ``rule``."""
    return _adapter().json_schema(by_alias=True)


def kind_of(policy: Policy) -> RuleKind[Any]:
    """The rule kind behind a policy."""
    return RULES[policy.rule]
