"""X-ray tomography: projection matrices of the ASTRA toolbox (astra-toolbox), for parallel and fan beams.

A row is a ray, a column is a pixel of the image; products with the matrix and its transpose are what algebraic
reconstruction does."""
import functools

from outside import Matrix

FAMILY = "tomography"


def projector(kind, beam, pixels, angles, detectors):
    """ASTRA's model `kind` of a scan of pixels x pixels by `angles` views of `detectors` cells each."""
    import astra
    import numpy
    image = astra.create_vol_geom(pixels, pixels)
    if beam == "parallel":
        scan = astra.create_proj_geom("parallel", 1.5 * pixels / detectors, detectors,
                                      numpy.linspace(0, numpy.pi, angles, endpoint=False))
    else:
        scan = astra.create_proj_geom("fanflat", 3.0 * pixels / detectors, detectors,
                                      numpy.linspace(0, 2 * numpy.pi, angles, endpoint=False), 2.0 * pixels, 2.0 * pixels)
    made = astra.create_projector(kind, scan, image)
    handle = astra.projector.matrix(made)
    matrix = astra.matrix.get(handle)
    astra.matrix.delete(handle)
    astra.projector.delete(made)
    return matrix


def back_projector(*what):
    return projector(*what).T.tocsr()


FORWARD, BACK = "ASTRA projection", "ASTRA back-projection"
MATRICES = [Matrix(name, origin, functools.partial(*make), size) for name, size, origin, make in (
    ("tomo-strip-parallel-small", "small", FORWARD, (projector, "strip", "parallel", 128, 120, 160)),
    ("tomo-line-fan-medium", "medium", FORWARD, (projector, "line_fanflat", "fanflat", 256, 180, 256)),
    ("tomo-strip-fan-large", "large", FORWARD, (projector, "strip_fanflat", "fanflat", 256, 180, 256)),
    ("tomo-linear-back-small", "small", BACK, (back_projector, "linear", "parallel", 192, 90, 256)),
    ("tomo-strip-back-medium", "medium", BACK, (back_projector, "strip", "parallel", 192, 120, 256)),
    ("tomo-line-back-large", "large", BACK, (back_projector, "line_fanflat", "fanflat", 512, 180, 512)),
)]
