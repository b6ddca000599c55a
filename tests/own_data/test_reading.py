"""Files as people have them: every format gives the same rows, and what is wrong is one sentence."""

import gzip
import lzma
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from scipy.sparse import csr_array

from eigenbench.own_data.files import read_table, read_user_file
from eigenbench.own_data.images import read_images
from eigenbench.own_data.problem import make_problem, split_by_time
from eigenbench.own_data.table import OwnDataError, split_columns, table_of

TABLE = pd.DataFrame(
    {
        "größe": [1.5, None, 3.0, 4.0, 5.0, 6.5],
        "shop": ["a", "b", None, "a", "b", "a"],
        "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-05", None, "2024-02-01", "2024-03-01"]),
        "kind": ["x", "y", "x", "y", "x", "y"],
    }
)


#: How a table is written into files of a kind, and with which options.
WRITERS = {
    **dict.fromkeys(("csv", "csv.gz", "csv.bz2", "csv.xz"), (TABLE.to_csv, {"index": False})),
    "txt": (TABLE.to_csv, {"index": False, "sep": ";"}),
    "tsv": (TABLE.to_csv, {"index": False, "sep": "\t"}),
    "parquet": (TABLE.to_parquet, {}),
    "feather": (TABLE.to_feather, {}),
    "xlsx": (TABLE.to_excel, {"index": False}),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_of_tables_gives_the_same_rows(tmp_path, kind):
    path, (write, options) = tmp_path / f"data.{kind}", WRITERS[kind]
    write(path, **options)
    table = read_user_file(path, ["kind"])
    assert list(table.features.columns) == ["größe", "shop", "day"]
    assert table.targets["kind"].tolist() == TABLE["kind"].tolist()
    np.testing.assert_allclose(pd.to_numeric(table.features["größe"]), TABLE["größe"])
    assert table.features["shop"].fillna("-").tolist() == ["a", "b", "-", "a", "b", "a"]


def test_lines_of_json(tmp_path):
    path = tmp_path / "data.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8-sig") as file:
        file.write('{"a": 1, "b": "x"}\n\n{"a": 2.5, "c": null}\n')
    table = read_table(path)
    assert table["a"].tolist() == [1, 2.5]
    assert table["b"].fillna("").tolist() == ["x", ""]
    assert list(table) == ["a", "b", "c"]


def test_an_excel_file_has_one_sheet_with_rows(tmp_path):
    with pd.ExcelWriter(tmp_path / "data.xlsx") as file:
        pd.DataFrame().to_excel(file, sheet_name="about")
        pd.DataFrame({"x": [1, 2], "kind": ["a", "b"]}).to_excel(file, sheet_name="A", startrow=3)
        file.sheets["A"]["A1"] = "Flowers of three gardens"
    table = read_table(tmp_path / "data.xlsx")
    assert list(table) == ["", "x", "kind"]
    assert table["x"].tolist() == [1, 2]
    with pd.ExcelWriter(tmp_path / "data.xlsx", mode="a") as file:
        pd.DataFrame({"x": [3]}).to_excel(file, sheet_name="B", index=False)
    with pytest.raises(OwnDataError, match="sheets 'A', 'B' have rows"):
        read_table(tmp_path / "data.xlsx")


