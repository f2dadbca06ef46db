"""Holidays: the library's data, the file that beats it, and when it ends."""

from datetime import date
from pathlib import Path

import pytest

from costguard.config.calendar import calendars, ending
from costguard.config.load import load as load_all
from costguard.domain.time import Calendars
from costguard.errors import ConfigError, ConfigErrors


def load(tmp_path: Path, text: str) -> tuple[Calendars, list[str]]:
    errors: list[ConfigError] = []
    (tmp_path / "days.yaml").write_text(text)
    found = calendars(tmp_path / "days.yaml", "days.yaml", errors)
    return found, [str(error) for error in errors]


def test_chinese_holidays_and_make_up_days() -> None:
    """D13: Spring Festival is off, the Saturday that makes up for it is worked."""
    calendar = calendars(None, "", []).get("CN")
    assert not calendar.is_workday(date(2026, 2, 17))
    assert calendar.is_workday(date(2026, 2, 14))
    assert calendar.is_workday(date(2026, 2, 12))
    assert not calendar.is_workday(date(2026, 2, 8))


def test_a_year_without_data_falls_back_to_weekdays() -> None:
    """D12: the first tick of a year that the data does not cover."""
    found = calendars(None, "", [])
    assert 2026 in found.get("CN").years
    assert 2032 not in found.get("CN").years
    assert found.get("CN").is_workday(date(2032, 1, 1))


def test_the_file_beats_the_library_for_the_years_it_names(tmp_path: Path) -> None:
    found, errors = load(tmp_path, "CN: {off: [2026-03-03], work: [2026-03-07]}\nDE: {off: [2026-10-03]}\n")
    assert errors == []
    calendar = found.get("CN")
    assert not calendar.is_workday(date(2026, 3, 3))
    assert calendar.is_workday(date(2026, 3, 7))
    assert calendar.is_workday(date(2026, 2, 17)), "2026 is what the file says, and nothing else"
    assert not calendar.is_workday(date(2025, 1, 1)), "other years stay"
    assert found.get("DE").years == {2026}


def test_mistakes_in_the_file_are_told_at_their_place(tmp_path: Path) -> None:
    text = "China: {}\nCN:\n  off: [2026-13-01, 2026-01-01]\nDE: {off: [2026-01-01], work: [2026-01-01], x: 1}\n"
    assert load(tmp_path, text)[1] == [
        "days.yaml:1:1: China: not a country code of two capital letters, like CN",
        "days.yaml:3:9: CN.off[0]: a date is expected, like 2026-01-31",
        "days.yaml:4:45: DE.x: unknown key",
    ]
    assert "is both off and work" in load(tmp_path, "CN: {off: [2026-01-01], work: [2026-01-01]}")[1][0]
    assert "a holidays file is" in load(tmp_path, "- 2026-01-01")[1][0]


def test_doctor_can_warn_sixty_days_ahead(tmp_path: Path) -> None:
    found, _ = load(tmp_path, "CN: {off: [2030-01-01]}")
    assert ending(found, date(2030, 10, 1)) == ()
    (end,) = ending(found, date(2030, 11, 10))
    assert (end.country, end.last) == ("CN", date(2030, 12, 31))
    assert ending(found, date(2031, 6, 1)) != ()


POLICIES = """
policies:
  - {name: night, rule: schedule, match: all, when: {off: [{days: restdays}], holidays: DE}, respond: [{do: notify}]}
  - {name: money, rule: balance, when: {days_left_below: 3d, cover_holidays: FR}, respond: [{do: notify}]}
"""


def test_a_country_without_data_is_a_mistake(tmp_path: Path) -> None:
    """D12: its holidays would be workdays, and nobody would hear of it."""
    (tmp_path / "policies.yaml").write_text(POLICIES)
    path = tmp_path / "costguard.yaml"
    path.write_text("version: 1\nholidays: US\npolicies: [policies.yaml]\n")
    with pytest.raises(ConfigErrors) as caught:
        load_all(path, {})
    said = [(error.line, str(error).partition("error: ")[2] or str(error)) for error in caught.value.errors]
    assert [line for line, _ in said] == [2, 3, 4]
    assert all("no public holidays of" in text and "holidays_file" in text for _, text in said)
    (tmp_path / "days.yaml").write_text(
        "".join(f"{country}: {{off: [2026-10-03]}}\n" for country in ("DE", "FR", "US"))
    )
    path.write_text(path.read_text() + "holidays_file: days.yaml\n")
    assert load_all(path, {}).settings.country() == "US"
