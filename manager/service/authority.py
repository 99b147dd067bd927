"""May this still be told? Asked inside the transaction of the attempt and of the verification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from sqlalchemy import Connection

from manager.decisions.admission import Converse as Word
from manager.ids import RequestId
from manager.ledger import grants, listening, routes
from manager.ledger.grants import Converse
from manager.ledger.routes import WayBack
from manager.service.recalling import take_back_revision
from returns.ids import Millis, SubjectId
from returns.ports import Clock, Verdict


class StewardAuthority:
    """Implements ``returns.ports.Authority``: chat, question, grant and peer, each as it is now."""

    __slots__ = ("_clock", "_new_id", "_recalled_question")

    def __init__(
        self, recalled_question: Literal["say_nothing", "answer_in_chat"], clock: Clock, new_id: Callable[[str], str]
    ) -> None:
        self._recalled_question = recalled_question
        self._clock = clock
        self._new_id = new_id

    def verdict(self, connection: Connection, subject: SubjectId, revision: int) -> Verdict:
        """Whether the answer to this revision of the subject may be told along its route.

        A conversation without any grant is one that was not admitted: what is owed there is only the sentence that
        says so. A revision without a route is told to nobody. What a removed peer held is told to nobody either; one
        that is only stopped concludes what it holds. A group that turned out to reach into another tenant is told
        nothing without an owner's grant, as if the question came now.
        """
        way = routes.way_back(connection, RequestId(cast("str", subject)), revision)
        if way is None:
            return Verdict.REVOKED
        if not way.chat_active:
            return Verdict.ROUTE_GONE
        if way.receiver_removed or self._closed(connection, way):
            return Verdict.REVOKED
        if way.recalled and self._recalled_question == "say_nothing":
            return Verdict.QUESTION_RECALLED
        return Verdict.ALLOWED

    def _closed(self, connection: Connection, way: WayBack) -> bool:
        now = self._clock.now()
        if grants.may_converse(connection, way.conversation_id, now) is Converse.REVOKED:
            return True
        if not way.external:
            return False
        return listening.converse(connection, way.app, way.conversation_id, now) is not Word.OWNER

    def question_recalled(self, connection: Connection, subject: SubjectId, revision: int, now: Millis) -> None:
        """As if the recall's own event had come, which may have been lost."""
        say_nothing = self._recalled_question == "say_nothing"
        request = RequestId(cast("str", subject))
        take_back_revision(connection, self._new_id, request, revision, now, say_nothing=say_nothing)
