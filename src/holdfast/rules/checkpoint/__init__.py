"""Rules that the checkpoint alone decides."""
