"""The paper's tables and figures again, beside this library and its rivals."""
