"""Every table and figure of the README and of the docs: python -m benchmarks PART [PART ...]."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.harness.record import Plan

# part: (module[:function], what it prints)
PARTS = {
    "floor": ("speed.fit:floor", "fit against the least work possible, on one thread and on all cores"),
    "classes": ("speed.fit:classes", "fit and predict with many classes, beside SVC"),
    "growth": ("speed.fit:growth", "seconds and memory of fit against rows"),
    "chunks": ("speed.memory:fit", "seconds and memory of fit on chunks of rows that stay in a file"),
    "class_memory": ("speed.memory:classes", "memory of fit with 100 classes and 2,000 features"),
    "flat_memory": ("speed.memory:stream", "memory of a stream of a million rows"),
    "command": ("speed.memory:command", "memory of `fbtwsvm stream`, and where its time goes"),
    "predict": ("speed.fit:predict", "rows a second of predict, beside LinearSVC"),
    "first": (
        "speed.profile:first",
        "seconds of the first model and stream of a process, of the command's help, of imports",
    ),
    "profile": ("speed.profile", "where the seconds of fit go"),
    "generators": ("speed.memory:generators", "rows a second of the generators"),
    "onnx": ("speed.memory:onnx", "a model exported to ONNX beside predict"),
    "before_after": ("speed.before_after", "CPU seconds before and after a change (needs --base)"),
    "dask_equal": ("cluster.fit:equal", "planes and answers of a fit on Dask beside those of one process"),
    "dask_speed": ("cluster.fit:speed", "seconds of a fit on Dask with one and two workers, beside chunks"),
    "dask_memory": ("cluster.fit:memory", "memory of workers and client of a fit on Dask"),
    "dask_rivals": ("cluster.rivals", "accuracy and seconds on Dask beside dask-ml, LightGBM and XGBoost"),
    "gpu_speed": ("gpu.speed", "seconds of fit, predict and partial_fit on a GPU, beside map and Gram matrices alone"),
    "gpu_growth": ("gpu.speed:growth", "seconds of fit on a GPU against rows, up to rows that do not fit mapped"),
    "gpu_accuracy": ("gpu.accuracy", "accuracy of fits on a GPU beside those on the processor"),
    "gpu_mnist": ("gpu.accuracy:large", "accuracy and seconds of 10,000 features on a GPU"),
    "gpu_search": ("gpu.search", "seconds of FBTWSVMCV on a million rows on a GPU"),
    "gpu_peers": ("gpu.accuracy:peers", "accuracy at equal seconds on a GPU, beside two learners of Torch"),
    "curves": ("accuracy.curves", "accuracy at equal training time, beside three rivals; curves.png"),
    "tuning": ("accuracy.tuned", "what a search with FBTWSVMCV costs"),
    "nystroem": ("accuracy.variants:nystroem", "accuracy with Nystroem features of the paper's sizes"),
    "gamma": ("accuracy.gamma", 'how gamma="auto" judges a kernel, beside other ways'),
    "metric": ("accuracy.metric", "what the learned metric gains, beside trees, a forest, lines and a tuned SVC"),
    "choosing": ("accuracy.choosing", "five learners on fifteen tables and on ten streams: the table of the README"),
    "metric_rule": ("accuracy.metric_rule", 'how metric="auto" decides, beside other ways, on training parts'),
    "variants": ("accuracy.variants", "each default against other values"),
    "default_time": ("defaults.seconds", "CPU seconds of FBTWSVM() beside its own choices given, SVC and boosting"),
    "default_order": ("defaults.order", "FBTWSVM() with training rows in other orders, of people, and near-copies"),
    "default_svc": ("defaults.svc", "FBTWSVM() beside a tuned SVC, 24 sets, and beside --base"),
    "default_cv": ("defaults.svc:tuned", "FBTWSVMCV beside a tuned SVC, 24 sets"),
    "one_pass": ("streams.changes:one_pass_table", "one pass against fit"),
    "chunk_sizes": ("streams.changes:chunk_sizes", "accuracy with chunks of 1 to 20,000 rows"),
    "ten_streams": ("streams.ten_streams", "accuracy and speed on ten streams, beside river's forest and SGD"),
    "ten_streams_ours": ("streams.ten_streams:ours", "accuracy on the ten streams of FBTWSVM alone, beside 0.5.0"),
    "generated_streams": ("streams.generated", "accuracy on ten streams from river's generators, beside five peers"),
    "moving_columns": ("streams.generated:columns", "accuracy where the columns that matter change twice"),
    "stream_speed": ("streams.ten_streams:speed", "rows a second of a stream, beside river's forest and SGD"),
    "row_speed": ("streams.speed", "rows a second of a stream with 2, 10 and 40 classes, beside 0.5.0 and two forests"),
    "committee_cost": ("streams.speed:committee", "cost of the committee beside that of four half-lives (0.11.0)"),
    "longest_call": ("streams.speed:longest", "the longest call on streams of many classes, beside 0.5.0"),
    "after_fit": ("streams.changes:after_fit", "partial_fit after fit, against fit of all rows"),
    "unlearn": ("streams.changes:unlearn", "unlearning against retraining"),
    "new_class": ("streams.changes:new_class", "what a class costs that comes late"),
    "imbalance": ("streams.changes:imbalance", "balanced accuracy with a rare class"),
    "soak": ("streams.changes:soak", "five million rows: are sums and planes still exact?"),
    "paper_accuracy": ("paper.tables:accuracy", "the paper's accuracy beside ours and nine rivals; paper_accuracy.png"),
    "paper_forgetting": ("paper.tables:forgetting", "the paper's tables of forgetting and time; paper_forgetting.png"),
    "paper_synthetic": ("paper.synthetic", "the paper's synthetic streams; paper_synthetic.png"),
    "paper_wesad": ("paper.wesad", "leave one subject out on WESAD and chest_accel"),
    "paper_tuning": ("paper.readings:tuning", "search over one C and reg against two of each; paper_tuning.png"),
    "paper_readings": ("paper.readings", "which reading of the paper gives its figures"),
}
# group: its parts; a folder of modules is a group, and `defaults` has parts of other folders as well
GROUPS = {
    group: tuple(part for part, (module, _) in PARTS.items() if module.split(".")[0] == group)
    for group in ("speed", "accuracy", "defaults", "streams", "paper")
}
GROUPS["gpu"] = tuple(part for part in PARTS if part.startswith("gpu_"))
GROUPS["dask"] = tuple(part for part in PARTS if part.startswith("dask_"))
GROUPS["defaults"] += ("floor", "classes", "tuning", "chunks", "class_memory", "first")


def parse(arguments=None):
    width = max(map(len, PARTS))
    lines = [f"  {name:{width}}  {what}" for name, (_, what) in PARTS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        usage="%(prog)s PART [PART ...] [options]",
        description="Every table and figure of README.md and docs/. The data folder is named by FBTWSVM_DATA.",
        epilog="parts:\n" + "\n".join(lines) + f"\n\ngroups of parts: {', '.join(GROUPS)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="+", metavar="PART", help="a part or a group of parts, listed below")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    parser.add_argument("--resume", action="store_true", help="keep the results of an earlier run into --out")
    parser.add_argument("--seeds", type=int, metavar="N", help="random seeds")
    parser.add_argument("--repeats", type=int, metavar="N", help="rounds of a time measurement")
    parser.add_argument("--limit", type=float, metavar="S", help="seconds that one fit or job may take")
    parser.add_argument(
        "--names",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="A,B",
        help="only these data sets, streams or tasks",
    )
    parser.add_argument("--base", metavar="COMMIT", help="before_after, default_*: the commit to compare with")
    parser.add_argument("--out", type=Path, default=Plan.out, metavar="FOLDER", help=f"default: {Plan.out}")
    options = vars(parser.parse_args(arguments))
    wanted = options.pop("parts")
    unknown = [name for name in wanted if name not in PARTS and name not in GROUPS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}")
    if "before_after" in wanted and not options["base"]:
        parser.error("before_after needs --base COMMIT")
    parts = [part for name in wanted for part in GROUPS.get(name, (name,))]
    return list(dict.fromkeys(parts)), Plan(**options)


def main(arguments=None):
    parts, plan = parse(arguments)
    for part in parts:
        if part == "before_after" and not plan.base:
            continue  # a group of parts
        print(f"\n# {part}", flush=True)
        module, _, function = PARTS[part][0].partition(":")
        getattr(import_module(f"benchmarks.{module}"), function or "run")(plan)
    print(f"\nResults: {plan.out}")


if __name__ == "__main__":
    main()
