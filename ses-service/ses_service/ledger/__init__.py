"""What is placed and not ended: taken from announcements, counted for each element.  Pure, in memory."""
