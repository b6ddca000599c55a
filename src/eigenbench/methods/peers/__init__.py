"""Methods of other packages to compare with; each needs the extra ``peers``."""
