"""Units as people write them wrongly, and what each reader of requirements must ask back."""

RATES = {
    "50MBs": "50MB/s",
    "50 mb/sec": "50MB/s",
    "50MBps": "50MB/s",
    "50mbytes/second": "50MB/s",
    "50M": "50MB/s",
    "50MB": "50MB/s",
    "1.5GiBs": "1.5GiB/s",
    "50KB/S": "50kB/s",
    "50Mbit": "6.25MB/s",
    "50 Mb/s": "6.25MB/s",
    "1gbit/s": "0.125GB/s",
    "50MB/min": "",
    "50furlongs": "",
    "50/s": "",
}
"""By what is typed of a rate; empty: nothing like it is meant."""

SIZES = {"2tb": "2TB", "2T": "2TB", "2Ti": "2TiB", "2TB/s": "2TB", "16Tbit": "2TB", "2tons": ""}
"""By what is typed of a size."""
