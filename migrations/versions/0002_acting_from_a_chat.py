"""Acting from a chat: when a person asked for a stop at once, and messages that are one person's alone.

Revision 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("action", sa.Column("hastened_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("notice", sa.Column("personal", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("notice", "personal")
    op.drop_column("action", "hastened_at")
