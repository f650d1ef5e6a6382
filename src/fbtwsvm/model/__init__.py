"""What learning in batch and on a stream share: rows, feature map, memberships, decision rule."""
