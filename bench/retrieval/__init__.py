"""Quality: recall and MAP beside baselines, ablations, fleets of albums, and the fit of the ranking."""
