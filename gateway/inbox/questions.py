"""The questions to the database: portable SQL with named parameters, one text each.

Lists first pick the sequence numbers of one page, by the index that has just these in the list's own order, and then
fetch the rest of those few rows: a page costs the same however many requests are stored.
"""

from __future__ import annotations

from typing import Final

_REPEATED: Final = """
        WITH RECURSIVE earlier(return_id, replaces, parts) AS (
            SELECT b.return_id, b.replaces, b.parts FROM returns b WHERE b.return_id = o.replaces
            UNION ALL
            SELECT b.return_id, b.replaces, b.parts FROM returns b JOIN earlier ON b.return_id = earlier.replaces
        )
        SELECT told.part_id FROM earlier
        JOIN parts told ON told.return_id = earlier.return_id AND told.position = n.position + earlier.parts - o.parts
"""
"""What the part ``n`` of the return ``o`` repeats: a return that replaces another one carries its last parts."""

_NOT_TOLD: Final = "".join(("NOT EXISTS (", _REPEATED, "WHERE told.state = 'delivered')"))
"""Whether nothing that the part ``n`` of the return ``o`` repeats is delivered."""

_SHOWN: Final = "".join(
    (
        "COALESCE(CASE WHEN n.state IN ('undeliverable', 'superseded') THEN (",
        _REPEATED,
        """
            WHERE told.state IN ('explicit_unverified', 'verification_required')
            ORDER BY told.return_seq DESC LIMIT 1
        ) END, n.part_id)""",
    )
)
"""The part ``n`` of the return ``o``, or what it repeats: what was not sent says nothing of what may be there (see
``returns.decisions.answering``)."""

_UNPROVED_NOTICE: Final = "".join(
    (
        "SELECT ",
        _SHOWN,
        """
    FROM parts n
    JOIN returns o ON o.return_id = n.return_id AND o.kind = 'notice' AND o.revision = r.revision
    WHERE n.subject_id = r.request_id
      AND (n.state IN ('explicit_unverified', 'undeliverable') OR (n.state = 'retry_pending' AND n.needs_configuration)
           OR (n.state = 'superseded' AND n.part_id <> """,
        _SHOWN,
        """))
      AND NOT EXISTS (SELECT 1 FROM returns l WHERE l.subject_id = r.request_id AND l.replaces = o.return_id)
      AND """,
        _NOT_TOLD,
        """
    ORDER BY n.return_seq DESC, n.position LIMIT 1
""",
    )
)
"""The newest notice of ``r`` that is not proved, and with which nothing more happens by itself."""

_ITEM: Final = "".join(
    (
        """
SELECT r.seq, r.request_id, r.conversation_id, r.private, r.asked_at, r.revision, r.language, r.late, r.intent, r.depth,
       r.parent_id, sender.name AS sender, receiver.name AS receiver,
       CASE WHEN r.private THEN NULL ELSE SUBSTR(b.question, 1, 200) END AS question, b.pruned_at,
       v.assignment, v.assessment, v.work,
       a.status, a.error, a.verification, a.parts, a.delivered_parts, a.attempts, a.delivered_at, a.needs_operator,
       t.state AS turn,
       CASE WHEN t.state = 'queued' AND t.attempts = 0 THEN
           (SELECT f.detail FROM facts f
            WHERE f.request_id = r.request_id AND f.revision = r.revision AND f.fact = 'turn_waits'
            ORDER BY f.seq DESC LIMIT 1)
       END AS waits,
       s.until AS snoozed_until, notice.state AS notice_status, notice.error AS notice_error
FROM requests r
JOIN revisions v ON v.request_id = r.request_id AND v.revision = r.revision
JOIN revision_bodies b ON b.request_id = r.request_id AND b.revision = r.revision
LEFT JOIN peers receiver ON receiver.peer_id = v.receiver
LEFT JOIN peers sender ON sender.peer_id = r.from_peer
LEFT JOIN answers a ON a.subject_id = r.request_id AND a.revision = r.revision
LEFT JOIN turns t ON t.request_id = r.request_id AND t.revision = r.revision
LEFT JOIN snoozes s ON s.request_id = r.request_id
LEFT JOIN parts notice ON notice.part_id = (""",
        _UNPROVED_NOTICE,
        ")\n",
    )
)

_PICKED: Final = """
WHERE r.seq IN (SELECT seq FROM picked)
ORDER BY r.seq DESC
"""


def _page(picked: str) -> str:
    """The items of the page whose sequence numbers ``picked`` selects."""
    return "".join(("WITH picked AS (", picked, ")", _ITEM, _PICKED))


NEWEST: Final = _page("""
    SELECT r.seq FROM requests r
    WHERE r.seq < :before AND (:children = 1 OR r.parent_id IS NULL)
    ORDER BY r.seq DESC LIMIT :limit
""")
"""The newest requests: ``before`` (a sequence number), ``children`` (0 or 1), ``limit``."""