def test_columns_of_excel_without_names_have_numbers_and_cells_keep_zeros_and_words(tmp_path):
    header, cells = [None, "zip", None, None, "kind"], [("01001", "None"), (None, "Mild"), ("02139", "NA")]
    rows = [[place, zipped, None, "u", kind] for place, (zipped, kind) in enumerate(cells)]
    pd.DataFrame([header, *rows]).to_excel(tmp_path / "data.xlsx", index=False, header=False)
    table = read_user_file(tmp_path / "data.xlsx", ["kind"])
    assert list(table.features) == ["column 1", "zip", "column 4"]
    assert table.features["column 1"].tolist() == [0, 1, 2]
    assert table.features["zip"].fillna("-").tolist() == ["01001", "-", "02139"]
    assert table.targets["kind"].tolist() == ["None", "Mild", "NA"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_of_one_name_may_be_dropped(tmp_path, kind):
    path, twice = tmp_path / f"data.{kind}", "" if kind == "csv" else "shop"
    if kind == "csv":
        path.write_text("a,kind,,\n1,x,0,1\n2,y,1,0\n")
    else:
        TABLE.set_index(TABLE["shop"][::-1].to_numpy()).rename_axis("shop").to_parquet(path)
    assert list(read_table(path)).count(twice) == 2
    assert twice not in read_user_file(path, ["kind"], drop=[twice]).features
    with pytest.raises(OwnDataError, match=f"two columns are named '{twice}'"):
        read_user_file(path, ["kind"])


def test_a_named_index_of_parquet_is_a_column_unless_it_copies_one(tmp_path):
    TABLE.set_index("shop").to_parquet(tmp_path / "data.parquet")
    assert list(read_table(tmp_path / "data.parquet")) == ["shop", "größe", "day", "kind"]
    for levels in (["shop"], ["shop", "day"], ["shop", "row"]):
        names = ["row", *TABLE] if "row" in levels else [*TABLE]
        frame = TABLE.assign(row=range(len(TABLE))).set_index(levels, drop=False).drop(columns="row")
        frame.to_parquet(tmp_path / "data.parquet")
        table = read_table(tmp_path / "data.parquet")
        assert list(table) == names
        assert table["shop"].fillna("-").tolist() == TABLE["shop"].fillna("-").tolist()
    frame.rename_axis(["shop", None]).to_parquet(tmp_path / "data.parquet")
    assert list(read_table(tmp_path / "data.parquet")) == ["index", *TABLE]


def arff(folder, *lines):
    path = folder / "data.arff"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_user_file(path, ["kind"])


def test_arff(tmp_path):
    table = arff(
        tmp_path,
        "% a comment",
        "@relation r",
        "@attribute 'größe in cm' numeric",
        "@ATTRIBUTE b {p, 'it\\'s, \"q\"', ß}",
        "@attribute day date 'yyyy-MM-dd'",
        "@attribute kind {x,y,'?'}",
        "@data",
        "1, p, 2024-02-29, x",
        "?,?,?,y",
        "3,'it\\'s, \"q\"','2024-03-01',x",
        "-4e1,ß,2024-03-01,'?'",
    )
    assert list(table.features.columns) == ["größe in cm", "b", "day"]
    np.testing.assert_array_equal(table.features["größe in cm"], [1, np.nan, 3, -40])
    assert table.features["b"].astype(object).fillna("-").tolist() == ["p", "-", 'it\'s, "q"', "ß"]
    assert str(table.features["day"].max()) == "2024-03-01 00:00:00"
    assert table.targets["kind"].tolist() == ["x", "y", "x", "?"]


def test_listed_values_of_arff_are_categories_and_classes_whatever_they_look_like(tmp_path):
    declared = [f"@attribute code {{1,2,3,4}}\n@attribute kind {{{','.join(map(str, range(150)))}}}", "@data"]
    problem = make_problem(arff(tmp_path, *declared, *(f"{row % 4 + 1},{row % 150}" for row in range(600))))
    assert problem.kind == "multiclass"
    assert problem.encoder.kinds_ == ["category"]


def test_compressed_arff(tmp_path):
    packed = tmp_path / "data.arff.gz"
    packed.write_bytes(gzip.compress(b"@attribute a real\n@attribute kind {x,y}\n@data\n1.5,x\n2,y\n"))
    assert read_table(packed).to_numpy().tolist() == [[1.5, "x"], [2.0, "y"]]


def test_sparse_rows_of_arff(tmp_path):
    lines = ["@attribute a real", "@attribute kind {no, yes}", "@attribute b real", "@data"]
    table = arff(tmp_path, *lines, "{0 1.5, 1 yes}", "{}", "{ 2 7 }", "1,no,?")
    np.testing.assert_array_equal(table.features, [[1.5, 0], [0, 0], [0, 7], [1, np.nan]])
    assert table.targets["kind"].tolist() == ["yes", "no", "no", "no"]


def test_arff_as_other_programs_write_it(tmp_path):
    day = '@attribute day date "dd/MM/yyyy HH:mm"'
    lines = [day, "@attribute\ta\treal", "@attribute kind{x, y}", "@data"]
    table = arff(tmp_path, *lines, "01/03/2024 12:30\tNaN\tx", "'02/03/2024 00:00', 1e2, y")
    days = table.features["day"].dt.strftime("%Y-%m-%d %H:%M").tolist()
    assert days == ["2024-03-01 12:30", "2024-03-02 00:00"]
    np.testing.assert_array_equal(table.features["a"], [np.nan, 100])
    assert table.targets["kind"].tolist() == ["x", "y"]
    blanks = arff(tmp_path, "@attribute a real", "@attribute kind {x,y}", "@data", "1   x", "2 y")
    assert blanks.features["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("03/01/2024, x, {2}", "line 4: the row has a weight"),
        ("{1 y}, {0.5}", "line 4: the row has a weight"),
        ("2024-03-01, x", "attribute 'day'"),
        ("31/13/2024, x", "attribute 'day'"),
        ("03/01/2024, z", "attribute 'kind': the value 'z' is not declared"),
        ("", "the letters 'qq', which are not known"),
    ],
)
def test_weights_and_dates_of_another_form_are_refused(tmp_path, row, problem):
    form = "dd/MM/yyyy" if row else "qq-yyyy"
    with pytest.raises(OwnDataError, match=problem):
        arff(tmp_path, f"@attribute day date {form}", "@attribute kind {x,y}", "@data", row or "1-2024,x")


