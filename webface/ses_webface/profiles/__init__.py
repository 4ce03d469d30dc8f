"""Profiles: what each requires, who takes it up, and what files got of what was predicted for them."""
