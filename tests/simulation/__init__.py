"""The way back under chance: the real pump and ledgers in one process; time, order, crashes and faults are chosen.

``loop`` is an event loop with its own time, ``database`` and ``provider`` are the ports of one worker's life, ``world``
is the truth about the chats, ``plan`` is what a seed makes of it all, ``history`` runs a plan and ``oracles`` judge it.
"""
