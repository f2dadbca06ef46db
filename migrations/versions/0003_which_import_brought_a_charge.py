"""Which import brought a charge; NULL for what the provider's API told.

Revision 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("charge", schema=None) as batch_op:
        batch_op.add_column(sa.Column("import_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("charge", schema=None) as batch_op:
        batch_op.drop_column("import_id")
