"""Holidays: the library's data, the file that beats it, and when it ends."""

from datetime import date
from pathlib import Path

from costguard.config.calendar import calendars, covers, ending
from costguard.domain.time import Calendars
from costguard.errors import ConfigError


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
    assert covers(found, "CN", 2026)
    assert not covers(found, "CN", 2032)
    assert found.get("CN").is_workday(date(2032, 1, 1))
    assert not covers(found, "DE", 2026)


def test_the_file_beats_the_library_for_the_years_it_names(tmp_path: Path) -> None:
    found, errors = load(tmp_path, "CN: {off: [2026-03-03], work: [2026-03-07]}\nDE: {off: [2026-10-03]}\n")
    assert errors == []
    calendar = found.get("CN")
    assert not calendar.is_workday(date(2026, 3, 3))
    assert calendar.is_workday(date(2026, 3, 7))
    assert calendar.is_workday(date(2026, 2, 17)), "2026 is what the file says, and nothing else"
    assert not calendar.is_workday(date(2025, 1, 1)), "other years stay"
    assert covers(found, "DE", 2026)


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
