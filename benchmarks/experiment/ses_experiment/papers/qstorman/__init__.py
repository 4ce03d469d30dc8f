"""What repeats the paper of 2012: its Table 1, its Figure 4, its claims about needs."""
