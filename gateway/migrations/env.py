"""What Alembic runs around the migrations: the transaction that ``providers.storage.migrate`` has opened."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
