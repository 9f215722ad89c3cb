"""On which nodes a pod can be placed, what stands in the way, and what to change: Karpenter and EKS Auto Mode."""
