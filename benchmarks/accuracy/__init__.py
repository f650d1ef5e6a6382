"""Test accuracy against time, tuning and defaults."""
