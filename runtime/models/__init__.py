"""The models of a bundle, opened when first needed: towers, router and experts, language model."""
