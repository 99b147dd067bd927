"""A Lark (Feishu) of one's own: faithful on the wire, on loopback, with a clock that can be moved and faults on demand.

``server.LarkDouble`` is the way in. It speaks Lark's open API to apps, pushes events to their webhooks, and lets tests,
demos and other processes act as people in chats. Nothing here is imported by the gateway's own way to Lark.
"""
