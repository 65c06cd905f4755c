"""X-ray tomography: projection matrices of the ASTRA toolbox (astra-toolbox), for parallel and fan beams,
and for the single rays of a list of events (positron emission).

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
    return traced(astra.create_projector(kind, scan, image))


def traced(made):
    import astra
    handle = astra.projector.matrix(made)
    matrix = astra.matrix.get(handle)
    astra.matrix.delete(handle)
    astra.projector.delete(made)
    return matrix


def back_projector(*what):
    return projector(*what).T.tocsr()


def events(pixels, count):
    """List mode: a ray for every event, in the order of time, from a disc of activity with two brighter spots."""
    import astra
    import numpy
    draw = numpy.random.default_rng(17)
    spot = numpy.array([(0.0, 0.0, 0.4), (0.2, 0.1, 0.06), (-0.15, 0.2, 0.1)])[draw.choice(3, count, p=(0.6, 0.2, 0.2))]
    radius, turn = spot[:, 2] * numpy.sqrt(draw.random(count)), 2 * numpy.pi * draw.random(count)
    x, y = spot[:, 0] + radius * numpy.cos(turn), spot[:, 1] + radius * numpy.sin(turn)
    angle = numpy.pi * draw.random(count)
    away = pixels * (x * numpy.cos(angle) + y * numpy.sin(angle))  # distance of the ray from the centre
    across, along = (numpy.cos(angle), numpy.sin(angle)), (-numpy.sin(angle), numpy.cos(angle))
    vectors = numpy.column_stack([*along, away * across[0], away * across[1], *across])
    scan = astra.create_proj_geom("parallel_vec", 1, vectors)
    return traced(astra.create_projector("line", scan, astra.create_vol_geom(pixels, pixels)))


FORWARD, BACK, EVENTS = "ASTRA projection", "ASTRA back-projection", "ASTRA rays of events"
MATRICES = [Matrix(name, origin, functools.partial(*make), size) for name, size, origin, make in (
    ("tomo_strip_parallel_small", "small", FORWARD, (projector, "strip", "parallel", 128, 96, 128)),
    ("tomo_line_fan_medium", "medium", FORWARD, (projector, "line_fanflat", "fanflat", 256, 180, 256)),
    ("tomo_strip_fan_large", "large", FORWARD, (projector, "strip_fanflat", "fanflat", 256, 180, 256)),
    ("tomo_linear_back_small", "small", BACK, (back_projector, "linear", "parallel", 192, 60, 256)),
    ("tomo_events_small", "small", EVENTS, (events, 384, 8000)),
    ("tomo_events_medium", "medium", EVENTS, (events, 512, 18000)),
    ("tomo_events_large", "large", EVENTS, (events, 1024, 20000)),
)]
