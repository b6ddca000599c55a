"""Text files as programs and people write them."""

import zipfile

import pytest

from eigenbench import read_table
from eigenbench.own_data.table import OwnDataError

ROWS = [["1", "2", "x"], ["3", "4", "y"]]
HEADED = ["a", "b", "kind"]
FILES = {
    "plain": (b"a,b,kind\n1,2,x\n3,4,y\n", HEADED, ROWS),
    "R": (b'"a" "b"\n"1" 1.5 "x"\n"2" 3 "y"\n', ["", "a", "b"], [["1", "1.5", "x"], ["2", "3", "y"]]),
    "R, numbered": (b"b,kind\n1,1,x\n2,4,y\n", ["", "b", "kind"], [["1", "1", "x"], ["2", "4", "y"]]),
    "R csv": (b'"b","kind"\n"1",2,"x"\n"3",4,"y"\n', ["", "b", "kind"], ROWS),
    "title": (b"My table\n\nmade, 2024\na,b,kind\n1,2,x\n3,4,y\n", HEADED, ROWS),
    "comments": (b"# hello, world, x, y\na,b,kind\n1,2,x\n#skip this\n3,4,y\n", HEADED, ROWS),
    "comment of as many fields": (b"# x, y, z\na,b,kind\n1,2,x\n3,4,y\n", HEADED, ROWS),
    "padded title": (b"My table,,\n,,\na,b,kind\n1,2,x\n3,4,y\n", HEADED, ROWS),
    "header again": (b"a,b,kind\n1,2,x\na,b,kind\n3,4,y\n", HEADED, ROWS),
    "R after a comment": (b'# by R\n"b","kind"\n"1",2,"x"\n"3",4,"y"\n', ["", "b", "kind"], ROWS),
    "declared": (b"sep=;\na;b;kind\n1;2;x\n3;4;y\n", HEADED, ROWS),
    "blanks": (b"a   b  kind\n1   2    x\n 3  4  y\n", HEADED, ROWS),
    "quoted": (b'a;b;kind\n1;2;"x;y"\n3;4;z\n', HEADED, [["1", "2", "x;y"], ["3", "4", "z"]]),
    "spaced": (b"a, b, kind\n1, 2, x\n3, 4, y\n", HEADED, ROWS),
    "UTF-16": ("größe\tb\tkind\n1\t2\tx\n3\t4\ty\n".encode("utf-16"), ["größe", "b", "kind"], ROWS),
    "Windows": ("größe,b,kind\n1,2,x\n3,4,y\n".encode("cp1252"), ["größe", "b", "kind"], ROWS),
    "letters of Windows": ("äöüß,b,kind\n1,2,x\n3,4,y\n".encode("cp1252"), ["äöüß", "b", "kind"], ROWS),
    "two lines": (b'a,b,kind\n1,2,"x\ny"\n\n#c\n3,4,z\n', HEADED, [["1", "2", "x\ny"], ["3", "4", "z"]]),
    "carriage returns": (b"a,b,kind\r1,2,x\r3,4,y\r", HEADED, ROWS),
    "error in a cell": (b"a,b,kind\n#DIV/0!,2,x\n3,4,y\n", HEADED, [["#DIV/0!", "2", "x"], ["3", "4", "y"]]),
    "header with a sign": (b"#a,b,kind\n1,2,x\n3,4,y\n", ["#a", "b", "kind"], ROWS),
    "rows with signs": (b"a,b\n# x,1\n#y,2\n", ["a", "b"], [["# x", "1"], ["#y", "2"]]),
    "UTF-16 without a mark": ("a\tb\tkind\n1\t2\tx\n3\t4\ty\n".encode("utf-16-be"), HEADED, ROWS),
    "many comments": (b"# note 7\n" * 250 + b"a,b,kind\n1,2,x\n3,4,y\n", HEADED, ROWS),
    "comments with commas": (b"# note 7, more\n" * 150 + b"a,b,kind\n1,2,x\n3,4,y\n", HEADED, ROWS),
    "zeros": (b"a,b,kind\n007,2,x\n7,4,y\n", HEADED, [["007", "2", "x"], ["7", "4", "y"]]),
}


FILES["a NUL far from the start"] = (
    b"a,b,kind\n" + b"1,%s,x\n" % (b"w" * 100_000) * 11 + b"3,\0,y\n",
    HEADED,
    [["1", "w" * 100_000, "x"]] * 11 + [["3", "\0", "y"]],
)


def read(folder, content, **options):
    path = folder / "data.csv"
    path.write_bytes(content)
    return read_table(path, **options)


@pytest.mark.parametrize("name", FILES)
def test_layouts(tmp_path, name):
    content, names, rows = FILES[name]
    table = read(tmp_path, content)
    assert list(table.columns) == names
    assert table.to_numpy().tolist() == rows


