"""Laws of the hydrosphere: groundwater, rivers, waves, lakes."""

from __future__ import annotations

import math

from .laws_base import GRAVITY, JULIAN_YEAR, Law, Slip, Symbol, positive, times


def darcy(K: float, dh: float, L: float) -> float:
    """Specific discharge (m/d) through a porous medium. K: conductivity, m/d; dh: head difference, m; L: length, m.

    Equation (darcy): $q = K\\,\\Delta h / L$ (Darcy 1856)
    Raises ValueError for values that are not positive.
    """
    positive(K=K, dh=dh, L=L)
    return K * dh / L


def manning(n: float, R: float, S: float) -> float:
    """Mean speed (m/s) of a uniform open channel. n: roughness, s m^(-1/3); R: hydraulic radius, m; S: slope, m/m.

    Equation (manning): $v = R^{2/3} S^{1/2} / n$ (Manning 1891)
    Raises ValueError for values that are not positive.
    """
    positive(n=n, R=R, S=S)
    return R ** (2 / 3) * math.sqrt(S) / n


def long_wave_speed(h: float) -> float:
    """Speed (m/s) of a wave much longer than the water is deep. h: depth, m.

    Equation (long_wave_speed): $c = \\sqrt{g h}$ (textbook, Lagrange)
    Raises ValueError for a depth that is not positive.
    """
    positive(h=h)
    return math.sqrt(GRAVITY * h)


def deep_water_wave_speed(wavelength: float) -> float:
    """Phase speed (m/s) of a gravity wave in water deeper than half its length. wavelength: m.

    Equation (deep_water_wave_speed): $c = \\sqrt{g\\lambda/(2\\pi)}$ (textbook, Green)
    Raises ValueError for a wavelength that is not positive.
    """
    positive(wavelength=wavelength)
    return math.sqrt(GRAVITY * wavelength / (2 * math.pi))


def residence_time(V: float, Q: float) -> float:
    """Mean residence time (yr of 365.25 days) of water in a steady reservoir. V: volume, km3; Q: outflow, m3/s.

    Equation (residence_time): $\\tau = V / Q$ (textbook)
    Raises ValueError for values that are not positive.
    """
    positive(V=V, Q=Q)
    return V * 1e9 / Q / JULIAN_YEAR


