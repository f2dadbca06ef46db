"""Policies and migrations are found in a wheel and beside a checkout; a broken install says so."""

from pathlib import Path

import pytest

from costguard import assets


@pytest.mark.parametrize("name", ["policies", "migrations"])
def test_the_package_wins_over_the_checkout(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, checkout = tmp_path / "_data", tmp_path / "checkout"
    (checkout / name).mkdir(parents=True)
    monkeypatch.setattr(assets, "_PLACES", (package, checkout))
    assert getattr(assets, name)() == checkout / name
    (package / name).mkdir(parents=True)
    assert getattr(assets, name)() == package / name


def test_a_broken_install_names_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "_PLACES", (tmp_path / "a", tmp_path / "b"))
    with pytest.raises(assets.AssetMissing, match=r"policies/ is neither .*/a .*/b"):
        assets.policies()
