"""Public holidays: the ``chinesecalendar`` package's data, and a file that beats it.

The package's data ends with a year, as the State Council announces the next one each November. A year without data
falls back to weekdays; :func:`ending` says so in time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from costguard.config import problems, yaml
from costguard.config.yaml import Document, Loc
from costguard.domain.time import Calendar, Calendars
from costguard.errors import ConfigError
from costguard.rules.fields import Strict
from costguard.rules.schedule import OF_THE_ZONE

WARN_BEFORE = timedelta(days=60)


class CountryDays(Strict):
    """One country in a holidays file."""

    off: tuple[date, ...] = ()
    """Days off that the weekday does not tell."""

    work: tuple[date, ...] = ()
    """Days worked although they are a Saturday or Sunday (调休)."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Holiday data that ends soon or has ended. ``last`` is the last day covered."""

    country: str
    last: date


def calendars(path: Path | None, label: str, errors: list[ConfigError]) -> Calendars:
    """The library's calendars, with the years of the file at ``path`` replaced by what the file says."""
    by_country = {"CN": _chinese()}
    if path is None:
        return Calendars(by_country)
    document = yaml.read(path, {}, errors, label=label)
    if document is None:
        return Calendars(by_country)
    if not isinstance(document.data, dict):
        errors.append(document.error((), "a holidays file is {CN: {off: [DATE], work: [DATE]}}"))
        return Calendars(by_country)
    for country in document.data:
        if not (len(country) == 2 and country.isascii() and country.isupper()):
            errors.append(document.error((country,), "not a country code of two capital letters, like CN", key=True))
            continue
        days = problems.validate(CountryDays, document, (country,), errors)
        if days is not None:
            both = sorted(set(days.off) & set(days.work))
            if both:
                errors.append(document.error((country, "work"), f"{both[0]} is both off and work"))
            by_country[country] = _replaced(by_country.get(country, Calendar()), days)
    return Calendars(by_country)


def check(found: Calendars, wanted: Iterable[tuple[Document, Loc, object]], errors: list[ConfigError]) -> None:
    """Every country that is asked for has data: without any, its holidays would silently be workdays."""
    for document, loc, country in wanted:
        if isinstance(country, str) and country not in (OF_THE_ZONE, *found.by_country):
            known = ", ".join(sorted(found.by_country))
            hint = f"known are {known}; write the days of {country} in a holidays_file, or holidays: null"
            errors.append(document.error(loc, f"no public holidays of {country} are known", hint=hint))


def ending(found: Calendars, today: date) -> tuple[Ending, ...]:
    """Countries whose data ends within 60 days of ``today``, or has ended."""
    ends = [
        Ending(country, date(max(calendar.years), 12, 31))
        for country, calendar in sorted(found.by_country.items())
        if calendar.years
    ]
    return tuple(end for end in ends if end.last - today < WARN_BEFORE)


def _chinese() -> Calendar:
    # Imported here: only those who read a configuration need the tables.
    from chinese_calendar import constants

    off, work = frozenset(constants.holidays), frozenset(constants.workdays)
    return Calendar(off, work, frozenset(day.year for day in off))


def _replaced(library: Calendar, days: CountryDays) -> Calendar:
    years = {day.year for day in (*days.off, *days.work)}
    return Calendar(
        frozenset(day for day in library.off if day.year not in years) | frozenset(days.off),
        frozenset(day for day in library.work if day.year not in years) | frozenset(days.work),
        library.years | years,
    )
