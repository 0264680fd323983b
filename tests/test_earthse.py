"""The law bank: each law against textbook values, other units or an integral, and what it says about itself."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from iclr26lib.earthse import graders, laws_base
from iclr26lib.earthse import laws_atmosphere as air
from iclr26lib.earthse import laws_biosphere as life
from iclr26lib.earthse import laws_cryosphere as ice
from iclr26lib.earthse import laws_hydrosphere as water
from iclr26lib.earthse import laws_lithosphere as rock
from iclr26lib.earthse.laws import KINDS, LAWS, SPHERES, apart, of_sphere, show, with_unit


def near(value, rel=1e-5):
    return pytest.approx(value, rel=rel)


@pytest.mark.equation("earthse", "equilibrium_temperature")
def test_planets_without_air():
    assert air.equilibrium_temperature(1361, 0.30) == near(254.578, 1e-6)
    assert air.equilibrium_temperature(586.2, 0.25) == near(209.8, 1e-3)  # Mars, planetary fact sheet
    assert air.equilibrium_temperature(2601.3, 0.77) == near(226.6, 1e-3)  # Venus, planetary fact sheet


@pytest.mark.equation("earthse", "potential_temperature")
def test_potential_temperature():
    assert air.potential_temperature(280, 850) == near(293.307, 2e-6)
    assert air.potential_temperature(280, 1000) == 280
    assert math.log(air.potential_temperature(1, 500)) == near(0.2857 * math.log(2))


@pytest.mark.equation("earthse", "saturation_vapour_pressure")
def test_vapour_pressure_meets_tables():
    assert air.saturation_vapour_pressure(20) == near(23.3695, 2e-6)
    assert air.saturation_vapour_pressure(0) == 6.112
    assert air.saturation_vapour_pressure(30) == near(42.43, 2e-3)  # steam tables


@pytest.mark.equation("earthse", "coriolis_parameter")
def test_coriolis_from_the_sidereal_day():
    assert air.coriolis_parameter(45) == near(1.03126e-4)
    assert air.coriolis_parameter(90) == near(4 * math.pi / 86164.09, 1e-6)
    assert air.coriolis_parameter(-30) == near(-2 * math.pi / 86164.09, 1e-6)


@pytest.mark.equation("earthse", "geostrophic_wind")
def test_geostrophic_wind_balances():
    wind = air.geostrophic_wind(4, 400, 45, 1.25)
    assert wind == near(7.7575, 1e-4)  # 1e-3 Pa/m over 1.25 kg/m3 and 1.03126e-4 1/s
    assert 1.25 * air.coriolis_parameter(45) * wind * 400e3 == near(400.0)


@pytest.mark.equation("earthse", "layer_thickness")
def test_thickness_is_the_integral_of_hydrostatic_balance():
    assert air.layer_thickness(255, 1000, 500) == near(5173.72, 1e-6)
    height, _ = integrate.quad(lambda p: 287.05 * 270 / (p * 9.80665), 700, 925)
    assert air.layer_thickness(270, 925, 700) == near(height)


@pytest.mark.equation("earthse", "co2_forcing")
def test_doubling_of_carbon_dioxide():
    assert air.co2_forcing(560, 280) == near(3.7083, 1e-4)
    assert air.co2_forcing(1120, 280) == near(2 * air.co2_forcing(560, 280))


@pytest.mark.equation("earthse", "darcy")
def test_darcy_in_metres_a_second():
    assert water.darcy(1e-4 * 86400, 1, 100) == near(1e-6 * 86400)


@pytest.mark.equation("earthse", "manning")
def test_manning_in_feet():
    assert water.manning(0.03, 2, 0.001) == near(1.67327)
    feet = 1.485919 / 0.03 * (2 / 0.3048) ** (2 / 3) * 0.001**0.5  # the customary constant
    assert water.manning(0.03, 2, 0.001) == near(feet * 0.3048)


@pytest.mark.equation("earthse", "long_wave_speed")
def test_long_wave_is_the_limit_of_the_full_dispersion_relation():
    assert water.long_wave_speed(4000) == near(198.057, 1e-6)
    k = 2 * math.pi / 400e3
    assert water.long_wave_speed(100) == near(math.sqrt(9.80665 / k * math.tanh(k * 100)), 1e-5)


@pytest.mark.equation("earthse", "deep_water_wave_speed")
def test_deep_water_wave_of_ten_seconds():
    length = 9.80665 * 10**2 / (2 * math.pi)  # 156 m, the textbook's 1.56 T^2
    assert water.deep_water_wave_speed(length) == near(length / 10)
    k = 2 * math.pi / 80
    assert water.deep_water_wave_speed(80) == near(math.sqrt(9.80665 / k * math.tanh(k * 4000)))


@pytest.mark.equation("earthse", "residence_time")
def test_lake_geneva():
    assert water.residence_time(89, 251) == near(11.24, 1e-3)
    assert water.residence_time(1, 1e9 / 86400 / 365.25) == near(1.0)


@pytest.mark.equation("earthse", "radiometric_age")
def test_age_after_one_half_life():
    assert rock.radiometric_age(0.5, 1.55125e-10) == near(2.6138, 2e-5)
    assert rock.radiometric_age(1, 1.55125e-10) == near(4.468, 1e-4)  # half-life of uranium-238
    t = rock.radiometric_age(0.3, 5e-10) * 1e9
    assert math.exp(5e-10 * t) - 1 == near(0.3)


@pytest.mark.equation("earthse", "moment_magnitude")
def test_magnitude_of_great_earthquakes():
    assert rock.moment_magnitude(3.9e22) == pytest.approx(9.0, abs=0.05)  # Tohoku 2011
    assert rock.moment_magnitude(1e18) == pytest.approx(2 / 3 * math.log10(1e25) - 10.7, abs=0.04)  # in dyne cm
    assert rock.moment_magnitude(10**17.6) == near(2 / 3 * 8.5)


@pytest.mark.equation("earthse", "sp_distance")
def test_travel_times_differ_by_the_delay():
    assert rock.sp_distance(10, 6, 3.5) == near(84)
    d = rock.sp_distance(17, 6.4, 3.1)
    assert d / 3.1 - d / 6.4 == near(17)


@pytest.mark.equation("earthse", "airy_root")
def test_columns_weigh_the_same():
    assert rock.airy_root(3, 2670, 3300) == near(12.7143)
    r = rock.airy_root(4, 2800, 3350)
    assert (4 + 35 + r) * 2800 == near(35 * 2800 + r * 3350)


@pytest.mark.equation("earthse", "seafloor_depth")
def test_seafloor_depth_of_squares():
    assert [rock.seafloor_depth(t) for t in (0, 1, 25, 64)] == [2500, 2850, 4250, 5300]


@pytest.mark.equation("earthse", "geotherm")
def test_geotherm_in_base_units():
    assert rock.geotherm(10, 60, 2.5, 1) == near(34)  # 24 K/km
    assert rock.geotherm(5, 75, 3, 2) == near(5 + 0.075 * 2000 / 3)


@pytest.mark.equation("earthse", "stefan_ice_growth")
def test_ice_growth_integrates_the_heat_balance():
    assert ice.stefan_ice_growth(1000, 2.2) == near(1.1141, 1e-4)
    grown = integrate.solve_ivp(
        lambda t, h: 2.2 * 10 / (917 * 3.34e5 * h), (0, 100 * 86400), [1e-3], rtol=1e-8, atol=1e-10
    )
    assert ice.stefan_ice_growth(1000, 2.2) == near(grown.y[0, -1])


@pytest.mark.equation("earthse", "freeboard_thickness")
def test_floe_displaces_its_weight():
    h = ice.freeboard_thickness(0.3, 1025, 917)
    assert h == near(2.84722, 2e-6)
    assert (h - 0.3) * 1025 == near(h * 917)


@pytest.mark.equation("earthse", "glen_surface_speed")
def test_surface_speed_integrates_the_flow_law():
    H, A, slope = 200.0, 2.4e-24, math.radians(5)
    shear, _ = integrate.quad(lambda z: 2 * A * (917 * 9.80665 * math.sin(slope) * (H - z)) ** 3, 0, H)
    assert ice.glen_surface_speed(H, 5, A) == near(shear * 365.25 * 86400)


@pytest.mark.equation("earthse", "basal_shear_stress")
def test_driving_stress_of_a_one_in_ten_slope():
    assert ice.basal_shear_stress(100, math.degrees(math.asin(0.1))) == near(89.927, 1e-5)


@pytest.mark.equation("earthse", "degree_day_melt")
def test_melt_is_a_sum_over_days():
    assert ice.degree_day_melt(5, 3, 10) == sum(5 * 3 for _ in range(10))


@pytest.mark.equation("earthse", "q10_respiration")
def test_respiration_grows_by_the_factor_each_ten_kelvin():
    assert life.q10_respiration(3.0, 2, 15) == near(8.48528, 1e-6)
    assert life.q10_respiration(1.5, 2.3, 20) == near(1.5 * 2.3 * 2.3)


@pytest.mark.equation("earthse", "species_area")
def test_tenfold_area():
    assert life.species_area(10, 1e4, 0.25) == near(100)
    assert math.log10(life.species_area(7, 10, 0.3) / 7) == near(0.3)


@pytest.mark.equation("earthse", "canopy_light")
def test_layers_of_leaves_take_equal_shares():
    assert life.canopy_light(1000, 0.5, 3) == near(223.13, 1e-5)
    assert life.canopy_light(life.canopy_light(800, 0.6, 1), 0.6, 2) == near(life.canopy_light(800, 0.6, 3))


@pytest.mark.equation("earthse", "shannon_diversity")
def test_shannon_is_scipys_entropy():
    assert life.shannon_diversity(50, 25, 25) == near(1.03972, 1e-5)
    assert life.shannon_diversity(70, 8, 5) == near(stats.entropy([70, 8, 5]))


@pytest.mark.equation("earthse", "light_use_efficiency")
def test_production_of_a_crop():
    assert life.light_use_efficiency(1.5, 0.8, 10) == near(12)


def test_the_bank_is_complete():
    assert len(LAWS) == 28
    assert all(4 <= len(of_sphere(sphere)) <= 7 for sphere in SPHERES)
    assert {slip.kind for law in LAWS.values() for slip in law.slips} == set(KINDS)
    titles = [law.title for law in LAWS.values()]
    assert len(set(titles)) == len({law.term for law in LAWS.values()}) == len(titles)
    with pytest.raises(ValueError, match="unknown sphere"):
        of_sphere("technosphere")


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_each_law_keeps_its_word(law):
    """Expression, sign, exponent, slips and situation agree with the function, over draws."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        params = law.draw(rng)
        value = law.function(**params)
        assert eval(law.expression, {"math": math, **params}) == near(value, 1e-9)
        moved = law.function(**{**params, law.x: params[law.x] * 1.01})
        assert np.sign(moved - value) == law.sign
        if (power := law.power(params)) is not None:
            assert math.log(moved / value) / math.log(1.01) == near(power, 1e-6)
        wrong = law.wrong(params)
        assert all(math.isfinite(w) for w in wrong)
        everything = [value, *wrong]
        assert min(abs(a / b - 1) for a in everything for b in everything if a is not b) > 0.047
        text = law.describe(params)
        assert "{" not in text
        assert not graders.rubric_points(text, {"names": [law.title, *law.aliases]})["law"]
    for bad in (float("nan"), -1e9):
        with pytest.raises(ValueError, match=r"must|got"):
            law.function(**{**params, law.x: bad})


def test_helpers_refuse_and_round():
    assert [show(v) for v in (254.578, 84.0, 1.03126e-4, 0.0012345, 123456, 2e7, -0.28571)] == [
        "254.6", "84", "1.031e-4", "0.001234", "123500", "2e7", "-0.2857",
    ]  # fmt: skip
    assert with_unit(1, "") == "1"
    assert not apart([1.0, 1.04])
    assert apart([1.0, 1.06, -1.0])
    assert not apart([1.0, math.inf])
    with pytest.raises(ValueError, match="finite"):
        show(math.nan)
    with pytest.raises(ValueError, match="K must be finite and above 0"):
        laws_base.positive(K=0)
    with pytest.raises(ValueError, match="vp must be above vs"):
        rock.sp_distance(1, 3, 4)