BY_STATUS: Final = _page("""
    SELECT a.place AS seq FROM answers a
    JOIN requests r ON r.request_id = a.subject_id AND r.revision = a.revision
    WHERE a.status = :status AND a.place < :before AND (:children = 1 OR r.parent_id IS NULL)
    ORDER BY a.place DESC LIMIT :limit
""")
"""As ``NEWEST``, of a delivery ``status``."""

ABSENT: Final = _page("""
    SELECT seq FROM (
        SELECT seq FROM (
            SELECT r.seq FROM requests r
            WHERE r.unanswered = 1 AND r.seq < :before ORDER BY r.seq DESC LIMIT :limit
        ) asked
        UNION ALL
        SELECT seq FROM (
            SELECT r.seq FROM requests r
            WHERE r.unanswered = 2 AND :children = 1 AND r.seq < :before ORDER BY r.seq DESC LIMIT :limit
        ) of_peers
    ) together
    ORDER BY seq DESC LIMIT :limit
""")
"""As ``NEWEST``, of those that have no answer yet."""

NEEDS_OPERATOR: Final = _page("""
    SELECT r.seq FROM answers a
    JOIN requests r ON r.request_id = a.subject_id AND r.revision = a.revision
    JOIN revisions v ON v.request_id = r.request_id AND v.revision = r.revision
    LEFT JOIN snoozes s ON s.request_id = r.request_id
    WHERE a.status IN ('explicit_unverified', 'undeliverable', 'retry_pending') AND a.needs_operator
      AND v.work <> 'cancelled' AND (s.until IS NULL OR s.until <= :now)
      AND r.seq < :before AND (:children = 1 OR r.parent_id IS NULL)
    ORDER BY r.seq DESC LIMIT :limit
""")
"""As ``NEWEST``, of those that wait for an operator and are not snoozed at ``now``."""

ONE: Final = "".join((_ITEM, "WHERE r.request_id = :request"))
"""One request by its id: ``request``."""

PARENT: Final = "SELECT r.parent_id FROM requests r WHERE r.request_id = :request"
"""The parent of ``request``."""

CHILDREN: Final = """
SELECT r.request_id FROM requests r WHERE r.parent_id = :request ORDER BY r.seq LIMIT :limit
"""
"""The children of ``request``, oldest first."""

CANDIDATES: Final = "".join(
    (
        """
SELECT c.number, c.sent_at, n.position, b.document, r.private FROM requests r
JOIN parts n ON n.return_id = COALESCE(
    (SELECT a.return_id FROM answers a WHERE a.subject_id = r.request_id AND a.revision = r.revision),
    (SELECT n.return_id FROM parts n
     JOIN returns o ON o.return_id = n.return_id AND o.kind = 'notice' AND o.revision = r.revision
     WHERE n.subject_id = r.request_id
       AND (n.state IN ('explicit_unverified', 'undeliverable', 'verification_required')
            OR (n.state = 'retry_pending' AND n.needs_configuration)
            OR (n.state = 'superseded' AND n.part_id <> """,
        _SHOWN,
        """))
       AND NOT EXISTS (SELECT 1 FROM returns l WHERE l.subject_id = r.request_id AND l.replaces = o.return_id)
       AND """,
        _NOT_TOLD,
        """
     ORDER BY CASE WHEN n.state = 'verification_required' THEN 1 ELSE 0 END, n.return_seq DESC, n.position LIMIT 1)
)
JOIN returns o ON o.return_id = n.return_id
JOIN parts p ON p.state IN ('explicit_unverified', 'verification_required') AND p.part_id = """,
        _SHOWN,
        """
JOIN part_candidates c ON c.part_id = p.part_id
LEFT JOIN part_bodies b ON b.part_id = p.part_id
WHERE r.request_id = :request
  AND """,
        _NOT_TOLD,
        """
ORDER BY n.position, c.number LIMIT :limit
""",
    )
)
"""The messages that could be the answer of ``request``, or, where it has none, its newest unproved notice."""

FACTS: Final = """
SELECT f.at, f.fact, f.detail, f.revision FROM facts f WHERE f.request_id = :request ORDER BY f.seq LIMIT :limit
"""
"""The steward's part of the timeline of ``request``."""

RETURN_FACTS: Final = """
SELECT f.at, f.fact, f.detail, f.return_id, f.position FROM return_facts f
WHERE f.subject_id = :request ORDER BY f.seq LIMIT :limit
"""
"""The delivery's part of the timeline of ``request``."""

SET_ASIDE: Final = """
SELECT e.seq, e.app, e.event_type, e.state, e.reason, e.created_at, e.received_at, e.request_id FROM events e
WHERE e.state = :state AND e.seq < :before
ORDER BY e.seq DESC LIMIT :limit
"""
"""The newest events of one ``state``."""
