"""Streams: one pass against batch, drifting streams, and changes on the way."""
