"""Write a small model in the present format, with some of its answers; once for each version of the format.

python tests/files/make_model.py
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

import fbtwsvm
from fbtwsvm import FBTWSVM
from fbtwsvm.data.columns import Choices
from fbtwsvm.data.table_model import Run, TableModel
from fbtwsvm.evaluate import Prequential
from fbtwsvm.export.modelfile import FORMAT


def main():
    random = np.random.default_rng(0)
    size, colour = random.normal(size=400), random.choice(["red", "green"], size=400)
    y = np.where(size + (colour == "red") + 0.2 * random.normal(size=400) > 0.5, "yes", "no")
    table = pa.table({"size": size, "colour": colour, "y": y})
    estimator = FBTWSVM(n_components=8, warm_up=60, memory=5, second_look=2, decay="auto", random_state=0)
    model = TableModel.begin(table.slice(0, 60), Choices("y"), estimator)
    model.run = Run("/rows.csv", "rows.csv", "", 0, 20, Prequential(estimator, (), 50, 40, None, False, 20))
    for first in range(0, 380, 20):
        model.learn(table.slice(first, 20), step=model.run.record.step)
        model.run.rows, model.run.place = model.rows, str(model.rows)
    path = Path(__file__).parent / f"model_v{FORMAT}.fbt"
    fbtwsvm.save(model, path)
    rows = table.slice(380).select(["size", "colour"])
    wanted = {
        "columns": rows.column_names,
        "rows": [list(row.values()) for row in rows.to_pylist()],
        "labels": model.predict(rows).tolist(),
        "probabilities": model.predict_proba(rows).round(7).tolist(),
        "learned": model.rows,
    }
    path.with_suffix(".json").write_text(json.dumps(wanted) + "\n")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
