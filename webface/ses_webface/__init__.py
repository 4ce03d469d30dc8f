"""The portal: people define what their applications need and see where files would go."""
