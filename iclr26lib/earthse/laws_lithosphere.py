"""Laws of the lithosphere: ages, earthquakes, isostasy, heat."""

from __future__ import annotations

import math

from .laws_base import Law, Slip, Symbol, positive, times, within


def radiometric_age(ratio: float, decay: float) -> float:
    """Age (Gyr) of a closed system without initial daughter. ratio: daughter/parent; decay: constant, 1/yr.

    Equation (radiometric_age): $t = \\ln(1 + D/P)/\\lambda$ (textbook, Rutherford and Soddy)
    Raises ValueError for values that are not positive.
    """
    positive(ratio=ratio, decay=decay)
    return math.log1p(ratio) / decay / 1e9


def moment_magnitude(M0: float) -> float:
    """Moment magnitude, a pure number. M0: seismic moment, N m.

    Equation (moment_magnitude): $M_w = \\frac23(\\log_{10} M_0 - 9.1)$ (Hanks and Kanamori 1979, IASPEI's constant)
    Raises ValueError for a moment that is not positive.
    """
    positive(M0=M0)
    return 2 / 3 * (math.log10(M0) - 9.1)


def sp_distance(dt: float, vp: float, vs: float) -> float:
    """Distance (km) of an earthquake. dt: S minus P arrival, s; vp, vs: wave speeds, km/s, vp above vs.

    Equation (sp_distance): $d = \\Delta t\\, v_p v_s/(v_p - v_s)$ (textbook, Omori)
    Raises ValueError for values that are not positive, and unless vp is above vs.
    """
    positive(dt=dt, vp=vp, vs=vs)
    if vp <= vs:
        raise ValueError(f"vp must be above vs, got {vp} and {vs}")
    return dt * vp * vs / (vp - vs)


def airy_root(h: float, crust: float, mantle: float) -> float:
    """Depth (km) of the crustal root under a mountain of height h, km. crust, mantle: densities, kg/m3.

    Equation (airy_root): $r = h\\,\\rho_c/(\\rho_m - \\rho_c)$ (Airy 1855)
    Raises ValueError for values that are not positive, and unless the mantle is denser.
    """
    positive(h=h, crust=crust, mantle=mantle)
    if mantle <= crust:
        raise ValueError(f"mantle must be denser than crust, got {mantle} and {crust}")
    return h * crust / (mantle - crust)


def seafloor_depth(t: float) -> float:
    """Depth (m) of the sea floor. t: age, Myr, 0 to 70, where half-space cooling holds.

    Equation (seafloor_depth): $d = 2500 + 350\\sqrt{t}$ (Parsons and Sclater 1977)
    Raises ValueError outside of that range.
    """
    within("t", t, 0, 70)
    return 2500 + 350 * math.sqrt(t)


def geotherm(T0: float, q: float, k: float, z: float) -> float:
    """Temperature (degrees Celsius) in the ground without heat production.

    T0: at the surface, degrees Celsius; q: heat flow, mW/m2; k: conductivity, W/(m K); z: depth, km.
    Equation (geotherm): $T(z) = T_0 + q z/k$ (Fourier's law, integrated)
    Raises ValueError unless q, k and z are positive and T0 is above absolute zero.
    """
    positive(q=q, k=k, z=z)
    within("T0", T0, -273.15, 100)
    return T0 + q * z / k


