"""Laws of the atmosphere: radiation, thermodynamics, balanced flow."""

from __future__ import annotations

import math

from .laws_base import GRAVITY, Law, Slip, Symbol, positive, times, within

STEFAN_BOLTZMANN = 5.670374419e-8  # W m-2 K-4
OMEGA = 7.292115e-5  # rad/s, rotation of the Earth
KAPPA = 0.2857  # R/c_p of dry air
R_DRY = 287.05  # J kg-1 K-1


def equilibrium_temperature(solar: float, albedo: float) -> float:
    """Temperature (K) of a planet without greenhouse effect. solar: flux, W/m2; albedo: share reflected, 0 to 1.

    Equation (equilibrium_temperature): $T_e = \\left(S(1-a)/(4\\sigma)\\right)^{1/4}$ (textbook radiation balance)
    Raises ValueError for a flux that is not positive or an albedo outside of [0, 1].
    """
    positive(solar=solar)
    within("albedo", albedo, 0, 1)
    return (solar * (1 - albedo) / (4 * STEFAN_BOLTZMANN)) ** 0.25


def potential_temperature(T: float, p: float) -> float:
    """Temperature (K) of dry air brought to 1000 hPa without heat exchange. T: temperature, K; p: pressure, hPa.

    Equation (potential_temperature): $\\theta = T\\,(1000/p)^{0.2857}$ (textbook, Poisson's equation)
    Raises ValueError for values that are not positive.
    """
    positive(T=T, p=p)
    return T * (1000 / p) ** KAPPA


def saturation_vapour_pressure(T: float) -> float:
    """Saturation vapour pressure over water, hPa. T: temperature, degrees Celsius, -40 to 50.

    Equation (saturation_vapour_pressure): $e_s = 6.112\\,e^{17.67\\,T/(T+243.5)}$ (Bolton 1980)
    Raises ValueError outside of that range.
    """
    within("T", T, -40, 50)
    return 6.112 * math.exp(17.67 * T / (T + 243.5))


def coriolis_parameter(latitude: float) -> float:
    """Coriolis parameter, 1/s. latitude: degrees north, -90 to 90.

    Equation (coriolis_parameter): $f = 2\\Omega\\sin\\varphi$ (textbook)
    Raises ValueError outside of that range.
    """
    within("latitude", latitude, -90, 90)
    return 2 * OMEGA * math.sin(math.radians(latitude))


def geostrophic_wind(dp: float, distance: float, latitude: float, density: float) -> float:
    """Speed (m/s) of the wind that balances a pressure gradient, on the northern hemisphere.

    dp: pressure difference, hPa, over `distance`, km; latitude: degrees north; density: of the air, kg/m3.
    Equation (geostrophic_wind): $v_g = \\frac{1}{\\rho f}\\frac{\\Delta p}{\\Delta n}$ (textbook)
    Raises ValueError for values that are not positive, and for a latitude above 90.
    """
    positive(dp=dp, distance=distance, latitude=latitude, density=density)
    return 100 * dp / (1000 * distance) / (density * coriolis_parameter(latitude))


def layer_thickness(T: float, p_low: float, p_up: float) -> float:
    """Thickness (m) of the layer between two pressures. T: mean virtual temperature, K; p_low > p_up: pressures, hPa.

    Equation (layer_thickness): $\\Delta z = \\frac{R_d T}{g}\\ln\\frac{p_1}{p_2}$ (textbook, hypsometric equation)
    Raises ValueError for values that are not positive, and unless p_low is above p_up.
    """
    positive(T=T, p_low=p_low, p_up=p_up)
    if p_low <= p_up:
        raise ValueError(f"p_low must be above p_up, got {p_low} and {p_up}")
    return R_DRY * T / GRAVITY * math.log(p_low / p_up)


def co2_forcing(C: float, C0: float) -> float:
    """Radiative forcing (W/m2) of carbon dioxide. C: mixing ratio, ppm; C0: reference, ppm.

    Equation (co2_forcing): $F = 5.35\\ln(C/C_0)$ (Myhre and co-workers 1998)
    Raises ValueError for values that are not positive.
    """
    positive(C=C, C0=C0)
    return 5.35 * math.log(C / C0)


