"""The functions that measure.py measures: how PyTorch calls each, what it is, and where.

A row: F(name, call of PyTorch, truth in mpmath, points, ...).

    points   a function of a Kind (below) to regions for each argument; see `regions` at the foot
    floor    where a function has zeros that no formula meets exactly: the error is counted in units in the last place of
             max(|value|, floor(arguments)); `floor_text` is how the table says it
    core     an operator of StableHLO: its error is the plugin's
    slow     one evaluation in mpmath takes milliseconds: fewer points
"""
import functools
import math

import mpmath
import numpy as np
import torch

mp = mpmath.mp
DIGITS = 45


class Kind:
    """What the regions must know of a dtype: the least normal and the greatest number, and where exp leaves it."""
    def __init__(self, name):
        info = np.finfo(name)
        self.name, self.tiny, self.huge, self.eps = name, float(info.tiny) * 4, float(info.max) / 4, float(info.eps)
        self.least, self.log_huge, self.log_tiny = float(info.tiny), math.log(float(info.max)), math.log(float(info.tiny))


def linear(low, high):
    return [("linear", low, high)]


def above(low, high):
    """Log-spaced, low > 0."""
    return [("log", low, high)]


def below(low, high):
    """The same, negative."""
    return [("-log", low, high)]


def both(low, high):
    return above(low, high) + below(low, high)


def near(center, low, high):
    """center +- low..high, log-spaced."""
    return [("near", center, low, high)]


def degrees(high):
    return [("whole", 0, high)]


class F:
    def __init__(self, name, call, truth, points, *, floor=None, floor_text="", core=False, slow=False, note="", domain=None):
        self.name, self.call, self.truth, self.points = name, call, truth, points
        self.floor, self.floor_text, self.core, self.slow, self.note, self.domain = floor, floor_text, core, slow, note, domain


# ---------------------------------------------------------------- truths that mpmath has not, or has slowly
half, one, two = mp.mpf(1) / 2, mp.mpf(1), mp.mpf(2)


def bessel_k(order, x):
    """The integral of exp(-x cosh t) cosh(order t) over t > 0 by the trapezoidal rule, which converges exponentially."""
    if x < 0.05:
        return mp.besselk(order, x)
    h, total, k = min(mp.mpf("0.07"), mp.mpf("0.4") / mp.sqrt(x)), mp.exp(-x) / 2, 1
    while True:
        t = k * h
        e = mp.exp(t)
        c = (e + 1 / e) / 2
        term = mp.exp(-x * c) * (c if order else 1)
        total += term
        if term < total * mp.mpf(10) ** -(DIGITS + 5):
            return total * h
        k += 1


def erf_inverse(y):
    """By the quantiles of the normal distribution, near zero by its series."""
    if abs(y) < 1e-10:
        return y * mp.sqrt(mp.pi) / 2 * (1 + mp.pi * y ** 2 / 12 + 7 * mp.pi ** 2 * y ** 4 / 480)
    with mp.workdps(DIGITS + 15):
        return mp.sign(y) * -normal_quantile((1 - abs(y)) / 2) / mp.sqrt(2)


def normal_quantile(p):
    """Newton's steps on log(ndtr) in the lower tail."""
    if p > half:
        return -normal_quantile(1 - p)
    if p == half:
        return mp.mpf(0)
    import statistics
    x = mp.mpf(statistics.NormalDist().inv_cdf(float(p))) if p > 1e-300 else -mp.sqrt(-2 * mp.log(p))
    goal = mp.log(p)
    for _ in range(8):
        value = mp.erfc(-x / mp.sqrt(2)) / 2
        density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
        step = (mp.log(value) - goal) * value / density
        x -= step
        if abs(step) < abs(x) * mp.mpf(10) ** -(DIGITS // 2 + 3):
            return x
    return x


def lower_gamma(a, x):
    """x^a exp(-x) / gamma(a + 1) sum x^k / ((a + 1) ... (a + k))."""
    term = total = one
    k = 0
    while term > total * mp.mpf(10) ** -(DIGITS + 3):
        k += 1
        term = term * x / (a + k)
        total += term
    return total * mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))


def igamma(a, x):
    if x < a + 20:
        return lower_gamma(a, x)
    return 1 - upper_gamma(a, x)


def upper_gamma(a, x):
    if x < a + 20:
        with mp.workdps(2 * DIGITS + 20):
            return 1 - lower_gamma(a, x)
    with mp.workdps(DIGITS + 10):  # the continued fraction, backward from where it has long converged
        depth = int(400 + 4 * mp.sqrt(a))
        f = mp.mpf(0)
        for k in range(depth, 0, -1):
            f = k * (a - k) / (x - a + 2 * k + 1 + f)
        return mp.exp(a * mp.log(x) - x - mp.loggamma(a)) / (x - a + 1 + f)


