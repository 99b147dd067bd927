"""What stored grants say of a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from manager.decisions.decision import Audience
from manager.ids import ConversationId, GrantId
from manager.ledger import grants
from manager.ledger.grants import Converse, Revocation
from providers.storage.sync import SyncTransactions, open_sqlite
from returns.ids import AppName, Millis
from tests.support.storage import migrated

CHAT, THREAD = "c_1", "c_1.t_1"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SyncTransactions]:
    with open_sqlite(migrated(tmp_path)) as opened:
        yield opened


def give(database: SyncTransactions, grant_id: str, resource: str, at: int, **more: object) -> None:
    values = {"principal": "steward:default", "effect": "converse", "expires_at": None} | more
    database.run(
        lambda c: grants.add(
            c, grant_id=GrantId(grant_id), resource=resource, audience=Audience.SHARED, granted_by="operator",
            now=Millis(at), **values,
        )
    )  # fmt: skip


def take(database: SyncTransactions, grant_id: str, at: int) -> Revocation:
    return database.run(lambda c: grants.revoke(c, GrantId(grant_id), reason="why", now=Millis(at)))


def may(database: SyncTransactions, resource: str, at: int = 100) -> Converse:
    return database.read(lambda c: grants.may_converse(c, ConversationId(resource), Millis(at)))


def test_nobody_decided(database: SyncTransactions) -> None:
    assert may(database, CHAT) is may(database, THREAD) is Converse.NONE


def test_a_chats_grant_covers_its_threads_but_not_the_other_way_round(database: SyncTransactions) -> None:
    give(database, "g_1", CHAT, 1)
    assert may(database, CHAT) is may(database, THREAD) is Converse.GRANTED
    give(database, "g_2", "c_2.t_1", 1)
    assert may(database, "c_2") is Converse.NONE
    assert may(database, "c_11") is Converse.NONE


def test_a_revoked_chat_closes_its_threads_until_an_owner_grants_again(database: SyncTransactions) -> None:
    give(database, "g_t", THREAD, 1)
    give(database, "g_c", CHAT, 2)
    assert take(database, "g_c", 5) is Revocation.REVOKED
    assert may(database, CHAT) is may(database, THREAD) is Converse.REVOKED
    give(database, "g_n", THREAD, 6)
    assert may(database, THREAD) is Converse.GRANTED
    assert may(database, CHAT) is Converse.REVOKED
    give(database, "g_m", CHAT, 7)
    assert may(database, CHAT) is Converse.GRANTED


def test_a_revoked_thread_is_closed_in_a_granted_chat(database: SyncTransactions) -> None:
    give(database, "g_c", CHAT, 1)
    give(database, "g_t", THREAD, 2)
    take(database, "g_t", 3)
    assert may(database, THREAD) is Converse.REVOKED
    assert may(database, CHAT) is Converse.GRANTED


def test_expiry_is_like_revocation(database: SyncTransactions) -> None:
    give(database, "g_1", CHAT, 1, expires_at=50)
    assert may(database, CHAT, 49) is Converse.GRANTED
    assert may(database, CHAT, 50) is Converse.REVOKED


def test_others_grants_do_not_count(database: SyncTransactions) -> None:
    give(database, "g_1", CHAT, 1, principal="peer:atlas")
    give(database, "g_2", CHAT, 1, effect="read")
    assert may(database, CHAT) is Converse.NONE


def test_policy_admits_once_and_never_over_a_revocation(database: SyncTransactions) -> None:
    def admit(resource: str, grant_id: str) -> None:
        database.run(
            lambda c: grants.admit(
                c, app=AppName("default"), conversation_id=ConversationId(resource), audience=Audience.SHARED,
                granted_by="policy", grant_id=GrantId(grant_id), now=Millis(1),
            )
        )  # fmt: skip

    admit(CHAT, "g_1")
    admit(CHAT, "g_2")
    admit(THREAD, "g_3")
    stored = database.read(lambda c: grants.page(c, Millis(2), limit=9))
    assert [grant.grant_id for grant in stored] == ["g_1"]
    take(database, "g_1", 5)
    admit(CHAT, "g_4")
    assert may(database, CHAT) is Converse.REVOKED


def test_revoking_keeps_the_first_time_and_reason(database: SyncTransactions) -> None:
    give(database, "g_1", CHAT, 1)
    assert take(database, "g_1", 5) is Revocation.REVOKED
    assert take(database, "g_1", 9) is Revocation.ALREADY
    assert take(database, "g_none", 9) is Revocation.UNKNOWN
    (grant,) = database.read(lambda c: grants.page(c, Millis(9), every=True, limit=9))
    assert (grant.revoked_at, grant.revoke_reason) == (5, "why")


def test_pages(database: SyncTransactions) -> None:
    for number in range(5):
        give(database, f"g_{number}", CHAT, number // 2)
    seen: list[str] = []
    after = None
    while page := database.read(lambda c, after=after: grants.page(c, Millis(9), after=after, limit=2)):
        seen += [grant.grant_id for grant in page]
        after = (page[-1].created_at, page[-1].grant_id)
    assert seen == [f"g_{number}" for number in range(5)]