ATMOSPHERE = (
    Law(
        "equilibrium_temperature", "Stefan-Boltzmann law", ("stefan boltzmann",),
        "atmosphere", "climate physics", "planetary radiation",
        r"T_e = (S(1-a)/(4\sigma))^{1/4}", "radiative equilibrium temperature", "K",
        (
            Symbol("solar", "S", "solar flux", "W/m2", 600, 2600),
            Symbol("albedo", "a", "planetary albedo", "", 0.1, 0.75),
        ),
        equilibrium_temperature, "(solar * (1 - albedo) / (4 * 5.670374419e-8)) ** 0.25",
        "A planet without an atmosphere receives a solar flux of {solar} at its distance and has an albedo of {albedo}",
        (
            Slip("unit", "the flux is taken in kW/m2",
                 lambda solar, albedo: equilibrium_temperature(solar / 1000, albedo)),
            Slip("inverted", "the reflected share is put in for the absorbed one",
                 lambda solar, albedo: equilibrium_temperature(solar, 1 - albedo)),
            Slip("scale", "273.15 is added to a result that is in kelvin already",
                 lambda solar, albedo: equilibrium_temperature(solar, albedo) + 273.15),
        ),
        "solar", 1, 0.25, "albedo", "the share of incoming sunlight that a planet reflects",
        "satellite broadband radiometer", "top-of-atmosphere radiation budget record", "the albedo",
        "Josef Stefan", 1879,
    ),
    Law(
        "potential_temperature", "Poisson's equation", ("poisson equation", "poissons equation"),
        "atmosphere", "meteorology", "atmospheric thermodynamics",
        r"\theta = T (1000\,\mathrm{hPa}/p)^{0.2857}", "potential temperature", "K",
        (Symbol("T", "T", "air temperature", "K", 255, 290), Symbol("p", "p", "air pressure", "hPa", 600, 900)),
        potential_temperature, "T * (1000 / p) ** 0.2857",
        "Dry air has a temperature of {T} at a pressure of {p}; the reference pressure is 1000 hPa",
        (
            Slip("inverted", "the pressure ratio is turned over", lambda T, p: T * (p / 1000) ** KAPPA),
            Slip("scale", "273.15 is added to a temperature that is in kelvin already",
                 lambda T, p: potential_temperature(T + 273.15, p)),
            Slip("unit", "the pressure is put in as Pa against a reference in hPa",
                 lambda T, p: potential_temperature(T, 100 * p)),
        ),
        "p", -1, -KAPPA, "adiabatic process", "a change of state of an air parcel without exchange of heat",
        "radiosonde", "archive of balloon soundings", "the temperature before the displacement",
        "Wilhelm von Bezold", 1888,
    ),
    Law(
        "saturation_vapour_pressure", "Bolton's formula", ("bolton formula", "boltons formula", "bolton"),
        "atmosphere", "meteorology", "moist thermodynamics",
        r"e_s = 6.112\,e^{17.67\,T/(T+243.5)}", "saturation vapour pressure over water", "hPa",
        (Symbol("T", "T", "air temperature", "°C", 3, 32),),
        saturation_vapour_pressure, "6.112 * math.exp(17.67 * T / (T + 243.5))",
        "Air over a water surface has a temperature of {T}",
        (
            Slip("unit", "the value in Pa is given as hPa", times(saturation_vapour_pressure, 100)),
            Slip("scale", "the temperature is put in as kelvin",
                 lambda T: 6.112 * math.exp(17.67 * (T + 273.15) / (T + 273.15 + 243.5))),
            Slip("inverted", "the exponent has the wrong sign", lambda T: 6.112 * math.exp(-17.67 * T / (T + 243.5))),
        ),
        "T", 1, None, "dew point", "the temperature to which air must cool at constant pressure to become saturated",
        "chilled-mirror hygrometer", "hourly record of humidity at weather stations",
        "the salt content of the water",
        "David Bolton", 1980,
    ),
    Law(
        "coriolis_parameter", "Coriolis effect", ("coriolis", "coriolis parameter"),
        "atmosphere", "meteorology", "geophysical fluid dynamics",
        r"f = 2\Omega\sin\varphi", "planetary vorticity", "1/s",
        (Symbol("latitude", r"\varphi", "latitude", "degrees north", 15, 58),),
        coriolis_parameter, "2 * 7.292115e-5 * math.sin(math.radians(latitude))",
        "A parcel of air moves horizontally at {latitude} on the Earth, which turns at 7.292115e-5 rad/s",
        (
            Slip("angle", "the degrees are put in as radians", lambda latitude: 2 * OMEGA * math.sin(latitude)),
            Slip("inverted", "cosine stands for sine", lambda latitude: coriolis_parameter(90 - latitude)),
            Slip("factor", "the factor 2 is left out", times(coriolis_parameter, 0.5)),
        ),
        "latitude", 1, None, "inertial oscillation",
        "the circular motion of a fluid parcel that only the Earth's rotation deflects",
        "drogued drifter tracked by satellite", "trajectories of drifting buoys", "the speed of the parcel",
        "Gaspard-Gustave de Coriolis", 1835,
    ),
    Law(
        "geostrophic_wind", "geostrophic balance", ("geostrophic",),
        "atmosphere", "meteorology", "dynamic meteorology",
        r"v_g = \frac{1}{\rho f}\frac{\Delta p}{\Delta n}", "speed of the unaccelerated frictionless wind", "m/s",
        (
            Symbol("dp", r"\Delta p", "pressure difference", "hPa", 1, 6),
            Symbol("distance", r"\Delta n", "distance across the isobars", "km", 150, 500),
            Symbol("latitude", r"\varphi", "latitude", "degrees north", 35, 65),
            Symbol("density", r"\rho", "air density", "kg/m3", 0.7, 1.25),
        ),
        geostrophic_wind,
        "dp * 100 / (distance * 1000) / (density * 2 * 7.292115e-5 * math.sin(math.radians(latitude)))",
        "Above the friction layer at {latitude}, straight isobars {distance} apart differ by {dp}; "
        "the air density is {density}",
        (
            Slip("unit", "the pressure difference is taken in Pa", times(geostrophic_wind, 0.01)),
            Slip("inverted", "the density multiplies where it should divide",
                 lambda dp, distance, latitude, density: geostrophic_wind(dp, distance, latitude, 1 / density)),
            Slip("factor", "the factor 2 is left out of 2 Omega sin(latitude)", times(geostrophic_wind, 2)),
        ),
        "distance", -1, -1.0, "isobar", "a line on a weather chart along which the pressure is the same",
        "network of station barometers", "gridded surface pressure of a reanalysis", "the latitude",
        "Christophorus Buys Ballot", 1857,
    ),
    Law(
        "layer_thickness", "hypsometric equation", ("hypsometric",),
        "atmosphere", "meteorology", "atmospheric statics",
        r"\Delta z = \frac{R_d T}{g}\ln\frac{p_1}{p_2}", "thickness of the layer", "m",
        (
            Symbol("T", "T", "mean virtual temperature of the layer", "K", 240, 290),
            Symbol("p_low", "p_1", "pressure at the lower boundary", "hPa", 850, 1000),
            Symbol("p_up", "p_2", "pressure at the upper boundary", "hPa", 300, 700),
        ),
        layer_thickness, "287.05 * T / 9.80665 * math.log(p_low / p_up)",
        "A layer of air has a mean virtual temperature of {T} and reaches from {p_low} up to {p_up}",
        (
            Slip("scale", "the decimal logarithm stands for the natural one", times(layer_thickness, 1 / math.log(10))),
            Slip("unit", "the value in km is given as m", times(layer_thickness, 0.001)),
            Slip("linear", "the pressure difference over the lower pressure stands for the logarithm",
                 lambda T, p_low, p_up: R_DRY * T / GRAVITY * (p_low - p_up) / p_low),
        ),
        "T", 1, 1.0, "virtual temperature",
        "the temperature at which dry air would be as dense as the moist air at equal pressure",
        "pair of barometers at two heights", "geopotential heights of pressure levels", "both boundary pressures",
        "Pierre-Simon Laplace", 1805,
    ),
    Law(
        "co2_forcing", "logarithmic carbon dioxide forcing",
        ("logarithmic forcing", "logarithmic co2 forcing", "myhre"),
        "atmosphere", "climate physics", "radiative forcing",
        r"F = 5.35\ln(C/C_0)", "radiative forcing", "W/m2",
        (
            Symbol("C", "C", "carbon dioxide mixing ratio", "ppm", 400, 1200),
            Symbol("C0", "C_0", "reference carbon dioxide mixing ratio", "ppm", 270, 300),
        ),
        co2_forcing, "5.35 * math.log(C / C0)",
        "The carbon dioxide in the air rises from a reference of {C0} to {C}, while other gases stay the same",
        (
            Slip("scale", "the decimal logarithm stands for the natural one", times(co2_forcing, 1 / math.log(10))),
            Slip("unit", "the value in mW/m2 is given as W/m2", times(co2_forcing, 1000)),
            Slip("linear", "the relative increase stands for the logarithm of the ratio",
                 lambda C, C0: 5.35 * (C / C0 - 1)),
        ),
        "C", 1, None, "radiative forcing",
        "the change of net downward radiation at the tropopause that an agent imposes",
        "non-dispersive infrared gas analyser", "flask record of well-mixed trace gases", "the other greenhouse gases",
        "Gunnar Myhre and co-workers", 1998,
    ),
)  # fmt: skip
