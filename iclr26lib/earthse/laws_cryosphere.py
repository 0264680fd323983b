"""Laws of the cryosphere: ice growth, floating ice, glacier flow, melt."""

from __future__ import annotations

import math
from collections.abc import Callable

from .laws_base import GRAVITY, ICE, JULIAN_YEAR, Law, Slip, Symbol, positive, times, within

LATENT_HEAT = 3.34e5  # J/kg, fusion of ice


def stefan_ice_growth(fdd: float, k: float) -> float:
    """Thickness (m) of bare ice grown from open water. fdd: freezing degree days, °C d; k: conductivity, W/(m K).

    Equation (stefan_ice_growth): $h = \\sqrt{2 k \\Theta/(\\rho_i L)}$ (Stefan 1891; ice 917 kg/m3, L 334 kJ/kg)
    Raises ValueError for values that are not positive.
    """
    positive(fdd=fdd, k=k)
    return math.sqrt(2 * k * fdd * 86400 / (ICE * LATENT_HEAT))


def freeboard_thickness(F: float, water: float, ice: float) -> float:
    """Thickness (m) of a snow-free floating floe. F: freeboard, m; water, ice: densities, kg/m3.

    Equation (freeboard_thickness): $h = F\\,\\rho_w/(\\rho_w - \\rho_i)$ (Archimedes' principle)
    Raises ValueError for values that are not positive, and unless water is denser.
    """
    positive(F=F, water=water, ice=ice)
    if water <= ice:
        raise ValueError(f"water must be denser than ice, got {water} and {ice}")
    return F * water / (water - ice)


def glen_surface_speed(H: float, slope: float, A: float) -> float:
    """Surface speed (m/yr) of a wide glacier that does not slide, exponent n = 3.

    H: thickness, m; slope: of the surface, degrees, up to 45; A: rate factor, Pa^-3 s^-1.
    Equation (glen_surface_speed): $u = \\frac{2A}{n+1}(\\rho g\\sin\\alpha)^n H^{n+1}$ (Glen 1955; ice 917 kg/m3)
    Raises ValueError for values that are not positive, and for a slope above 45.
    """
    positive(H=H, slope=slope, A=A)
    within("slope", slope, 0, 45)
    return A / 2 * (ICE * GRAVITY * math.sin(math.radians(slope))) ** 3 * H**4 * JULIAN_YEAR


def basal_shear_stress(H: float, slope: float) -> float:
    """Driving stress (kPa) at the bed of a glacier. H: thickness, m; slope: of the surface, degrees, up to 45.

    Equation (basal_shear_stress): $\\tau_b = \\rho_i g H\\sin\\alpha$ (Nye 1952; ice 917 kg/m3)
    Raises ValueError for values that are not positive, and for a slope above 45.
    """
    positive(H=H, slope=slope)
    within("slope", slope, 0, 45)
    return ICE * GRAVITY * H * math.sin(math.radians(slope)) / 1000


def degree_day_melt(ddf: float, T: float, days: float) -> float:
    """Melt (mm water equivalent). ddf: factor, mm/(°C d); T: mean air temperature, °C, above 0; days: number of days.

    Equation (degree_day_melt): $M = f_{dd}\\, T\\, t$ for $T > 0$ (Finsterwalder and Schunk 1887)
    Raises ValueError for values that are not positive.
    """
    positive(ddf=ddf, T=T, days=days)
    return ddf * T * days


def per_cent_slope(function: Callable[..., float]) -> Callable[..., float]:
    """`function` of H, slope, ... with the slope in degrees misread as per cent."""
    return lambda slope, **rest: function(slope=math.degrees(math.asin(slope / 100)), **rest)


