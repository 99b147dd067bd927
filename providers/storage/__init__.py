"""The database behind the transaction port of ``returns.ports``."""
