"""The shared checks say what was wrong as test modules do."""

import pytest

pytest.register_assert_rewrite("tests.fleets.checks")
