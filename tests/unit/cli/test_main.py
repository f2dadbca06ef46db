import subprocess
import sys

import pytest

from costguard.cli.main import MODULES, registered


@pytest.mark.parametrize("module", MODULES)
def test_a_module_registers_what_the_command_line_looks_for_in_it(module: str) -> None:
    assert tuple(registered(module)) == MODULES[module]


def test_a_command_loads_its_own_module_alone() -> None:
    """What a training loop calls often, counted: no other command, no configuration and no models."""
    probe = (
        "import sys; from costguard.cli.main import main\n"
        "try: main(['heartbeat', '--help'])\nexcept SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stderr.split())
    assert {name for name in MODULES if f"costguard.cli.{name}" in loaded} == {"levers"}
    assert not {"costguard.config", "costguard.rules.policy", "httpx", "sqlalchemy"} & loaded
