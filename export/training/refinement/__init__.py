"""Training of the refinement by rewards (paper Eq. 5-6): how (`policy`), what is rewarded (`fit`, `rlhf`)."""
