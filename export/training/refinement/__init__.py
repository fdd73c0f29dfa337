"""Training of the refinement by rewards (paper Eq. 5-6): `ppo`, what is rewarded (`fit`, `rlhf`)."""
