"""What a pass costs: FLOPs, bytes and time against an accelerator's roofline. No Qt, no pixels."""