CRYOSPHERE = (
    Law(
        "stefan_ice_growth", "Stefan's ice growth law",
        ("stefan ice growth", "stefan law", "stefan's law", "stefans law", "stefan problem"),
        "cryosphere", "sea and lake ice", "ice growth",
        r"h = \sqrt{2 k \Theta/(\rho_i L)}", "thickness of the ice cover", "m",
        (
            Symbol("fdd", r"\Theta", "sum of freezing degree days", "°C d", 100, 4000, log=True),
            Symbol("k", "k", "thermal conductivity of the ice", "W/(m K)", 1.9, 2.3),
        ),
        stefan_ice_growth, "math.sqrt(2 * k * fdd * 86400 / (917 * 3.34e5))",
        "Bare ice of conductivity {k} grows on calm water through {fdd} of frost "
        "(ice density 917 kg/m3, latent heat 334 kJ/kg)",
        (
            Slip("factor", "the factor 2 is left out", times(stefan_ice_growth, math.sqrt(0.5))),
            Slip("unit", "the value in mm is given as m", times(stefan_ice_growth, 1000)),
            Slip("inverted", "the root is replaced by a square", lambda fdd, k: stefan_ice_growth(fdd, k) ** 4),
        ),
        "fdd", 1, 0.5, "freezing degree days", "the degrees by which daily means lie below the freezing point, summed",
        "ice auger and thickness gauge", "daily air temperatures of a winter at the shore",
        "the depth of snow on the ice",
        "Josef Stefan", 1891,
    ),
    Law(
        "freeboard_thickness", "Archimedes' principle",
        ("archimedes principle", "archimedes", "hydrostatic equilibrium"),
        "cryosphere", "sea and lake ice", "satellite altimetry of ice",
        r"h = F \rho_w/(\rho_w - \rho_i)", "total thickness of the floe", "m",
        (
            Symbol("F", "F", "freeboard of the ice", "m", 0.05, 0.6),
            Symbol("water", r"\rho_w", "density of the sea water", "kg/m3", 1020, 1030),
            Symbol("ice", r"\rho_i", "density of the ice", "kg/m3", 870, 925),
        ),
        freeboard_thickness, "F * water / (water - ice)",
        "A snow-free ice floe of density {ice} rises {F} above sea water of density {water}",
        (
            Slip("factor", "the draft below the water line is given", lambda F, water, ice: F * ice / (water - ice)),
            Slip("inverted", "the density ratio is turned over", lambda F, water, ice: F * (water - ice) / water),
            Slip("unit", "the value in mm is given as m", times(freeboard_thickness, 1000)),
        ),
        "F", 1, 1.0, "freeboard", "the height of a floe's surface above the water line",
        "radar altimeter", "tracks of surface elevation over leads and floes", "the snow load on the floe",
        "Seymour Laxon and co-workers", 2003,
    ),
    Law(
        "glen_surface_speed", "Glen's flow law", ("glen flow law", "glens flow law", "glen law", "glen's law"),
        "cryosphere", "glaciology", "glacier dynamics",
        r"u = \frac{2A}{n+1}(\rho g\sin\alpha)^n H^{n+1},\ n = 3", "speed of the surface by internal deformation",
        "m/yr",
        (
            Symbol("H", "H", "ice thickness", "m", 80, 300),
            Symbol("slope", r"\alpha", "surface slope", "degrees", 3, 8),
            Symbol("A", "A", "rate factor", "Pa^-3 s^-1", 9e-25, 2.4e-24),
        ),
        glen_surface_speed,
        "A / 2 * (917 * 9.80665 * math.sin(math.radians(slope))) ** 3 * H ** 4 * 365.25 * 86400",
        "A wide glacier frozen to its bed is {H} thick and slopes at {slope}; its ice (density 917 kg/m3) has a rate "
        "factor of {A} and stress exponent 3",
        (
            Slip("factor", "the mean over depth stands for the surface", times(glen_surface_speed, 0.8)),
            Slip("unit", "the value in mm/yr is given as m/yr", times(glen_surface_speed, 1000)),
            Slip("angle", "the slope in degrees is read as per cent", per_cent_slope(glen_surface_speed)),
        ),
        "H", 1, 4.0, "creep", "the slow permanent deformation of a solid under a stress below its strength",
        "satellite navigation receiver on a stake", "velocity mosaic from radar image pairs", "the surface slope",
        "John Glen", 1955,
    ),
    Law(
        "basal_shear_stress", "driving stress relation", ("driving stress", "shallow ice", "nye"),
        "cryosphere", "glaciology", "glacier mechanics",
        r"\tau_b = \rho_i g H\sin\alpha", "shear stress at the bed", "kPa",
        (
            Symbol("H", "H", "ice thickness", "m", 50, 400),
            Symbol("slope", r"\alpha", "surface slope", "degrees", 1, 12),
        ),
        basal_shear_stress, "917 * 9.80665 * H * math.sin(math.radians(slope)) / 1000",
        "A slab of ice (density 917 kg/m3), {H} thick, rests on a bed and slopes at {slope}",
        (
            Slip("unit", "the value in Pa is given as kPa", times(basal_shear_stress, 1000)),
            Slip("inverted", "cosine stands for sine",
                 lambda H, slope: ICE * GRAVITY * H * math.cos(math.radians(slope)) / 1000),
            Slip("angle", "the slope in degrees is read as per cent", per_cent_slope(basal_shear_stress)),
        ),
        "H", 1, 1.0, "basal sliding", "the motion of a glacier over its bed",
        "ice-penetrating radar", "grid of bed elevation under the ice", "the slope of the surface",
        "John Nye", 1952,
    ),
    Law(
        "degree_day_melt", "degree-day method", ("degree day", "temperature index", "positive degree day"),
        "cryosphere", "snow hydrology", "melt modelling",
        r"M = f_{dd}\, T\, t", "melt as water equivalent", "mm",
        (
            Symbol("ddf", "f_{dd}", "melt factor", "mm/(°C d)", 3, 9),
            Symbol("T", "T", "mean air temperature above the melting point", "°C", 0.5, 8),
            Symbol("days", "t", "length of the period", "days", 5, 60, whole=True),
        ),
        degree_day_melt, "ddf * T * days",
        "For {days} the air over a snow field stays at {T} on average and never freezes; "
        "the melt factor is {ddf}",
        (
            Slip("scale", "the temperature is put in as kelvin",
                 lambda ddf, T, days: degree_day_melt(ddf, T + 273.15, days)),
            Slip("unit", "the value in m is given as mm", times(degree_day_melt, 0.001)),
            Slip("inverted", "the factor divides where it should multiply", lambda ddf, T, days: T * days / ddf),
        ),
        "T", 1, 1.0, "ablation", "all processes that remove snow or ice from a glacier",
        "ablation stakes", "seasonal mass balance record of a glacier", "the albedo of the snow",
        "Sebastian Finsterwalder and Hans Schunk", 1887,
    ),
)  # fmt: skip
