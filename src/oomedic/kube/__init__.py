"""Kubernetes' own words: objects, values, owners, conditions on nodes."""
