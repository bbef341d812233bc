"""What takes longer than the gate may: every sample, campaign and benchmark, one by one."""
