"""Lustre as an ordinary user sees it: layouts, targets, pools, mounts."""