def test_rows_of_svmlight_have_several_labels_those_of_tests_the_labels_of_training(tmp_path):
    (tmp_path / "train.svm").write_text("3,7 1:0.5 2:1\n7 1:1\n 2:2\n3,9 1:4\n")
    train = read_user_file(tmp_path / "train.svm")
    assert train.features.shape == (4, 2)
    assert list(train.targets.columns) == ["3", "7", "9"]
    assert train.targets.to_numpy().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]]
    (tmp_path / "test.svm").write_text("7 1:1\n3 2:1\n")
    test = read_user_file(tmp_path / "test.svm", like=train)
    assert list(test.targets.columns) == ["3", "7", "9"]
    assert test.targets.to_numpy().tolist() == [[0, 1, 0], [1, 0, 0]]


def test_svmlight_with_a_mark_of_its_encoding_and_compressed(tmp_path):
    content = "\ufeff1 1:0.5\n-1 2:1\n".encode()
    for name, compress in (("a.svm", bytes), ("a.svm.xz", lzma.compress), ("a.svm.gz", gzip.compress)):
        (tmp_path / name).write_bytes(compress(content))
        table = read_user_file(tmp_path / name)
        assert isinstance(table.features, csr_array)
        assert table.features.toarray().tolist() == [[0.5, 0], [0, 1]]
        assert table.targets["target"].tolist() == [1, -1]


def test_a_file_of_the_extreme_classification_repository(tmp_path):
    path = tmp_path / "train.svm"
    path.write_text("3 5 9\n0,8 1:0.5 3:1\n8 2:1\n 1:2\n")
    table = read_user_file(path)
    assert table.features.toarray().tolist() == [[0, 0.5, 0, 1, 0], [0, 0, 1, 0, 0], [0, 2, 0, 0, 0]]
    assert list(table.targets.columns) == ["0", "8"]
    assert table.targets.to_numpy().tolist() == [[1, 1], [0, 1], [0, 0]]
    for counts in ("2 5 9", "3 3 9", "3 5 8"):
        path.write_text(f"{counts}\n0,8 1:0.5 3:1\n8 2:1\n 1:2\n")
        with pytest.raises(OwnDataError, match=f"line 1 says {counts}, and there are 3 rows"):
            read_user_file(path)