def polynomial(first, step):
    def value(x, n):
        before, here = one, first(x)
        if n == 0:
            return one
        for k in range(1, int(n)):
            before, here = here, step(x, k, here, before)
        return here
    return value


def majorant(first, step):
    """In float64: the same with all signs positive, at |x|: the size of what is added up."""
    def value(x, n):
        x = np.abs(x).astype(np.float64)
        before, here = np.ones_like(x), first(x)
        out = np.where(n == 0, before, here)
        for k in range(1, int(n.max())):
            before, here = here, step(x, k, here, before)
            out = np.where(n == k + 1, here, out)
        return out
    return value


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


def mp_sinc(x):
    return mp.sin(mp.pi * x) / (mp.pi * x)


def scaled_erfc(x):
    with mp.workdps(DIGITS + 10):
        return mp.exp(x * x) * mp.erfc(x)


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def elu(alpha=1, scale=1, rate=1):
    return lambda x: scale * x if x > 0 else scale * alpha * mp.expm1(x * rate)


SELU_ALPHA, SELU_SCALE = mp.mpf("1.6732632423543772848170429916717"), mp.mpf("1.0507009873554804934193349852946")


def lgamma(x):
    return mp.loggamma(x).real


def envelope(x):
    """sqrt(2 / (pi |x|)), at most 1: the size of a Bessel function's waves."""
    return np.minimum(1, np.sqrt(2 / (np.pi * np.abs(x.astype(np.float64)))))


def wave(x):
    """The same beyond 2, where the zeros are; nothing before."""
    return np.where(np.abs(x) > 2, envelope(x), 0)


def airy_envelope(x):
    x = x.astype(np.float64)
    return np.where(x < -1, 0.56418958354775628695 / np.abs(np.minimum(x, -1)) ** 0.25, 0)


def unit(*arguments):
    return np.ones(arguments[0].shape)


s = torch.special
WAVE = dict(floor=envelope, floor_text="of the wave's height near zeros")
UNIT = dict(floor=unit, floor_text="of 1 where the value is less")


