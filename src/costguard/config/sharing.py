"""Settings of shared costs: what everybody causes, and how it is divided in reports."""

from fractions import Fraction
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from costguard.config.texts import Name
from costguard.rules.fields import Percent, Strict
from costguard.rules.policy import Texts


class SharedMatch(Strict):
    """Which costs are shared. Keys AND, lists OR, as in a policy's match; at least one key."""

    accounts: Texts = ()
    """Globs on the account's name."""

    services: Texts = ()
    """Globs on the service as the bill or the estimate calls it, case ignored."""

    names: Texts = ()
    """Globs on the resource's name."""

    tags: dict[str, Texts] = Field({})
    """Tag values of the resource, as they were at the time."""

    teams: Texts = ()
    """Whose cost it is otherwise, like a platform team's."""

    unallocated: bool = False
    """Only what has neither owner nor team."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("says nothing: give accounts, services, names, tags, teams or unallocated")
        return self


class SharedCost(Strict):
    """One rule of ``shared``. The first that fits a cost divides it; parts add up to the nano."""

    name: Name
    """How reports call it."""

    match: SharedMatch
    """Which costs."""

    to: Literal["team", "owner", "project"] = "team"
    """Among what it is divided."""

    split: Literal["even", "by_cost"] | dict[str, Percent] = "by_cost"
    """even: the same for each · by_cost: by what each one itself cost in the calendar month · a map of names to
    percentages: what is left of 100% stays where it was."""

    among: Texts = ()
    """Who takes part. Left out: each one with a cost of its own in that month."""

    @field_validator("split")
    @classmethod
    def _whole(cls, split: str | dict[str, float]) -> str | dict[str, float]:
        if isinstance(split, dict):
            if not split:
                raise ValueError("an empty map divides nothing: name the parts, or write even or by_cost")
            if (given := sum(Fraction(str(share)) for share in split.values())) > 100:
                raise ValueError(f"the parts are {float(given):g}% of the whole: at most 100%")
        return split

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.among and isinstance(self.split, dict):
            raise ValueError("among goes with even and by_cost; a map of parts names them itself")
        return self