@pytest.mark.parametrize("first", [0, 1])
def test_test_rows_of_svmlight_have_the_columns_of_the_training_rows(tmp_path, first):
    lines = ["1 0:1 3:4", "0 1:2", "1 2:3", "0 2:1"], ["1 1:7", "0 2:5 5:9"]
    for name, rows in zip(("train.svm", "test.svm"), lines, strict=True):
        shifted = [re.sub(r"(\d):", lambda found: f"{int(found[1]) + first}:", row) for row in rows]
        (tmp_path / name).write_text("\n".join(shifted))
    train = read_user_file(tmp_path / "train.svm")
    problem = make_problem(train, read_user_file(tmp_path / "test.svm", like=train))
    assert problem.matrix.shape == (6, 4)
    np.testing.assert_array_equal(problem.matrix[4:].toarray(), [[0, 7, 0, 0], [0, 0, 5, 0]])


@pytest.mark.parametrize(
    "y", [np.array([0.0, 1.0] * 3), np.array([True, False] * 3), np.array([b"x", b"y"] * 3)]
)
def test_labels_of_npz_are_of_any_type_and_keep_their_names(tmp_path, y):
    np.savez(tmp_path / "data.npz", X=np.arange(120).reshape(6, 4, 5), y=y)
    problem = make_problem(read_user_file(tmp_path / "data.npz"), n_folds=2)
    assert problem.matrix.shape == (6, 20)
    assert problem.n_classes == 2
    np.savez(tmp_path / "data.npz", X=np.eye(4), y=np.eye(4, 2, dtype=int), label_names=["sad", "happy"])
    assert list(read_user_file(tmp_path / "data.npz").targets.columns) == ["sad", "happy"]


def save(image, path, **options):
    """Write an image, and the folder of its class."""
    path.parent.mkdir(parents=True, exist_ok=True)
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(path, **options)


def test_a_folder_of_images_by_class(tmp_path):
    for name, grey in (("cat", 10), ("dog", 200)):
        for number in range(3):
            save(Image.new("L", (8, 6), grey), tmp_path / "pets" / name / f"{number}.png")
        (tmp_path / "pets" / name / "notes.txt").write_text("no image")
    table = read_user_file(tmp_path / "pets")
    assert table.features.shape == (6, 48)
    assert table.features.iloc[0, 0] == pytest.approx(10 / 255)
    assert table.targets["target"].tolist() == ["cat"] * 3 + ["dog"] * 3


def test_images_of_several_sizes_and_colours_become_rows_of_one_length(tmp_path):
    for name, mode, size in (("a", "L", (300, 20)), ("b", "RGBA", (8, 8))):
        save(Image.new(mode, size), tmp_path / name / "1.png")
    assert read_user_file(tmp_path).features.shape == (2, 32 * 32 * 3)


def test_test_images_and_new_ones_get_the_size_and_colours_of_the_training_images(tmp_path):
    for name, mode, size in (("train", "RGB", (100, 90)), ("test", "L", (50, 40)), ("tall", "RGB", (16, 48))):
        for label in "ab":
            save(Image.new(mode, size), tmp_path / name / label / "1.png")
    train = read_user_file(tmp_path / "train")
    assert train.image_shape == (32, 32, 3)
    for name in ("test", "tall"):
        assert read_user_file(tmp_path / name, like=train).features.shape == (2, 32 * 32 * 3)
    save(Image.new("L", (50, 40)), tmp_path / "new" / "1.png")
    assert read_images(tmp_path / "new", train.image_shape).shape == (1, 32 * 32 * 3)
    chequered = np.kron(np.indices((32, 32)).sum(axis=0) % 2 * 255, np.ones((4, 4)))
    save(chequered.astype(np.uint8), tmp_path / "big.png")
    large = read_images(tmp_path, (64, 64, 1))
    assert large.shape[1] == 64 * 64
    assert large[0].std() > 0.3, "scaled at once, not to 32 × 32 before"
    grey = read_user_file(tmp_path / "test")
    assert read_user_file(tmp_path / "train", like=grey).features.shape == (2, 50 * 40)


