"""Every exception that costguard raises on purpose.

CostguardError
├─ ConfigError(file, line, column, path, message, hint)     exit 78, printed like a compiler's
├─ ConfigErrors(errors)                                     all of them at once
├─ UsageError                                               exit 2: what was asked makes no sense
├─ AddressTaken                                             exit 75: somebody else listens there
├─ BillErrors: BillError(file, row, column)                 exit 69: a file of a bill that cannot be read as one
├─ ProviderError(provider, account, operation, code, request_id)
│   ├─ AuthFailed · PermissionDenied(missing) · NotFound · InvalidState
│   ├─ QuotaExceeded · Unsupported(capability)              never retried
│   ├─ Throttled(after) · Unavailable · TimedOut            reads are retried; a mutation only after an
│   │                                                       explicit throttle refusal and a fresh look
│   └─ BadResponse(where)                                   schema drift: redacted excerpt, alerts
├─ StoreError: StaleWrite · LeaseLost · SchemaBehind
├─ ActionAbandoned: SituationChanged · GuardRefused(code) · HookFailed
└─ DeliveryError(channel, reason: auth|rate|payload|server|timeout|maybe_delivered)

Messages are made of our own words and the vendor's *code*; a vendor's message text is never matched
on, and never copied unless redacted and cut.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal


class CostguardError(Exception):
    """Base of the tree."""


class ConfigError(CostguardError):
    """A mistake in a file at a place. ``str()`` is ``file:line:col: path: message (hint)``; line 0: the whole file."""

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int = 0,
        column: int = 0,
        path: str = "",
        hint: str | None = None,
    ) -> None:
        self.message, self.file, self.line, self.column = message, file, line, column
        self.path, self.hint = path, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        path = f"{self.path}: " if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.place}{path}{self.message}{hint}"

    @property
    def place(self) -> str:
        """Where it is, as compilers write it: ``file:line:column: ``; empty for what is in no file."""
        if not self.file:
            return ""
        return f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: "


class ConfigErrors(CostguardError):
    """All errors of all files of one run. ``language`` is what the configuration asks for, where that can be read."""

    def __init__(self, errors: Sequence[ConfigError], language: str = "") -> None:
        self.errors, self.language = tuple(errors), language
        super().__init__("\n".join(str(e) for e in self.errors))


class UsageError(CostguardError):
    """A command that cannot mean anything (exit 2). ``candidates`` lists what was ambiguous."""

    def __init__(self, message: str, candidates: Sequence[str] = ()) -> None:
        self.candidates = tuple(candidates)
        super().__init__(message)


class UndoneBefore(UsageError):
    """Somebody asked for the same undo a moment ago; ``by`` is who."""

    def __init__(self, message: str, by: str) -> None:
        self.by = by
        super().__init__(message)


class AddressTaken(CostguardError):
    """The page's address cannot be listened on (exit 75): another process has it, or this machine does not."""


class BillError(CostguardError):
    """A place in a file of a bill that cannot be read. ``str()`` is ``file: row 17, BilledCost: message``.

    ``row`` counts as a spreadsheet does: the header is row 1. 0 means the file as a whole.
    """

    def __init__(self, message: str, *, file: str = "", row: int = 0, column: str = "") -> None:
        self.message, self.file, self.row, self.column = message, file, row, column
        super().__init__(str(self))

    def __str__(self) -> str:
        place = ", ".join(part for part in (f"row {self.row}" if self.row else "", self.column) if part)
        return ": ".join(part for part in (self.file, place, self.message) if part)


class BillErrors(CostguardError):
    """What is wrong with the files of one import; nothing of them was stored."""

    def __init__(self, errors: Sequence[BillError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(e) for e in self.errors))


class ProviderError(CostguardError):
    """A provider's API said no, or nothing. ``code`` is the vendor's code, ``detail`` our sentence."""

    retryable = False

    def __init__(
        self,
        detail: str,
        *,
        provider: str,
        account: str = "",
        operation: str = "",
        code: str = "",
        request_id: str = "",
    ) -> None:
        self.detail, self.provider, self.account = detail, provider, account
        self.operation, self.code, self.request_id = operation, code, request_id
        super().__init__(detail)

    def __str__(self) -> str:
        where = "/".join(p for p in (self.provider, self.account) if p)
        what = " ".join(p for p in (self.operation, self.code) if p)
        request = f" [request {self.request_id}]" if self.request_id else ""
        return f"{where}: {what + ': ' if what else ''}{self.detail}{request}"


class AuthFailed(ProviderError):
    """The credentials are wrong or expired."""


class PermissionDenied(ProviderError):
    """The credentials are right but may not do this. ``missing`` names the permission."""

    def __init__(self, detail: str, *, missing: str = "", **kwargs: str) -> None:
        self.missing = missing
        super().__init__(detail, **kwargs)


class NotFound(ProviderError):
    """The resource is gone."""


class InvalidState(ProviderError):
    """The resource's state or a protection forbids the call."""


class QuotaExceeded(ProviderError):
    """An account quota or the type's stock is exhausted."""


class Unsupported(ProviderError):
    """The provider cannot do this for this resource. ``capability`` names what."""

    def __init__(self, detail: str, *, capability: str = "", **kwargs: str) -> None:
        self.capability = capability
        super().__init__(detail, **kwargs)


class Throttled(ProviderError):
    """An explicit refusal for too many calls: nothing was done. ``after`` is how long to wait."""

    retryable = True

    def __init__(self, detail: str, *, after: timedelta = timedelta(seconds=5), **kwargs: str) -> None:
        self.after = after
        super().__init__(detail, **kwargs)


class Unavailable(ProviderError):
    """The API answered with a server error or the connection failed: the outcome is not known."""

    retryable = True


class TimedOut(ProviderError):
    """No answer within the deadline: the outcome is not known."""

    retryable = True


class BadResponse(ProviderError):
    """An answer that does not have the documented shape. ``where`` names the field."""

    def __init__(self, detail: str, *, where: str = "", **kwargs: str) -> None:
        self.where = where
        super().__init__(detail, **kwargs)


class StoreError(CostguardError):
    """The database refused."""


class StaleWrite(StoreError):
    """Somebody else changed the row since it was read."""


class LeaseLost(StoreError):
    """Another process leads now; nothing more may be done with the old token."""


class SchemaBehind(StoreError):
    """The database's schema is not the one this version needs."""


class ActionAbandoned(CostguardError):
    """An action ends quietly, without having acted."""


class SituationChanged(ActionAbandoned):
    """The fresh look no longer shows what the action was decided on."""


class GuardRefused(ActionAbandoned):
    """A guard said no at the last look. ``code`` is a GuardCode value."""

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        super().__init__(reason)


class HookFailed(ActionAbandoned):
    """A hook failed and the policy says hold."""


DeliveryReason = Literal["auth", "rate", "payload", "server", "timeout", "maybe_delivered"]


class DeliveryError(CostguardError):
    """A channel did not accept a message.

    ``reason``: auth and payload need a person; rate pauses the whole channel until ``retry_at``;
    server and timeout are retried; maybe_delivered is retried with the same key where there is one.
    """

    def __init__(
        self,
        channel: str,
        reason: DeliveryReason,
        detail: str,
        *,
        code: str = "",
        retry_at: datetime | None = None,
        hint: str | None = None,
    ) -> None:
        self.channel, self.reason, self.detail = channel, reason, detail
        self.code, self.retry_at, self.hint = code, retry_at, hint
        super().__init__(detail)

    def __str__(self) -> str:
        code = f" {self.code}" if self.code else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"channel {self.channel}: {self.reason}{code}: {self.detail}{hint}"
