"""Every remedy that a finding offers, carried out on the real damage of its rule."""
