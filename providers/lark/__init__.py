"""Lark and Feishu over their open HTTP API: sending, reading, receipts, events. No SDK."""