def rows():
    yield F("exp", torch.exp, mp.exp, lambda d: both(1e-6, 1) + linear(d.log_tiny, d.log_huge), core=True)
    yield F("log", torch.log, mp.log, lambda d: above(d.tiny, d.huge) + near(1, d.eps, 0.5), core=True)
    yield F("sin", torch.sin, mp.sin, lambda d: both(d.tiny, 1e4) + linear(-20, 20), core=True)
    yield F("cos", torch.cos, mp.cos, lambda d: both(d.tiny, 1e4) + linear(-20, 20), core=True)
    yield F("tanh", torch.tanh, mp.tanh, lambda d: both(d.tiny, 30) + linear(-10, 10), core=True)
    yield F("sigmoid", torch.sigmoid, logistic, lambda d: both(d.tiny, 30) + linear(d.log_tiny, 40), core=True)
    yield F("sqrt", torch.sqrt, mp.sqrt, lambda d: above(d.tiny, d.huge), core=True)
    yield F("rsqrt", torch.rsqrt, lambda x: 1 / mp.sqrt(x), lambda d: above(d.tiny, d.huge), core=True)
    yield F("log1p", torch.log1p, mp.log1p, lambda d: both(d.tiny, 0.999) + above(1, d.huge) + near(-1, d.eps, 0.5), domain=lambda x: x > -1)
    yield F("atan2", torch.atan2, mp.atan2, lambda d: (both(1e-6, 1e6), both(1e-6, 1e6)), core=True)
    yield F("pow", torch.pow, mp.power, lambda d: (above(1e-3, 1e3), linear(-10, 10)), core=True)

    yield F("expm1", torch.expm1, mp.expm1, lambda d: both(d.tiny, 2) + linear(-40, d.log_huge))
    yield F("exp2", torch.exp2, lambda x: mp.power(2, x), lambda d: both(1e-6, 1) + linear(d.log_tiny * 1.44, d.log_huge * 1.44))
    yield F("log2", torch.log2, lambda x: mp.log(x) / mp.log(2), lambda d: above(d.tiny, d.huge) + near(1, d.eps, 0.5))
    yield F("log10", torch.log10, mp.log10, lambda d: above(d.tiny, d.huge) + near(1, d.eps, 0.5))
    yield F("tan", torch.tan, mp.tan, lambda d: both(d.tiny, 1e4) + linear(-20, 20))
    yield F("asin", torch.asin, mp.asin, lambda d: both(d.tiny, 1) + near(1, d.eps, 0.5) + near(-1, d.eps, 0.5),
            domain=lambda x: abs(x) <= 1)
    yield F("acos", torch.acos, mp.acos, lambda d: both(d.tiny, 1) + near(1, d.eps, 0.5) + near(-1, d.eps, 0.5),
            domain=lambda x: abs(x) <= 1)
    yield F("atan", torch.atan, mp.atan, lambda d: both(d.tiny, d.huge) + linear(-3, 3))
    yield F("sinh", torch.sinh, mp.sinh, lambda d: both(d.tiny, 3) + linear(-d.log_huge, d.log_huge))
    yield F("cosh", torch.cosh, mp.cosh, lambda d: both(d.tiny, 3) + linear(-d.log_huge, d.log_huge))
    yield F("asinh", torch.asinh, mp.asinh, lambda d: both(d.tiny, d.huge) + linear(-3, 3))
    yield F("acosh", torch.acosh, mp.acosh, lambda d: above(1, d.huge) + linear(1, 4) + near(1, d.eps, 0.5),
            domain=lambda x: x >= 1)
    yield F("atanh", torch.atanh, mp.atanh, lambda d: both(d.tiny, 0.999) + near(1, d.eps, 0.5) + near(-1, d.eps, 0.5),
            domain=lambda x: abs(x) < 1)
    yield F("hypot", torch.hypot, mp.hypot, lambda d: (both(1e-6, 1e6), both(1e-6, 1e6)))
    yield F("sinc", torch.sinc, mp_sinc, lambda d: both(1e-6, 100) + linear(-10, 10),
            floor=lambda x: np.minimum(1, 1 / (np.pi * np.abs(x.astype(np.float64)))), floor_text="of 1 / (pi |x|) near zeros")
    yield F("logit", torch.logit, lambda x: mp.log(x / (1 - x)), lambda d: above(d.tiny, 0.5) + near(1, d.eps, 0.4) + linear(0, 1),
            domain=lambda x: (x > 0) & (x < 1), **UNIT)

    yield F("erf", torch.erf, mp.erf, lambda d: both(d.tiny, 8) + linear(-6, 6))
    yield F("erfc", torch.erfc, mp.erfc, lambda d: both(1e-6, 1) + linear(-6, 6) + linear(0, 28))
    yield F("erfcx", s.erfcx, scaled_erfc, lambda d: both(1e-6, 1) + above(1, 1e6) + linear(-math.sqrt(d.log_huge) + 0.1, 10))
    yield F("erfinv", torch.erfinv, erf_inverse, lambda d: both(d.tiny, 1) + linear(-1, 1) + near(1, d.eps, 0.1) + near(-1, d.eps, 0.1),
            domain=lambda x: abs(x) < 1)
    yield F("ndtr", s.ndtr, lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, lambda d: linear(-12 if d.name == "float32" else -37, 10) + linear(-4, 4))
    yield F("ndtri", s.ndtri, normal_quantile, lambda d: above(d.tiny, 0.5) + linear(0, 1) + near(1, d.eps, 0.4) + near(0.5, d.eps, 0.1),
            domain=lambda x: (x > 0) & (x < 1))
    yield F("log_ndtr", s.log_ndtr, log_ndtr, lambda d: linear(-6, 6) + below(1, 1e6) + above(1e-6, 8))
    yield F("entr", s.entr, lambda x: -x * mp.log(x), lambda d: above(d.tiny, d.huge * 1e-3) + near(1, d.eps, 0.5))
    yield F("xlogy", torch.xlogy, lambda x, y: x * mp.log(y), lambda d: (both(1e-6, 1e6), above(1e-6, 1e6) + near(1, d.eps, 0.5)))
    yield F("xlog1py", s.xlog1py, lambda x, y: x * mp.log1p(y), lambda d: (both(1e-6, 1e6), both(1e-6, 0.9) + above(1, 1e6)))

    yield F("lgamma", torch.lgamma, lgamma, lambda d: above(d.tiny, d.huge * 1e-3) + linear(0, 30) + linear(-10, 0) + near(1, d.eps, 0.5) + near(2, d.eps, 0.5), **UNIT)
    yield F("digamma", torch.digamma, mp.digamma, lambda d: above(1e-3, 1e6) + linear(0, 20) + linear(-10, 0) + near(1.4616321449683623, d.eps, 0.5), **UNIT)
    for n in (1, 2, 3):
        yield F(f"polygamma({n})", functools.partial(torch.polygamma, n), functools.partial(mp.polygamma, n),
                lambda d: above(1e-3, 1e4) + linear(0.1, 30), slow=True)
    yield F("multigammaln(3)", functools.partial(s.multigammaln, p=3),
            lambda a: 3 * mp.log(mp.pi) / 2 + lgamma(a) + lgamma(a - half) + lgamma(a - 1), lambda d: linear(1.01, 30) + above(2, 1e4), **UNIT)
    yield F("zeta", s.zeta, mp.zeta, lambda d: (linear(1.05, 30), above(0.1, 30)), slow=True)
    yield F("igamma", torch.igamma, igamma, lambda d: (above(0.01, 300), above(0.01, 300)), slow=True)
    yield F("igammac", torch.igammac, upper_gamma, lambda d: (above(0.01, 300), above(0.01, 300)), slow=True)

    yield F("i0", torch.i0, lambda x: mp.besseli(0, x), lambda d: both(1e-6, 1) + linear(-30, 30) + linear(0, d.log_huge))
    yield F("i0e", s.i0e, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), lambda d: both(1e-6, 1) + linear(-30, 30) + above(1, 300))
    yield F("i1", s.i1, lambda x: mp.besseli(1, x), lambda d: both(d.tiny, 1) + linear(-30, 30) + linear(0, d.log_huge))
    yield F("i1e", s.i1e, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), lambda d: both(d.tiny, 1) + linear(-30, 30) + above(1, 300))
    yield F("modified_bessel_i0", s.modified_bessel_i0, lambda x: mp.besseli(0, x), lambda d: linear(-30, 30), slow=True)
    yield F("modified_bessel_i1", s.modified_bessel_i1, lambda x: mp.besseli(1, x), lambda d: linear(-30, 30), slow=True)
    k = lambda d: above(1e-6, 1) + linear(0.01, 30) + linear(1, -d.log_tiny - 3)
    ke = lambda d: above(1e-6, 1) + linear(0.01, 30) + above(1, 1000)
    yield F("modified_bessel_k0", s.modified_bessel_k0, lambda x: bessel_k(0, x), k, slow=True)
    yield F("modified_bessel_k1", s.modified_bessel_k1, lambda x: bessel_k(1, x), k, slow=True)
    yield F("scaled_modified_bessel_k0", s.scaled_modified_bessel_k0, lambda x: bessel_k(0, x) * mp.exp(x), ke, slow=True)
    yield F("scaled_modified_bessel_k1", s.scaled_modified_bessel_k1, lambda x: bessel_k(1, x) * mp.exp(x), ke, slow=True)
    yield F("bessel_j0", s.bessel_j0, lambda x: mp.besselj(0, x), lambda d: both(1e-6, 1) + linear(-40, 40) + above(10, 1000), **WAVE)
    yield F("bessel_j1", s.bessel_j1, lambda x: mp.besselj(1, x), lambda d: both(1e-6, 1) + linear(-40, 40) + above(10, 1000),
            floor=wave, floor_text=WAVE["floor_text"])
    y = lambda d: above(1e-6, 1) + linear(0.01, 40) + above(10, 1000)
    yield F("bessel_y0", s.bessel_y0, lambda x: mp.bessely(0, x), y, slow=True, **WAVE)
    yield F("bessel_y1", s.bessel_y1, lambda x: mp.bessely(1, x), y, slow=True, floor=wave, floor_text=WAVE["floor_text"])
    yield F("spherical_bessel_j0", s.spherical_bessel_j0, lambda x: mp.sin(x) / x, lambda d: both(1e-6, 1) + linear(-40, 40) + above(10, 1000),
            floor=lambda x: np.minimum(1, 1 / np.abs(x.astype(np.float64))), floor_text="of 1 / |x| near zeros")
    yield F("airy_ai", s.airy_ai, mp.airyai, lambda d: linear(-30, 0) + linear(0, 12) + both(1e-6, 1), slow=True,
            floor=airy_envelope, floor_text=WAVE["floor_text"])

    F_ = torch.nn.functional
    yield F("gelu", F_.gelu, lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, lambda d: both(d.tiny, 2) + linear(-6, 10))
    yield F("gelu(tanh)", functools.partial(F_.gelu, approximate="tanh"),
            lambda x: x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x ** 3))), lambda d: both(d.tiny, 2) + linear(-6, 10))
    yield F("elu", F_.elu, elu(), lambda d: both(d.tiny, 2) + linear(-40, 10))
    yield F("selu", F_.selu, elu(SELU_ALPHA, SELU_SCALE), lambda d: both(d.tiny, 2) + linear(-40, 10))
    yield F("celu", functools.partial(F_.celu, alpha=1.5), elu(mp.mpf(1.5), 1, 1 / mp.mpf(1.5)), lambda d: both(d.tiny, 2) + linear(-40, 10))
    yield F("mish", F_.mish, lambda x: x * mp.tanh(softplus(x)), lambda d: both(d.tiny, 2) + linear(d.log_tiny + 6, 30))
    yield F("silu", F_.silu, lambda x: x * logistic(x), lambda d: both(d.tiny, 2) + linear(d.log_tiny + 6, 30))
    yield F("softplus", F_.softplus, lambda x: mp.mpf(x) if x > 20 else softplus(x), lambda d: both(d.tiny, 2) + linear(d.log_tiny, 30))
    yield F("logsigmoid", F_.logsigmoid, lambda x: -softplus(-x), lambda d: both(d.tiny, 2) + linear(-30, -d.log_tiny))
    yield F("logaddexp", torch.logaddexp, lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), lambda d: (linear(-10, 10) + both(1e-3, 100), linear(-10, 10) + both(1e-3, 100)), **UNIT)
    yield F("logaddexp2", torch.logaddexp2, lambda a, b: mp.log(mp.power(2, a) + mp.power(2, b)) / mp.log(2), lambda d: (linear(-10, 10) + both(1e-3, 100), linear(-10, 10) + both(1e-3, 100)), **UNIT)

    chebyshev = lambda x, k, here, before: 2 * x * here - before
    firsts = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}
    for letter, first in firsts.items():
        truth = polynomial(first, chebyshev)
        yield F(f"chebyshev_polynomial_{letter}", getattr(s, f"chebyshev_polynomial_{letter}"), truth,
                lambda d: (linear(-1, 1) + both(1e-3, 3), degrees(16)), **UNIT)
        yield F(f"shifted_chebyshev_polynomial_{letter}", getattr(s, f"shifted_chebyshev_polynomial_{letter}"),
                lambda x, n, truth=truth: truth(2 * x - 1, n), lambda d: (linear(0, 1) + both(1e-3, 2), degrees(16)), **UNIT)
    SUM = "of the sum of the magnitudes of its terms"
    others = {"hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, h, b: 2 * x * h - 2 * k * b, lambda x: 2 * x, lambda x, k, h, b: 2 * x * h + 2 * k * b),
              "hermite_polynomial_he": (lambda x: x, lambda x, k, h, b: x * h - k * b, lambda x: x, lambda x, k, h, b: x * h + k * b),
              "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, k, h, b: ((2 * k + 1 - x) * h - k * b) / (k + 1), lambda x: 1 + x, lambda x, k, h, b: ((2 * k + 1 + x) * h + k * b) / (k + 1)),
              "legendre_polynomial_p": (lambda x: x, lambda x, k, h, b: ((2 * k + 1) * x * h - k * b) / (k + 1), lambda x: x, lambda x, k, h, b: ((2 * k + 1) * x * h + k * b) / (k + 1))}
    for name, (first, step, first_abs, step_abs) in others.items():
        yield F(name, getattr(s, name), polynomial(first, step), lambda d: (linear(-1, 1) + both(1e-3, 5), degrees(12)),
                floor=majorant(first_abs, step_abs), floor_text=SUM)


