"""The parts of the scripts that measure: benchmark, refine, reproduce, trajectories and tune."""
