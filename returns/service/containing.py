"""A fault in handling one part stays with that part."""

from __future__ import annotations

from types import TracebackType
from typing import cast

from returns.ports import StorageUnavailable


class Contained:
    """Keeps an exception of its block in ``fault`` instead of raising it. Cancellation passes through."""

    __slots__ = ("fault",)

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self.fault: Exception | None = None

    def __enter__(self) -> Contained:
        """Begin the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Keep an ordinary exception; let everything else through."""
        if isinstance(error, Exception):
            self.fault = _unwrapped(error)
            return True
        return False


def _unwrapped(error: Exception) -> Exception:
    """A task group wraps what its tasks raise; storage that could not be had is no fault however many met it."""
    if not isinstance(error, ExceptionGroup):
        return error
    inner = [_unwrapped(each) for each in cast("ExceptionGroup[Exception]", error).exceptions]
    return next((each for each in inner if not isinstance(each, StorageUnavailable)), inner[0])


def describe(fault: Exception) -> str:
    """The kind of a fault and where it arose; never its message, which may hold what is private."""
    if isinstance(fault, ExceptionGroup):
        return describe(cast("ExceptionGroup[Exception]", fault).exceptions[0])
    trace = fault.__traceback__
    if trace is None:
        return type(fault).__name__
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", "?"))
    return f"{type(fault).__name__} in {module}:{trace.tb_lineno}"
