"""The order of the gallery: first steps, streams, what the model can tell, large data."""

ORDER = (
    "first_model", "twin_planes", "one_pass", "table", "drift", "half_life", "new_class", "delete_person",
    "what_is_kept", "bounded_memory", "river", "merge", "metric", "importances", "calibration", "tuning",
    "larger_than_memory",
)  # fmt: skip


class GalleryOrder:
    """Sort key of a script."""

    def __init__(self, folder):
        pass

    def __call__(self, name):
        """Return the place of a file; those that are missing above come last."""
        name = name.removeprefix("plot_").removesuffix(".py")
        return ORDER.index(name) if name in ORDER else len(ORDER)
