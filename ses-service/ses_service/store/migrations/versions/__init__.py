"""One file per step, named number_subject."""
