"""Lark's door: events over webhook, authenticated before they are parsed, acknowledged after they are committed."""
