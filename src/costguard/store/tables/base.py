"""What all tables share: the metadata with its naming convention, and the columns of a subject."""

from sqlalchemy import BigInteger, Column, Integer, MetaData, Named, TypedColumns

from costguard.domain.finding import SubjectType
from costguard.store.types import FreeText, Word

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows by itself only in an INTEGER column.
AutoId = BigInteger().with_variant(Integer(), "sqlite")


class SubjectColumns(TypedColumns):
    """Columns of a :class:`~costguard.domain.finding.Subject`."""

    subject_key: Named[str]
    subject_type: Named[SubjectType] = Column(Word(SubjectType))
    subject_id: Named[str]
    subject_account: Named[str]
    subject_provider: Named[str]
    subject_region: Named[str]
    subject_kind: Named[str]
    subject_name: Named[str] = Column(FreeText)


class OptionalSubjectColumns(TypedColumns):
    """The same where a row may have no subject."""

    subject_key: Named[str | None]
    subject_type: Named[SubjectType | None] = Column(Word(SubjectType))
    subject_id: Named[str | None]
    subject_account: Named[str | None]
    subject_provider: Named[str | None]
    subject_region: Named[str | None]
    subject_kind: Named[str | None]
    subject_name: Named[str | None] = Column(FreeText)
