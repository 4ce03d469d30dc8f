"""``ses offload``: programs of libses-offload on the nodes where their functions run."""
