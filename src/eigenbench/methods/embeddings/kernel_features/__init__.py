"""Random features of kernels: spherical, Hermite, Fourier, Maclaurin, Tensor Sketch, CRAFT."""