LITHOSPHERE = (
    Law(
        "radiometric_age", "law of radioactive decay", ("radioactive decay", "decay law", "age equation"),
        "lithosphere", "geochronology", "isotope geochemistry",
        r"t = \ln(1 + D/P)/\lambda", "age of the crystal", "Gyr",
        (
            Symbol("ratio", "D/P", "ratio of daughter to parent atoms", "", 0.05, 0.6),
            Symbol("decay", r"\lambda", "decay constant", "1/yr", 1.5e-10, 9.9e-10),
        ),
        radiometric_age, "math.log(1 + ratio) / decay / 1e9",
        "A closed crystal, formed without daughter atoms, now has a ratio of daughter to parent atoms of {ratio}; "
        "the parent's decay constant is {decay}",
        (
            Slip("scale", "the decimal logarithm stands for the natural one", times(radiometric_age, 1 / math.log(10))),
            Slip("inverted", "the ratio is turned over", lambda ratio, decay: radiometric_age(1 / ratio, decay)),
            Slip("unit", "the value in Myr is given as Gyr", times(radiometric_age, 1000)),
        ),
        "decay", -1, -1.0, "half-life", "the time in which one half of the parent atoms decays",
        "thermal ionisation mass spectrometer", "compilation of mineral isotope ratios", "the closure of the crystal",
        "Ernest Rutherford and Frederick Soddy", 1902,
    ),
    Law(
        "moment_magnitude", "moment magnitude scale", ("moment magnitude", "hanks kanamori", "hanks and kanamori"),
        "lithosphere", "seismology", "earthquake source",
        r"M_w = \frac{2}{3}(\log_{10} M_0 - 9.1)", "size of the earthquake on a logarithmic scale", "",
        (Symbol("M0", "M_0", "seismic moment", "N m", 1e17, 1e20, log=True),),
        moment_magnitude, "2 / 3 * (math.log10(M0) - 9.1)",
        "A fault slips and releases a seismic moment of {M0}",
        (
            Slip("scale", "the natural logarithm stands for the decimal one", lambda M0: 2 / 3 * (math.log(M0) - 9.1)),
            Slip("unit", "the moment is put in as dyne cm", lambda M0: moment_magnitude(1e7 * M0)),
            Slip("inverted", "3/2 stands for 2/3", times(moment_magnitude, 2.25)),
        ),
        "M0", 1, None, "seismic moment", "the product of rigidity, fault area and mean slip",
        "broadband seismometer", "catalogue of centroid moment tensors", "the rigidity of the rock",
        "Thomas Hanks and Hiroo Kanamori", 1979, step=1000.0,
    ),
    Law(
        "sp_distance", "Omori's distance formula", ("omori", "omori formula", "s minus p method", "s-p method"),
        "lithosphere", "seismology", "earthquake location",
        r"d = \Delta t\, v_p v_s/(v_p - v_s)", "distance to the source", "km",
        (
            Symbol("dt", r"\Delta t", "delay of the S wave after the P wave", "s", 3, 60),
            Symbol("vp", "v_p", "speed of P waves", "km/s", 5, 7),
            Symbol("vs", "v_s", "speed of S waves", "km/s", 2.9, 3.9),
        ),
        sp_distance, "dt * vp * vs / (vp - vs)",
        "At a station the S wave arrives {dt} after the P wave; the waves travel at {vs} and {vp}",
        (
            Slip("linear", "the delay is multiplied by the difference of the speeds",
                 lambda dt, vp, vs: dt * (vp - vs)),
            Slip("factor", "the delay is multiplied by the P speed alone", lambda dt, vp, vs: dt * vp),
            Slip("unit", "the value in m is given as km", times(sp_distance, 1000)),
        ),
        "dt", 1, 1.0, "epicentre", "the point of the surface straight above the place where a rupture starts",
        "three-component short-period seismograph", "bulletin of seismic phase arrivals",
        "the wave speeds along the path",
        "Fusakichi Omori", 1899,
    ),
    Law(
        "airy_root", "Airy isostasy", ("airy", "isostasy", "isostatic"),
        "lithosphere", "geodynamics", "isostasy",
        r"r = h \rho_c/(\rho_m - \rho_c)", "depth of the crustal root", "km",
        (
            Symbol("h", "h", "height of the mountain range", "km", 0.5, 6),
            Symbol("crust", r"\rho_c", "density of the crust", "kg/m3", 2600, 2900),
            Symbol("mantle", r"\rho_m", "density of the mantle", "kg/m3", 3200, 3400),
        ),
        airy_root, "h * crust / (mantle - crust)",
        "A mountain range {h} high, of crustal density {crust}, floats on a mantle of density {mantle}",
        (
            Slip("inverted", "the density ratio is turned over", lambda h, crust, mantle: h * (mantle - crust) / crust),
            Slip("factor", "the mantle density stands in the numerator",
                 lambda h, crust, mantle: h * mantle / (mantle - crust)),
            Slip("unit", "the value in m is given as km", times(airy_root, 1000)),
        ),
        "h", 1, 1.0, "Moho", "the boundary between crust and mantle",
        "field gravimeter", "map of Bouguer gravity anomalies", "the densities of crust and mantle",
        "George Biddell Airy", 1855,
    ),
    Law(
        "seafloor_depth", "half-space cooling of the lithosphere",
        ("half space cooling", "parsons and sclater", "parsons sclater"),
        "lithosphere", "marine geophysics", "plate cooling",
        r"d = 2500 + 350\sqrt{t}", "depth of the sea floor", "m",
        (Symbol("t", "t", "age of the oceanic plate", "Myr", 2, 34),),
        seafloor_depth, "2500 + 350 * math.sqrt(t)",
        "Oceanic lithosphere formed at a ridge crest 2500 m deep has an age of {t}; sediment is ignored",
        (
            Slip("linear", "the root is left out", lambda t: 2500 + 350 * t),
            Slip("unit", "the age is put in as Gyr", lambda t: seafloor_depth(t / 1000)),
            Slip("factor", "the depth of the ridge crest is left out", lambda t: seafloor_depth(t) - 2500),
        ),
        "t", 1, None, "thermal subsidence", "the sinking of a plate as it cools and contracts",
        "multibeam echo sounder", "grid of sea-floor ages from magnetic stripes", "the thickness of the sediment",
        "Barry Parsons and John Sclater", 1977, step=2.0,
    ),
    Law(
        "geotherm", "Fourier's law", ("fourier law", "fouriers law", "fourier"),
        "lithosphere", "geothermics", "terrestrial heat flow",
        r"T(z) = T_0 + q z/k", "temperature at that depth", "°C",
        (
            Symbol("T0", "T_0", "temperature at the surface", "°C", 2, 20),
            Symbol("q", "q", "heat flow", "mW/m2", 40, 90),
            Symbol("k", "k", "thermal conductivity", "W/(m K)", 2.0, 3.5),
            Symbol("z", "z", "depth", "km", 0.5, 5),
        ),
        geotherm, "T0 + q * z / k",
        "Rock without heat production conducts {q} at a conductivity of {k}; the surface is at {T0} "
        "and the depth is {z}",
        (
            Slip("unit", "the depth is put in as if it were m", lambda T0, q, k, z: T0 + q * z / k / 1000),
            Slip("inverted", "the conductivity multiplies where it should divide", lambda T0, q, k, z: T0 + q * z * k),
            Slip("scale", "the value in kelvin is given as °C", lambda T0, q, k, z: geotherm(T0, q, k, z) + 273.15),
        ),
        "z", 1, None, "geothermal gradient", "the increase of temperature with depth in the ground",
        "borehole thermistor string", "database of terrestrial heat flow sites", "the conductivity of the rock",
        "Joseph Fourier", 1822,
    ),
)  # fmt: skip
