"""A wheel and an editable install both carry, or find, everything that costguard needs at run time."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from costguard import __version__, assets
from tests.repo.checkout import ROOT, tracked

SITE = sysconfig.get_paths()["purelib"]
SNIPPET = """
import importlib.metadata, sys
sys.path[:0] = sys.argv[1:3]          # the wheel first, then the locked dependencies, whose .pth files are not read
import costguard
from costguard import assets
assert costguard.__file__.startswith(sys.argv[1]), costguard.__file__
for folder in (assets.policies(), assets.migrations()):
    assert str(folder).startswith(sys.argv[1]), folder
assert list(assets.policies().glob("*.yaml")), "no starter policies"
assert (assets.migrations() / "env.py").is_file()
[wheel] = importlib.metadata.distributions(name="costguard", path=[sys.argv[1]])
for point in wheel.entry_points.select(group="costguard.adapters"):
    adapter = point.load()
    module = sys.modules[point.module]
    assert module.__file__.startswith(sys.argv[1]), module.__file__
sdks = {"boto3", "botocore", "aliyunsdkcore", "tencentcloud", "slack_sdk", "dingtalk_stream"} & set(sys.modules)
assert not sdks, f"imported without an account: {sdks}"
from costguard.cli.main import main
print(costguard.__version__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [built] = folder.glob("costguard-*.whl")
    return built


def test_the_wheel_carries_every_tracked_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = set()
    for path in tracked():
        if path.parts[0] in {"src", "adapters"}:
            wanted.add("/".join(path.parts[1:]))
        elif path.parts[0] in {"policies", "migrations"}:
            wanted.add(f"costguard/_data/{path.as_posix()}")
    assert wanted - names == set()
    assert not [name for name in names if name.startswith(("tests/", "src/", "adapters/"))]


def test_an_installed_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    uv = Path(sys.executable).parent / "uv"
    install = [str(uv), "pip", "install", "--quiet", "--offline", "--no-deps", "--python", sys.executable]
    if not uv.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True, capture_output=True)
    # -S keeps the editable install's path file out; -I keeps the working folder and PYTHONPATH out.
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SNIPPET, str(target), SITE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == __version__


def test_an_editable_install_finds_its_files_beside_the_package() -> None:
    assert assets.policies() == ROOT / "policies"
    assert assets.migrations() == ROOT / "migrations"
    assert (assets.migrations() / "env.py").is_file()