def test_the_only_file_of_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.csv.zip", "w") as archive:
        archive.writestr("inner.csv", FILES["plain"][0])
        archive.writestr("__MACOSX/._inner.csv", b"\0")
    assert read_table(tmp_path / "data.csv.zip").to_numpy().tolist() == ROWS


def test_a_field_at_the_end_of_every_row_that_is_empty_is_none(tmp_path):
    for header, end in (("a,b,kind", ","), ("a,b,kind,,", ",,"), ("a,b,kind,", ",")):
        table = read(tmp_path, f"{header}\n1,2,x{end}\n3,4,y{end}\n".encode())
        assert list(table.columns) == HEADED


def test_many_columns(tmp_path):
    names = [f"gene {place:06}" for place in range(12_000)]  # lines of more than 131,072 characters
    header, ones = ",".join(names), ",".join("1" for _ in names)
    assert list(read(tmp_path, f"{header}\n{ones}".encode()).columns) == names
    with pytest.raises(OwnDataError, match="two columns are named 'gene 011999'"):
        read(tmp_path, f"{header},gene 011999\n{ones},1".encode())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a,b,kind\n1,2,x\n3,4\n5,6,y\n", "line 3 has 2 fields, and most have 3"),
        (b"a,b,kind\n1,2,x\n3,4,y,z\n5,6,y\n", "line 3 has 4 fields"),
        (b"1,2,3\n4,5,6\n", "--no-header"),
        (b"a,a,b\n1,2,3\n", "two columns are named 'a'"),
        (b"", "empty"),
        (
            b"a,b,kind\n[cm],[kg],-\n" + b"1,2,x\n" * 5,
            r"its first row holds '\[cm\]' where the next ones hold",
        ),
        (b"a;b;kind\n[cm];[kg];-\n" + b"1,5;2,1;x\n" * 5, r"its first row holds '\[cm\]'"),
        (b"a,b,kind\ncm,mm2,-\n" + b"1.5,2.1,x\n" * 5, "its first row holds 'cm'"),
        (
            b"id,place,kind\n1,Paris, France,a\n2,Rome, Italy,b\n4,Bonn, Germany,a\n",
            "have 4 fields, and the header 3",
        ),
        (b"0,5;1,5;2;4\n0,7;1,9;3;5\n", "--no-header"),
        (b"a,b,kind\n0,5,2,x\n0,7,4,y\n", "quote numbers with a decimal comma"),
        (b'a,b\n1,"x\n2,y\n3,y\n4,x\n5,"\n', "a field that ends in line 6 holds whole rows: close the quote"),
        ("a,b\n1,роза\n2,мак\n3,роза\n".encode("cp1251"), "neither UTF-8 nor Western European text"),
        ("a,b\né,1\n".encode() + "é,2\n".encode("cp1252"), "line 3 is not UTF-8, but lines before it are"),
        (b'a,b\n1,x\n2,"y\n3,z\n', "line 4: unexpected end of data: close quotes"),
        (b'a,b\n1,x\n2,"y\n3,z\n4,"w"\n5,v\n', "line 5: ',' expected after '\"': close quotes"),
        (b"price,label\n12,5,a\n13,5,b\n14,5,a\n", "quote numbers with a decimal comma"),
        (b"id,a,b\n#1,1,2\n#2,3\n#3,4,5\n#4,6,7\n", "line 3 begins with # as rows do, and has not 3 fields"),
        (b"a,b\n1,%s\n2,y\n" % (b"w" * 140_000), "line 2: field larger than field limit"),
        (b"a,b,kind\n1,2,x\n3,4,y\n# end, of, file\n", "line 4 begins with # as comments do, and has 3"),
        (b"a,b,kind\n1,2\0,x\n3,4,y\n", "line 2 holds a NUL byte"),
    ],
)
def test_what_cannot_be_a_table_is_one_sentence(tmp_path, content, told):
    with pytest.raises(OwnDataError, match=told) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ('"1,234";"2,345";x', "1;2;x"),
        ("0,5;1,5;x", "1;2;x"),
        ("5%;7%;x", "1;2;x"),
        ("<0.1;<0.5;x", "1;2;x"),
        ("good;late;x", "NaN;NaN;x"),
        ("good;late;x", "inf;inf;x"),
    ],
)
def test_a_first_row_of_values_is_no_row_of_units(tmp_path, first, others):
    table = read(tmp_path, "\n".join(["a;b;kind", first, *[others] * 6]).encode())
    assert table.iloc[0].tolist() == [field.strip('"') for field in first.split(";")]


def test_without_a_header_columns_are_numbered(tmp_path):
    table = read(tmp_path, b"1,2,x\n3,4,y\n", header=False)
    assert list(table.columns) == ["1", "2", "3"]
    assert table.to_numpy().tolist() == ROWS
    assert read(tmp_path, b"1,5;2,5;x\n3,0;4,5;y\n", header=False).to_numpy().tolist() == [
        ["1,5", "2,5", "x"],
        ["3,0", "4,5", "y"],
    ]