HYDROSPHERE = (
    Law(
        "darcy", "Darcy's law", ("darcy law", "darcys law"),
        "hydrosphere", "hydrogeology", "groundwater flow",
        r"q = K \Delta h / L", "specific discharge", "m/d",
        (
            Symbol("K", "K", "hydraulic conductivity", "m/d", 0.1, 50, log=True),
            Symbol("dh", r"\Delta h", "head difference", "m", 0.3, 9),
            Symbol("L", "L", "length of the flow path", "m", 20, 1000),
        ),
        darcy, "K * dh / L",
        "Groundwater flows {L} through an aquifer of hydraulic conductivity {K} while the head falls by {dh}",
        (
            Slip("inverted", "the gradient is turned over", lambda K, dh, L: K * L / dh),
            Slip("unit", "the value in mm/d is given as m/d", times(darcy, 1000)),
            Slip("factor", "the head is not divided by the length", lambda K, dh, L: K * dh),
        ),
        "L", -1, -1.0, "hydraulic head",
        "the height to which water rises in a tube that is open at a point of the aquifer",
        "piezometer", "record of water levels in observation wells", "the hydraulic conductivity",
        "Henry Darcy", 1856,
    ),
    Law(
        "manning", "Manning's equation",
        ("manning equation", "mannings equation", "manning formula", "manning's formula"),
        "hydrosphere", "hydrology", "open-channel hydraulics",
        r"v = R^{2/3} S^{1/2} / n", "mean flow speed", "m/s",
        (
            Symbol("n", "n", "roughness coefficient", "s m^(-1/3)", 0.02, 0.08),
            Symbol("R", "R", "hydraulic radius", "m", 0.3, 5),
            Symbol("S", "S", "bed slope in m/m", "", 1e-4, 1e-2, log=True),
        ),
        manning, "R ** (2 / 3) * math.sqrt(S) / n",
        "A river reach in uniform flow has a hydraulic radius of {R}, a bed slope of {S} and a roughness of {n}",
        (
            Slip("inverted", "the exponent of the hydraulic radius is turned over to 3/2",
                 lambda n, R, S: R**1.5 * math.sqrt(S) / n),
            Slip("unit", "the slope is put in per mille", lambda n, R, S: manning(n, R, 1000 * S)),
            Slip("factor", "the root of the slope is left out", lambda n, R, S: R ** (2 / 3) * S / n),
        ),
        "R", 1, 2 / 3, "hydraulic radius", "the cross-section of a flow divided by its wetted perimeter",
        "acoustic Doppler current profiler", "stage and discharge record of a river gauge", "the roughness of the bed",
        "Robert Manning", 1891,
    ),
    Law(
        "long_wave_speed", "shallow-water wave speed", ("shallow water", "long wave", "lagrange"),
        "hydrosphere", "oceanography", "tsunamis and tides",
        r"c = \sqrt{g h}", "propagation speed", "m/s",
        (Symbol("h", "h", "water depth", "m", 5, 5000, log=True),),
        long_wave_speed, "math.sqrt(9.80665 * h)",
        "A tsunami, hundreds of kilometres long, crosses a sea basin of uniform depth {h}",
        (
            Slip("unit", "the depth is put in as km", lambda h: long_wave_speed(h / 1000)),
            Slip("factor", "the root is left out", lambda h: GRAVITY * h),
            Slip("inverted", "depth is divided by gravity", lambda h: math.sqrt(h / GRAVITY)),
        ),
        "h", 1, 0.5, "shoaling", "the growth of a wave's height as it runs into water of less depth",
        "bottom pressure recorder", "bathymetric grid of the sea floor", "the height of the wave",
        "Joseph-Louis Lagrange", 1781,
    ),
    Law(
        "deep_water_wave_speed", "deep-water dispersion relation", ("deep water dispersion", "dispersion relation"),
        "hydrosphere", "oceanography", "wind waves",
        r"c = \sqrt{g\lambda/(2\pi)}", "phase speed", "m/s",
        (Symbol("wavelength", r"\lambda", "wavelength", "m", 5, 400, log=True),),
        deep_water_wave_speed, "math.sqrt(9.80665 * wavelength / (2 * math.pi))",
        "Swell of wavelength {wavelength} runs over an open ocean of 4000 m depth",
        (
            Slip("factor", "the factor 2 pi is left out", lambda wavelength: math.sqrt(GRAVITY * wavelength)),
            Slip("inverted", "wavelength and gravity change places",
                 lambda wavelength: math.sqrt(GRAVITY / wavelength / (2 * math.pi))),
            Slip("unit", "the wavelength is put in as km", lambda wavelength: deep_water_wave_speed(wavelength / 1000)),
        ),
        "wavelength", 1, 0.5, "fetch", "the distance over which the wind blows across open water to raise waves",
        "directional wave buoy", "spectral record of sea state", "the depth, kept above half a wavelength",
        "George Green", 1839,
    ),
    Law(
        "residence_time", "reservoir mass balance", ("mass balance", "residence time"),
        "hydrosphere", "limnology", "lake water balance",
        r"\tau = V / Q", "mean time that water stays", "yr",
        (
            Symbol("V", "V", "volume of the lake", "km3", 0.5, 500, log=True),
            Symbol("Q", "Q", "outflow", "m3/s", 5, 500, log=True),
        ),
        residence_time, "V * 1e9 / Q / (365.25 * 86400)",
        "A lake in steady state holds {V} of water and loses {Q} through its outlet",
        (
            Slip("unit", "a cubic kilometre is taken as a million cubic metres", times(residence_time, 0.001)),
            Slip("inverted", "outflow is divided by volume", lambda V, Q: 1 / residence_time(V, Q)),
            Slip("factor", "the time is left in months of a twelfth of a year", times(residence_time, 12)),
        ),
        "Q", -1, -1.0, "steady state", "the condition of a reservoir whose inflow equals its outflow",
        "weir at the outlet", "lake inventory with volumes and outflows", "the volume of the lake",
        "Tom Barth", 1952,
    ),
)  # fmt: skip
