"""What decides a turn. ``rules`` needs no model; others will stand beside it."""
