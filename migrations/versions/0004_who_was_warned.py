"""Which owners a ladder has warned, and when.

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("action", sa.Column("heard", sa.Text(), nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("action", "heard")
