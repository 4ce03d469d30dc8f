"""What repeats the papers that this project stands on; that of 2012 has a folder of its own."""
