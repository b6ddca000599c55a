from eigenbench.experiments.code_hash import modules_hash

from eigenbench.experiments import code_hash


def hash_of(tmp_path, monkeypatch, text):
    source = tmp_path / "sample.py"
    source.write_text(text)
    for cached in (code_hash._tree, code_hash._imports, code_hash._normalised):
        cached.cache_clear()
    real = code_hash._source
    monkeypatch.setattr(
        code_hash, "_source", lambda name: source if name == "eigenbench.sample" else real(name)
    )
    return modules_hash(["eigenbench.sample"])


def test_comments_docstrings_and_layout_do_not_change_the_hash(tmp_path, monkeypatch):
    plain = hash_of(tmp_path, monkeypatch, "def f(x):\n    return x + 1\n")
    documented = '"""Doc."""\n\n\ndef f(x):\n    """Add one."""\n    # one\n    return (x + 1)\n'
    assert hash_of(tmp_path, monkeypatch, documented) == plain


def test_a_changed_statement_changes_the_hash(tmp_path, monkeypatch):
    plain = hash_of(tmp_path, monkeypatch, "def f(x):\n    return x + 1\n")
    assert hash_of(tmp_path, monkeypatch, "def f(x):\n    return x + 2\n") != plain


def test_imports_are_followed(tmp_path, monkeypatch):
    alone = hash_of(tmp_path, monkeypatch, "x = 1\n")
    importing = hash_of(tmp_path, monkeypatch, "from eigenbench.moments import ClassMoments\nx = 1\n")
    assert importing != alone
    assert "eigenbench.moments" in code_hash._imports("eigenbench.sample")


def test_methods_do_not_share_each_others_code():
    gem = modules_hash(["eigenbench.embeddings.discriminants.gem"])
    assert gem == modules_hash(["eigenbench.embeddings.discriminants.gem"])
    assert gem != modules_hash(["eigenbench.embeddings.random_directions"])


def test_a_function_may_be_named_like_its_module():
    assert modules_hash(["eigenbench.embeddings.kernel_features.spherical"])
