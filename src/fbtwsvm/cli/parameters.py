"""What the parameters of the classifier mean on a command line; docs/streams.md and the class itself say more."""

from __future__ import annotations

from ..similarity import KERNELS

HELP = {
    "kernel": f"Similarity of rows: {', '.join(KERNELS)}.",
    "gamma": "Width of the rbf and laplacian kernels: auto, scale, or a number.",
    "feature_map": "How the kernel is made explicit: auto, nystroem, fourier, orthogonal or exact (not on streams).",
    "n_components": "Features of the map: auto, or a number.",
    "C": "Price of a row that comes too near to the other class's plane: a number, or for two classes a pair, 1,2.",
    "reg": "Ridge of the planes: a number, or for two classes a pair.",
    "mu": "Membership share of rows nearer to the other class's centre than to their own: 0 to 1.",
    "membership": "How far a row is trusted: fuzzy, printed (the paper's formula) or none (all alike).",
    "multiclass": "How pairs of classes decide: dag (each challenges the winner so far) or vote.",
    "decision": "What a pair compares: calibrated (values with a learned offset), value or distance (the paper's).",
    "class_weight": 'Weights of classes: none, balanced, or JSON such as {"yes": 2, "no": 1}.',
    "tol": "Duality gap at which a plane counts as solved.",
    "max_iter": "Most sweeps of the solver for a plane.",
    "memory": "Stream: support rows kept of each class; none keeps all.",
    "second_look": "Stream: idle rows of each class that are looked at again when planes settle.",
    "forget_after": "Stream: times that a kept row may do nothing before it goes (the paper's d); none: no limit.",
    "forget_below": "Stream: dual variable up to which a row does nothing (the paper's phi).",
    "decay": "Stream: factor on the weight of older rows with each new one, 1 never fades; auto follows drift.",
    "half_life": "Stream: rows after which half of a row's weight is left, instead of --decay; none: no fading.",
    "accept": "Stream: which rows may become support rows: kkt (those not yet explained), inside, outside or all.",
    "statistics": "Stream: which rows stay in the sums: all, or kept (as in the paper).",
    "warm_up": "Stream: first rows, which fix columns, scale and map: auto (500), or a number.",
    "drift_detector": "Stream: hoeffding lets the model fade when its error rate rises; none.",
    "n_jobs": "Threads of a fit: none (as BLAS has them), a number, or -1 for all; the model is the same.",
    "random_state": "Seed: a whole number.",
    "verbose": "1 prints what a batch is doing.",
}
