"""Changes of the texts of manifests that touch nothing else."""
