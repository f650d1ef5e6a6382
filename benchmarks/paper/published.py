"""What the paper printed: its settings and every figure of its tables, from published.toml."""

import tomllib
from pathlib import Path

PRINTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
SETTINGS, ACCURACY, FORGETTING, TIME = (PRINTED[name] for name in ("settings", "accuracy", "forgetting", "time"))
SYNTHETIC, SYNTHETIC_RIVALS = PRINTED["synthetic"], PRINTED["synthetic_rivals"]
WESAD, TUNING = PRINTED["other"]["wesad"], PRINTED["other"]["tuning"]
RIVALS = ("ISVM", "LASVM", "ORF", "ILVQ")
STEPS = (1, 2, 4, 10, None)  # the paper's d; None: nothing is forgotten
SIZES = (10_000, 100_000, 1_000_000)  # rows of the synthetic streams
