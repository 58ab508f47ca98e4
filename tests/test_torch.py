"""The bridge to PyTorch: values and gradients are those of JAX, of differences and of other libraries; no copies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'structdep[torch]'")

import structdep as sd  # noqa: E402
import structdep.torch as st  # noqa: E402

SYSTEMS = [sd.charts.eisner(), sd.charts.mh4_trees(), sd.spanning.all_trees()]
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
N = 5
LENGTHS = torch.tensor([5, 3, 1])
HEADS = torch.tensor([[0, 1, 1, 3, 3], [2, 0, 2, 0, 0], [0, 0, 0, 0, 0]])


def some_scores(grad: bool = True) -> "torch.Tensor":
    numbers = np.random.default_rng(0).normal(size=(3, N + 1, N + 1)).astype(np.float32)
    return torch.tensor(numbers, requires_grad=grad)


def as_jax(tensor: "torch.Tensor") -> jax.Array:
    return jnp.asarray(tensor.detach().numpy())


@each_system
def test_values_and_gradients_are_those_of_jax(system: sd.DeductionSystem) -> None:
    lengths, heads = as_jax(LENGTHS), as_jax(HEADS)
    pairs = {
        "log partition": (
            lambda s: st.log_partition(system, s, LENGTHS),
            lambda s: sd.inside(system, s, lengths, sd.LogSum),
        ),
        "max": (lambda s: st.max_score(system, s, LENGTHS), lambda s: sd.inside(system, s, lengths)),
        "nll": (lambda s: st.nll(system, s, HEADS, LENGTHS), lambda s: sd.losses.nll(system, s, heads, lengths)),
        "hinge": (
            lambda s: st.hinge(system, s, HEADS, LENGTHS, 2.0),
            lambda s: sd.losses.hinge(system, s, heads, lengths, 2.0),
        ),
        "marginals": (
            lambda s: (st.marginals(system, s, LENGTHS) ** 2).sum((1, 2)),
            lambda s: (sd.marginals(system, s, lengths) ** 2).sum((1, 2)),
        ),
    }
    weights = torch.tensor([1.0, -2.0, 0.5])
    for name, (ours, of_jax) in pairs.items():
        scores = some_scores()
        value = ours(scores)
        np.testing.assert_allclose(value.detach(), of_jax(as_jax(scores)), atol=1e-5, err_msg=name)
        with torch.no_grad():
            np.testing.assert_allclose(ours(scores), value.detach(), atol=1e-5)
        (value * weights).sum().backward()
        slopes = jax.grad(lambda s, f=of_jax: (f(s) * as_jax(weights)).sum())(as_jax(scores))
        np.testing.assert_allclose(scores.grad, slopes, atol=1e-5, err_msg=name)


def test_gradients_are_those_of_differences() -> None:
    with jax.enable_x64(True):
        scores = some_scores().double().detach().requires_grad_()
        for function in (st.log_partition, st.marginals):
            assert torch.autograd.gradcheck(lambda s, f=function: f(sd.charts.eisner(), s, LENGTHS), (scores,))


def test_trees() -> None:
    system, scores = sd.charts.mh4_trees(), some_scores()
    best = st.argmax(system, scores, LENGTHS)
    assert best.dtype == torch.int64
    np.testing.assert_array_equal(best, sd.argmax(system, as_jax(scores), as_jax(LENGTHS)))
    heads, values = st.k_best(sd.charts.eisner(), scores, 3, LENGTHS)
    assert heads.shape == (3, 3, N) and (heads[1:, 2, 0] == -1).all()
    np.testing.assert_array_equal(heads[0], st.argmax(sd.charts.eisner(), scores, LENGTHS))
    np.testing.assert_allclose(values[0], st.max_score(sd.charts.eisner(), scores, LENGTHS).detach(), rtol=1e-5)
    drawn = st.sample(system, scores, 0, 20, LENGTHS)
    assert drawn.shape == (20, 3, N) and (drawn == st.sample(system, scores, 0, 20, LENGTHS)).all()
    assert bool(sd.trees.is_tree(drawn.numpy(), np.broadcast_to(LENGTHS, (20, 3))).all())
    one_root = st.argmax(system, scores, LENGTHS, single_root=True)
    np.testing.assert_array_equal((one_root == 0).sum(1) - (N - LENGTHS), 1)


def test_tables_by_name() -> None:
    tables = {"arc": some_scores(), "sibling": torch.randn(3, N + 1, N + 1, N + 1, requires_grad=True)}
    system = sd.charts.eisner(siblings=True)
    st.log_partition(system, tables, LENGTHS).sum().backward()
    given = {name: as_jax(table) for name, table in tables.items()}
    slopes = jax.grad(lambda t: sd.inside(system, t, as_jax(LENGTHS), sd.LogSum).sum())(given)
    for name, table in tables.items():
        np.testing.assert_allclose(table.grad, slopes[name], atol=1e-5)


def test_memory_is_shared() -> None:
    scores = torch.rand(64, 41, 41)
    array = st._array(scores)
    assert array.unsafe_buffer_pointer() == scores.data_ptr()
    assert st._tensor(array).data_ptr() == scores.data_ptr()


@pytest.mark.parametrize("batch", [2, 100], ids=["numpy", "DLPack"])
def test_layouts_in_memory_do_not_matter(batch: int) -> None:
    scores = torch.rand(batch, 31, 31, generator=torch.manual_seed(0))
    other = scores.mT.contiguous().mT
    assert not other.is_contiguous()
    found = st.log_partition(sd.charts.eisner(), scores)
    assert torch.equal(found, st.log_partition(sd.charts.eisner(), other))
    half = st.log_partition(sd.charts.eisner(), scores.to(torch.bfloat16))
    assert torch.allclose(half.float(), found, rtol=0.05)


@pytest.mark.parametrize("query", ["log_partition", "marginals"])
def test_second_derivatives_are_refused(query: str) -> None:
    scores = torch.zeros(2, 4, 4, requires_grad=True)
    value = (getattr(st, query)(sd.charts.eisner(), scores) ** 2).sum()
    (slope,) = torch.autograd.grad(value, scores, create_graph=True)
    with pytest.raises(NotImplementedError, match="differentiated once"):
        ((slope**2).sum() + (scores**2).sum()).backward()


def test_what_is_no_tensor_of_floats_is_refused() -> None:
    eisner = sd.charts.eisner()
    with pytest.raises(TypeError, match=r"scores arc are torch.int64: write a tensor of floats"):
        st.argmax(eisner, torch.zeros(3, 3, dtype=torch.int64))
    with pytest.raises(TypeError, match="scores arc are ndarray: write a tensor of floats"):
        st.argmax(eisner, np.zeros((3, 3)))
    with pytest.raises(TypeError, match=r"scores arc are float64: write .float\(\)"):
        st.argmax(eisner, torch.zeros(3, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="expected"):
        st.nll(eisner, torch.zeros(4, 4), torch.tensor([0, 1]))
    with pytest.raises(TypeError, match=r"heads are torch.float32: write a tensor of integers"):
        st.nll(eisner, torch.zeros(3, 3), torch.tensor([0.9, 1.9]))
    with pytest.raises(ValueError, match=r"seed 1099511627776: write a whole number from 0 to 4294967295"):
        st.sample(eisner, torch.zeros(3, 3), seed=2**40)


def test_weights_may_change() -> None:
    scores, gold, weight = torch.zeros(3, 3), torch.tensor([0, 1]), torch.tensor(2.0)
    assert st.hinge(sd.charts.eisner(), scores, gold, weight=weight) == 4
    weight.fill_(5.0)
    assert st.hinge(sd.charts.eisner(), scores, gold, weight=weight) == 10
    assert st.sample(sd.charts.eisner(), scores, seed=2**32 - 1).shape == (1, 2)
    labels = torch.zeros(3, 3, 2)
    assert torch.allclose(st.marginals(sd.charts.eisner(), {"label": labels}), st.marginals(sd.charts.eisner(), scores))


def test_values_are_those_of_supar() -> None:
    structs = pytest.importorskip("supar.structs", reason="SuPar is not installed: pip install 'structdep[peers]'")
    scores, lengths = torch.randn(3, 8, 8), torch.tensor([7, 7, 7])
    theirs = structs.DependencyCRF(scores.swapaxes(1, 2).contiguous(), lengths, multiroot=True)
    np.testing.assert_allclose(st.log_partition(sd.charts.eisner(), scores), theirs.log_partition.detach(), rtol=1e-5)
    marginals = theirs.marginals.swapaxes(1, 2).detach()
    np.testing.assert_allclose(st.marginals(sd.charts.eisner(), scores), marginals, atol=1e-5)


def test_values_are_those_of_torch_struct() -> None:
    other = pytest.importorskip("torch_struct", reason="torch-struct is not installed: pip install 'structdep[peers]'")
    scores = torch.randn(3, 8, 8)
    on_diagonal = scores[:, 1:, 1:].clone()
    on_diagonal[:, range(7), range(7)] = scores[:, 0, 1:]
    theirs = other.DependencyCRF(on_diagonal.requires_grad_().clone(), multiroot=True).partition.detach()
    np.testing.assert_allclose(st.log_partition(sd.charts.eisner(), scores), theirs, rtol=1e-5)
