"""Workers of a cluster learn streams of their own, and one model is made of all: python -m examples.dask_streams."""

import numpy as np
from distributed import Client, LocalCluster

from fbtwsvm import FBTWSVM, merge
from fbtwsvm.data.generators import make

STREAMS, CHUNKS, ROWS = 4, 10, 500


def chunks_of(seed):
    """Yield the chunks of one stream; all streams have the same concept."""
    generator = make("sea", seed=seed)
    for _ in range(CHUNKS):
        X, y = generator.rows(ROWS)
        yield X / 10.0, y


def learn(seed):
    """Learn one stream, on a worker.  All models need the same map: Fourier features, one gamma, one seed."""
    model = FBTWSVM(feature_map="fourier", gamma=2.0, n_components=200, random_state=0)
    for X, y in chunks_of(seed):
        model.partial_fit(X, y)
    return model


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        models = client.gather([client.submit(learn, seed) for seed in range(STREAMS)])
    together = merge(models)
    X, y = (np.concatenate(parts) for parts in zip(*chunks_of(100), strict=True))
    for number, model in enumerate(models):
        print(f"stream {number}: {model.inspect().seen:,} rows, accuracy {model.score(X, y):.4f}")
    print(f"together: {together.inspect().seen:,} rows, accuracy {together.score(X, y):.4f}")


if __name__ == "__main__":
    main()
