"""Many requests on one accelerator, or on pools of them, pass by pass."""
