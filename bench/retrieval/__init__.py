"""Retrieval quality: recall and MAP beside baselines, ablations, fleets of albums, the ranking's fit."""
