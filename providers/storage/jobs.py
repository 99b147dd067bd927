"""A closure on its way: made in the event loop, performed in a worker thread, settled in the event loop again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Generic, Protocol, TypeVar, cast

from sqlalchemy import Connection

from returns.ports import Together

T = TypeVar("T")


class Work(Protocol):
    """A job without the type of its result, as the workers see it."""

    dropped: bool
    """Its waiter went away: it need not be started."""

    @property
    def together(self) -> Together[object, object] | None:
        """The closure, where it can be performed together with others."""
        ...

    def perform(self, connection: Connection) -> BaseException | None:
        """Run the closure and keep its outcome, in place of an earlier one; the error, if it raised one."""
        ...

    def keep(self, value: object) -> None:
        """Let ``value``, which is of the closure's type, be the outcome."""
        ...

    def fail(self, error: BaseException) -> None:
        """Let ``error`` be the outcome."""
        ...

    def settle(self) -> None:
        """Hand the outcome to the waiter. In the event loop only."""
        ...

    def refuse(self, error: Exception) -> None:
        """Let the waiter go with ``error``, if it still waits; what is kept does not change. In the event loop only."""
        ...


class Caught:
    """Keeps what a block raised, whatever it is: it belongs to the caller of the closure, in another thread."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> Caught:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True


class Job(Generic[T]):
    """One closure and the future of its result."""

    __slots__ = ("_error", "_future", "_value", "_work", "dropped")

    def __init__(self, work: Callable[[Connection], T], future: asyncio.Future[T]) -> None:
        self._work = work
        self._future = future
        self._value: list[T] = []
        self._error: BaseException | None = None
        self.dropped = False

    async def outcome(self) -> T:
        """Wait for the result. If the waiter is cancelled, a job that has not begun need not begin."""
        try:
            return await self._future
        except asyncio.CancelledError:
            self.dropped = True
            raise

    def perform(self, connection: Connection) -> BaseException | None:
        self._value = []
        caught = Caught()
        with caught:
            self._value = [self._work(connection)]
        self._error = caught.error
        return caught.error

    @property
    def together(self) -> Together[object, object] | None:
        return cast("Together[object, object]", self._work) if isinstance(self._work, Together) else None

    def keep(self, value: object) -> None:
        self._value, self._error = [cast("T", value)], None

    def fail(self, error: BaseException) -> None:
        self._error = error

    def settle(self) -> None:
        if self._future.done():  # the waiter was cancelled
            return
        if self._error is None:
            self._future.set_result(self._value[0])
        elif isinstance(self._error, StopIteration):  # a future cannot carry it
            self._future.set_exception(RuntimeError("a closure raised StopIteration"))
        else:
            self._future.set_exception(self._error)

    def refuse(self, error: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(error)


def perform_joint(jobs: Sequence[Work], connection: Connection) -> BaseException | None:
    """Perform jobs that ``joint`` put together and keep their outcomes; the error, if it raised one."""
    first = jobs[0].together
    if first is None or len(jobs) == 1:
        return jobs[0].perform(connection)
    caught = Caught()
    with caught:
        items = [each.item for job in jobs if (each := job.together) is not None]
        for job, value in zip(jobs, first.perform(connection, items), strict=True):
            job.keep(value)
    return caught.error


def joint(jobs: Iterable[Work]) -> list[list[Work]]:
    """The jobs in their order, those that can be performed together at the place of the first of them."""
    found: dict[object, list[Work]] = {}
    for job in jobs:
        together = job.together
        found.setdefault(job if together is None else together.perform, []).append(job)
    return list(found.values())