def test_images_of_sixteen_bits_and_of_floats_keep_their_values(tmp_path):
    values = np.linspace(0, 1, 48, dtype=np.float32).reshape(6, 8)
    save((values * 65535).astype(np.uint16), tmp_path / "a" / "1.png")
    save(values, tmp_path / "a" / "2.tiff")
    save(values * 255, tmp_path / "a" / "3.tiff")
    save(Image.new("L", (8, 6)), tmp_path / ".ipynb_checkpoints" / "1.png")
    table = read_user_file(tmp_path)
    assert set(table.targets["target"]) == {"a"}
    np.testing.assert_allclose(table.features, np.tile(values.reshape(-1), (3, 1)), atol=2e-5)


def test_a_file_that_holds_no_image_under_the_name_of_one_is_refused(tmp_path):
    save(Image.new("L", (8, 6)), tmp_path / "a" / "1.png")
    (tmp_path / "a" / "2.jpg").touch()
    with pytest.raises(OwnDataError, match="holds no image"):
        read_user_file(tmp_path)


def test_units_in_a_sheet_are_refused(tmp_path):
    frame = pd.DataFrame({"len": ["cm", *range(6)], "wid": ["mm", *range(6)], "kind": list("abababa")})
    frame.to_excel(tmp_path / "data.xlsx", index=False)
    with pytest.raises(OwnDataError, match="its first row holds 'cm'"):
        read_table(tmp_path / "data.xlsx")


def test_transparent_images_are_on_white_and_others_turned_as_their_exif_data_say(tmp_path):
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[0, 0, 3] = 255
    save(pixels, tmp_path / "white" / "a" / "1.png")
    assert read_user_file(tmp_path / "white").features.to_numpy().tolist() == [[0.0] * 3 + [1.0] * 9]
    pixels = np.zeros((6, 8), np.uint8)
    pixels[0] = 255
    for name, orientation in (("a", 1), ("b", 3)):
        exif = Image.Exif()
        exif[274] = orientation
        save(pixels, tmp_path / "turned" / name / "1.png", exif=exif)
    rows = read_user_file(tmp_path / "turned").features.to_numpy().reshape(2, 6, 8)
    assert rows[0][0].min() == 1
    assert rows[1][-1].min() == 1


