"""``ses place``, ``ses places`` and ``ses release``."""
