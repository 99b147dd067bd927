"""The way back: every finished result reaches the conversation it came from, once, provably, or visibly not.

How it works
------------
A **return** is an answer or a notice for one route. Whoever finished it commits it with ``ledger.outbox.enqueue`` in
the transaction that finishes it, already cut into **parts** that fit into a message each (``decisions.rendering``).
From then on nothing but the database is needed to deliver it: no model and no worker runs again.

Each part goes through the machine of ``delivery``, a table. The pump (``service.pump``) reads what is due and takes
each part one step further:

- ``service.attempt`` sends. It has the token at hand and a permit (``ports.Pacing``), asks the authority and
  commits the attempt in one transaction, and only then writes the first byte. The outcome is one of three. *Accepted*
  stores where the message is, the locator. *Refused* is definite: the part waits and is tried again with the same key,
  or is undeliverable. Everything else is *unknown*.
- ``service.verify`` reads an accepted message back, a moment later. Only a message that is where it should be, from
  us, with our content and not recalled is ``delivered``.
- ``service.reconcile`` settles the unknown: it reads the history around the attempt, once for all parts of a place
  (``service.together``), and looks for exactly one message of ours that no other part owns (``decisions.matching``). It
  never sends. What it cannot settle becomes
  ``explicit_unverified`` and waits for a person: a message that was not found may still have been sent.

Why nothing is sent twice
-------------------------
The only moves that lead to a send start from ``queued`` and from ``retry_pending``, and only a definite refusal leads
into the latter. A crash at any instant leaves either a part that was not attempted, or one that is ``sending``; when
the lease of its holder is over, ``sending`` becomes ``verification_required`` and can only be read.

Why nothing is lost
-------------------
Every move is guarded by the state that it leaves and by the fence of the hold under which it was decided
(``ledger.moves``), so an old holder changes nothing; but a locator is a fact and not a claim, so its write is refused
by nothing (``ledger.locators``). Whatever a pass does not know, the next one reads from the database.

Order and waiting
-----------------
What is to be sent into a chat leaves in the order of its returns and parts, one at a time, and a refused part keeps its
place. A part whose outcome is open holds back the later parts of its own answer and nothing else: those are in no
*lane* until it is proved, and are marked ``earlier_part_unverified`` if it ends without proof. A lane is what the pump
looks at; it is empty for all that is settled, so a pass costs what is pending and not what is stored.

What is private
---------------
Chat, thread and message ids and bodies are in tables of their own (``return_routes``, ``part_bodies``,
``part_locators``) and appear in no fact, log line, error or summary.

Layers: ``delivery`` and ``decisions`` are pure; ``ledger`` takes the caller's open connection; ``service`` ties the two
to the ports of ``ports``.
"""
