"""The parts that batch and stream models share: rows, feature map, memberships, decision rule."""
