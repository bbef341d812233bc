"""What the documentation site is made with; not shipped."""
