"""Sequences to learn from that stay on disk."""
