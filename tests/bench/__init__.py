"""Measured, not felt: each figure is a ratio in one run, against what a user would pick instead."""
