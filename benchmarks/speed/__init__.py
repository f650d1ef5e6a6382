"""Seconds and bytes, side by side with other libraries and with older commits."""
