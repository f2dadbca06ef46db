"""For people who write adapters and channels: the suites that judge them, builders of facts, a clock.

Needs pytest. Nothing in costguard itself imports this package.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"costguard.testing.{module}"
        for module in (
            "adapter_contract", "billing_contract", "channel_contract", "contract", "fault_contract",
            "inventory_contract", "manifest_contract", "power_contract", "usage_contract",
        )
    )
)  # fmt: skip