NO_LABEL = "has no label in any row: give each row its label"
EIGHT = {"X": np.arange(16.0).reshape(8, 2), "y": np.arange(8) % 2}
CSR = {"X_indices": [0] * 8, "X_indptr": np.arange(9), "X_shape": [8, 2], "y": EIGHT["y"]}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("blank.csv", "\n\n", "empty"),
        ("header.csv", "a,b,y\n", "no rows"),
        ("near.csv", "a,yy\n1,x\n2,y\n", "Did you mean 'yy'"),
        ("alone.csv", "y\np\nq\n", "no column beside the target"),
        ("broken.parquet", "PAR1 no parquet", "can't be read"),
        ("broken.feather", "no feather", "can't be read"),
        ("broken.csv.gz", "no gzip", "can't be read"),
        ("broken.arff", "@relation x\n@attribute y string\n@data\nx,1\n", "line 4: 2 values for 1 attr"),
        ("kind.arff", "@attribute y relational\n@data\nx\n", "line 1"),
        ("index.arff", "@attribute y string\n@data\n{7 x}\n", "line 3: indices must ascend up to 0"),
        ("number.arff", "@attribute a real\n@attribute y string\n@data\nx,y\n", "attribute 'a'"),
        ("end.arff", "@attribute y string\n", "no @data"),
        ("broken.npz", "no zip", r"^broken\.npz, arrays: File is not a zip file; write it again with numpy"),
        ("broken.svm", "1 2:3\nx y z\n", "line 2: b'x y z' is not 'label index:value"),
        ("blank.svm", "", "has no rows"),
        ("comments.svm", "# a comment\n", "has no rows"),
        ("unknown.docx", "", "must end in"),
        ("line.jsonl", '{"y": 1}\n1e999', "line 2 is no object"),
        ("line.jsonl", '{"y": 1}\n[1, 2]', "line 2 is no object"),
        ("line.jsonl", '{"y": 1}\n{"a": 1, "a": 2}', "line 2 is no JSON: it names 'a' twice"),
        ("line.jsonl", '{"y": 1}\n{"y": 1', "line 2 is no JSON"),
        ("line.jsonl", '{"y": 1}\n' + "[" * 100_000, "line 2 is no JSON"),
        ("line.jsonl", '{"y": 1}\n' + "9" * 5_000, "line 2 is no JSON"),
        ("wide.svm", f"1 1:1\n-1 {2**31 - 1}:1\n", r"wide\.svm, line 2: index \d+ is above 2147483646"),
        ("wide.svm", f"1 1:1\n-1 {10**30}:1\n", r"wide\.svm, line 2: index \d+ is above 2147483646"),
        ("zeros.svm", "1\n0\n" * 4, "all values are 0, so there is nothing to predict from"),
        ("zeros.svm", "1 2:0\n0\n" * 4, "all values are 0, so there is nothing to predict from"),
        ("zeros.svm", "1 0:0\n0\n" * 4, "all values are 0, so there is nothing to predict from"),
        ("data.svm", " 0:0.22\n" * 8, NO_LABEL),
        ("data.svm", "8 1 1\n" + " 0:0.22\n" * 8, NO_LABEL),
        ("data.svm", "2 0 1\n0\n0\n", "line 1 says 2 0 1"),
        ("data.svm", "1,nan 1:1\n2 1:2\n" * 4, "two columns are named 'nan'"),
        ("data.npz", EIGHT | {"y": np.zeros((8, 0))}, NO_LABEL),
        ("data.npz", EIGHT | {"y": np.zeros((8, 2))}, "no row has any of the labels"),
        ("data.npz", EIGHT | {"y": np.eye(8, 2), "label_names": ["a", "a"]}, "two columns are named 'a'"),
        ("data.npz", EIGHT | {"y": np.eye(8, 2), "label_names": "a"}, r"of shape \(\), for 2 columns of y"),
        ("data.npz", EIGHT | {"y": [b"\xff", b"a"] * 4}, "a target must be a number or a text"),
        ("data.npz", EIGHT | {"X": np.zeros((8, 0))}, "no column beside the target"),
        ("data.npz", EIGHT | {"X": np.zeros((0, 2)), "y": []}, "has no rows"),
        ("data.npz", CSR | {"X_data": ["a"] * 8}, "X_data is of type <U1, not numbers"),
        ("data.jsonl", "", "has no rows"),
        ("data.jsonl", '{"y": [1], "a": 2}\n' * 4, "a target must be a number or a text: unhashable"),
        (
            "data.jsonl",
            '{"y": "1.500", "a": [2]}\n{"y": "2.500", "a": [3]}\n' * 4,
            "column 'a' holds no single values: leave it out",
        ),
        ("data.jsonl", '{"y": 1}\n{"y": 2}\n' * 4, "no column beside the target"),
        ("data.csv", "a,y\n1,2\n", "has one class"),
        ("data.csv", "a,y\n" + "1,\n" * 8, "has no value in any row"),
        ("data.csv", "a,y\n" + ",1\n,2\n" * 4, r"'a' \(no value\)"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, name, content, told):
    path = tmp_path / name
    if isinstance(content, dict):
        np.savez(path, **content)
    else:
        path.write_text(content)
    with pytest.raises(OwnDataError, match=told) as caught:
        make_problem(read_user_file(path, [] if path.suffix in (".npz", ".svm") else ["y"]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("train", "test", "told"),
    [
        ("1 1:1\n0 1:2\n", " 1:0.22\n", NO_LABEL),
        ("1 1:1\n0 1:2\n", "1,2 1:1\n", "has other targets"),
        ("1,2 1:1\n2 1:2\n", "1 1 1\n0 0:1\n", "no training row has the label 0"),
        ("1,2 1:1\n2 1:2\n", "\n", "has no rows"),
        ("1 1:1\n0 1:2\n", "1 0:1 1:2\n", r"test\.svm counts columns from 0, and train\.svm from 1"),
    ],
)
def test_test_rows_of_svmlight_with_other_labels_are_one_sentence(tmp_path, train, test, told):
    (tmp_path / "train.svm").write_text(train * 4)
    (tmp_path / "test.svm").write_text(test)
    table = read_user_file(tmp_path / "train.svm")
    with pytest.raises(OwnDataError, match=told):
        make_problem(table, read_user_file(tmp_path / "test.svm", like=table))


def test_rows_of_arrays_that_do_not_fit_each_other_are_one_sentence():
    X, y = EIGHT["X"], EIGHT["y"]
    for bad_y, told in ((np.zeros((8, 0)), NO_LABEL), (y[:4], "lengths differ: X has 8 rows, y has 4 rows")):
        with pytest.raises(OwnDataError, match=told):
            table_of("X", X, bad_y)
    for groups, told in (
        (np.zeros((8, 2)), "X: Data must be 1-dimensional"),
        ([[1]] * 8, "a group must be a number"),
    ):
        with pytest.raises(OwnDataError, match=told):
            make_problem(table_of("X", X, y, groups))
    with pytest.raises(OwnDataError, match="X: a target must be a number or a text: 'complex256'"):
        make_problem(table_of("X", X, y.astype(np.longdouble)), table_of("X_test", X, y * 1j))
    with pytest.raises(OwnDataError, match="only one of X and X_test is sparse"):
        make_problem(table_of("X", X, y), table_of("X_test", csr_array(X), y))
    with pytest.raises(OwnDataError, match="no column to predict from: there is none"):
        make_problem(table_of("X", pd.DataFrame({"day": range(8)}), y), time="day")


def test_what_is_wrong_with_the_command_is_one_sentence(tmp_path):
    path = tmp_path / "data.csv"
    TABLE.to_csv(path, index=False)
    for target, group, told in (
        ([], None, "name the column to predict"),
        (["kind", "kind"], None, "named twice"),
        (["kind"], "kind", "named twice"),
        (["kind"], "shops", "Did you mean 'shop'"),
    ):
        with pytest.raises(OwnDataError, match=told):
            read_user_file(path, target, group)
    with pytest.raises(OwnDataError, match="no file"):
        read_user_file(tmp_path / "absent.csv", ["kind"])
    with pytest.raises(OwnDataError, match="no images"):
        read_user_file(tmp_path)


def test_the_columns_show_the_decimal_sign_of_the_target():
    frame = pd.DataFrame({"a": ["1,5", "2,25"] * 10, "y": [f"{place}.500" for place in range(1, 21)]})
    problem = make_problem(split_columns("data.csv", frame, ["y"], None), regression=True)
    assert problem.target.labels[0] == 1500


def test_a_named_target_of_a_file_keeps_its_name_and_one_of_arrays_is_called_target():
    X, y = EIGHT["X"], EIGHT["y"]
    frame = pd.DataFrame({"a": X[:, 0], "0": y})
    assert list(split_columns("f", frame, ["0"], None).targets) == ["0"]
    arrays = [table_of("X", X, target) for target in (y, [*y], pd.Series(y), pd.DataFrame(y), frame["0"])]
    assert {name for table in arrays for name in table.targets} == {"target"}
    assert make_problem(arrays[-1], test=arrays[0]).matrix.shape[0] == 2 * len(y)


def test_tables_of_pyarrow_keep_their_names_and_other_shapes_are_refused():
    table = pa.table({"a": [1, 2, 3, 4], "b": ["u", "v", "u", "v"]})
    problem = make_problem(table_of("X", table, pa.array(["x", "y", "x", "y"])), n_folds=2)
    assert problem.encoder.columns_ == ["a", "b"]
    with pytest.raises(OwnDataError, match="X: Must pass 2-d input"):
        table_of("X", np.zeros((4, 2, 2)), np.arange(4) % 2)


def test_classes_that_no_training_row_has_are_said():
    frame = pd.DataFrame(
        {"a": np.arange(12.0), "site": np.repeat([0, 1, 2], 4), "kind": list("xyxyxyxyzzzx")}
    )
    table = split_columns("data.csv", frame, ["kind"], "site")
    said = "\n".join(make_problem(table, n_folds=3).describe())
    assert "class 'z' is in one group only: always an error where it is tested" in said
    train, test = (
        split_columns("data.csv", frame.drop(columns="site")[rows], ["kind"], None)
        for rows in (slice(8), slice(8, None))
    )
    said = "\n".join(make_problem(train, test).describe())
    assert "class 'z' is of the test rows" not in said
    assert "class 'z' is in no training row: always an error" in said


def test_columns_that_copy_the_target_and_rows_that_repeat_are_said():
    frame = pd.DataFrame({"a": [*range(8), 0, 1], "id": [5, 3] * 5, "kind": ["x", "y"] * 5})
    said = make_problem(split_columns("data.csv", frame, ["kind"], None), n_folds=2).describe()
    assert "'id' has one value for each class: if it is the target by another name, --drop it" in said
    assert "rows that repeat another one: 2; --group keeps copies in one fold" in said
    few = split_columns("data.csv", pd.concat([frame[["id", "kind"]]] * 3), ["kind"], None)
    assert not any("that repeat" in line for line in make_problem(few, n_folds=2).describe())
    train, test = (split_columns("data.csv", frame[rows], ["kind"], None) for rows in (slice(8), slice(7, 9)))
    assert "test rows that are training rows too: 2" in make_problem(train, test).describe()


def test_what_is_wrong_with_test_rows_names_their_file():
    frame = pd.DataFrame({"day": pd.date_range("2024-03-01", periods=6), "kind": ["x", "y"] * 3})
    train = split_columns("train.parquet", frame, ["kind"], None)
    days = frame.assign(day=frame["day"].dt.strftime("%d/%m/%Y"))
    with pytest.raises(OwnDataError, match=r"^test\.csv: column 'day' should hold dates, but holds '01/"):
        make_problem(train, split_columns("test.csv", days, ["kind"], None))


def test_a_split_by_time_tests_the_last_fifth_and_leaves_the_times_out():
    days = pd.date_range("2024-01-10", periods=10).strftime("%d.%m.%Y")
    frame = pd.DataFrame({"a": np.arange(10.0), "day": days, "y": np.arange(10) / 4})[::-1]
    train, test = split_by_time(split_columns("data.csv", frame, ["y"], None), "day")
    assert test.features["a"].tolist() == [9.0, 8.0]
    assert list(train.features.columns) == ["a"]
    assert len(make_problem(train, test).matrix) == 10
    frame.loc[frame["a"] > 5, "y"] = None
    train, test = split_by_time(split_columns("data.csv", frame.dropna(), ["y"], None), "day")
    late = make_problem(split_columns("data.csv", frame, ["y"], None), time="day")
    assert (late.n_train, len(late.matrix)) == (len(train), len(train) + len(test)), "the last with a target"
    for column, reason in [("b", "no column 'b'"), ("late", "the same value")]:
        with pytest.raises(OwnDataError, match=reason):
            split_by_time(split_columns("data.csv", frame.assign(late=1), ["y"], None), column)