# ---------------------------------------------------------------- points
def place(region, count, rng):
    """`count` float64 numbers in a region, jittered so that they have full mantissas."""
    what, *bounds = region
    t = (np.arange(count) + rng.random(count)) / count
    if what == "linear":
        return bounds[0] + (bounds[1] - bounds[0]) * t
    if what == "whole":
        return np.floor(bounds[0] + (bounds[1] + 1 - bounds[0]) * t)
    low, high = bounds[-2:]
    spread = np.exp(np.log(low) + (np.log(high) - np.log(low)) * t)
    if what == "near":
        return bounds[0] + spread * np.where(np.arange(count) % 2, 1, -1)
    return -spread if what == "-log" else spread


def points(function, kind, count):
    """The arguments as arrays of the dtype. Of several arguments each is shuffled by itself."""
    regions = function.points(kind)
    several = isinstance(regions, tuple)
    rng = np.random.default_rng(1)
    out = []
    for one_argument in regions if several else (regions,):
        shares = np.array_split(np.arange(count), len(one_argument))
        x = np.concatenate([place(r, len(share), rng) for r, share in zip(one_argument, shares)]).astype(kind.name)
        out.append(rng.permutation(x) if several else x)
    if function.domain is not None:
        out = [x[function.domain(out[0])] for x in out]
    return out


def domain_text(function, kind):
    """The least and the greatest of each argument."""
    return "; ".join(f"{min(a):.3g}..{max(a):.3g}" for a in points(function, kind, 2000))
