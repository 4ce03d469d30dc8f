"""Values shared in memory by the processes of a node; ``docs/share.md`` is the guide.

>>> region = Region.open_or_create("run-7")
>>> best = region.have("best", 64)
>>> best.put(b"0.93")
1
>>> best.get()
Value(data=b'0.93', version=1)
"""

from ses.share.library import Model
from ses.share.region import Item, Region, Value, regions

__all__ = ["Item", "Model", "Region", "Value", "regions"]
