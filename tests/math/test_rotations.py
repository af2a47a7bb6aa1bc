"""Conversions among rotation descriptions: worked numbers, conventions, round trips, refusals."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax import math as lm


HALF = float(np.sqrt(0.5))
AXES = np.array(
    [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [HALF, HALF, 0],
        [0, HALF, -HALF],
        [-HALF, 0, HALF],
        [0.6, 0, 0.8],
    ]
)


def random_rotation_vectors(count, angle=None, seed=0):
    """Random axes times the given angle, or times random angles in [0, pi)."""
    axis_key, angle_key = jax.random.split(jax.random.key(seed))
    axes = np.array(jax.random.normal(axis_key, (count, 3), dtype=jnp.float64))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    if angle is None:
        angle = np.pi * np.array(jax.random.uniform(angle_key, (count, 1), dtype=jnp.float64))
    return axes * angle


def test_the_worked_numbers_of_body_fixed_xyz_angles():
    e = jnp.array([0.1, 0.2, 0.3])
    matrix = [
        [0.936293363584199, -0.289629477625516, 0.198669330795061],
        [0.312991825785468, 0.944702485994894, -0.097843395007256],
        [-0.159345079307978, 0.153791997988964, 0.975170327201816],
    ]
    quaternion = [0.981856172866081, 0.064071347706071, 0.091157549342991, 0.153439302024223]
    rates = [0.540672145098645, -0.359460161898267, 0.492585026753722]
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=2e-15)
    close(lm.euler_to_matrix(e), matrix)
    close(lm.euler_to_quaternion(e), quaternion)
    close(lm.quaternion_to_matrix(lm.euler_to_quaternion(e)), matrix)
    close(lm.matrix_to_quaternion(lm.euler_to_matrix(e)), quaternion)
    close(lm.matrix_to_euler(jnp.array(matrix)), e)
    close(lm.quaternion_to_euler(jnp.array(quaternion)), e)
    close(lm.euler_rate_matrix(e) @ jnp.array([0.4, -0.5, 0.6]), rates)


def test_scalar_first_and_scalar_last_are_told_apart():
    # O07: one array, two meanings.
    array = jnp.array([0.0, 0.0, HALF, HALF])
    x = jnp.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(lm.rotate(array, x), [-1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(lm.quaternion_to_matrix(array)[:, 0], [-1, 0, 0], atol=1e-15)
    half_turn = np.pi * np.array([0, HALF, HALF])
    np.testing.assert_allclose(lm.quaternion_to_rotation_vector(array), half_turn, atol=1e-15)

    quarter_z = lm.xyzw_to_wxyz(array)
    np.testing.assert_array_equal(quarter_z, [HALF, 0, 0, HALF])
    np.testing.assert_allclose(lm.rotate(quarter_z, x), [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(lm.quaternion_to_matrix(quarter_z)[:, 0], [0, 1, 0], atol=1e-15)
    for convert in (lm.quaternion_to_rotation_vector, lm.quaternion_to_euler):
        np.testing.assert_allclose(convert(quarter_z), [0, 0, np.pi / 2], atol=1e-15)
    for convert in (lm.rotation_vector_to_quaternion, lm.euler_to_quaternion):
        np.testing.assert_allclose(convert([0, 0, np.pi / 2]), quarter_z, atol=1e-15)

    q = jax.random.normal(jax.random.key(1), (2, 5, 4))
    np.testing.assert_array_equal(lm.xyzw_to_wxyz(lm.wxyz_to_xyzw(q)), q)
    np.testing.assert_array_equal(lm.wxyz_to_xyzw(lm.xyzw_to_wxyz(q)), q)
    np.testing.assert_array_equal(lm.wxyz_to_xyzw(q)[..., 3], q[..., 0])


def test_quaternions_compose_as_their_matrices_do():
    a, b = jax.random.normal(jax.random.key(2), (2, 50, 4))
    v = jax.random.normal(jax.random.key(3), (50, 3))

    @jax.jit
    def every(a, b, v):
        product, inverse = lm.quaternion_multiply, lm.quaternion_conjugate
        unit = lm.quaternion_normalize(a)
        pure = jnp.concatenate([jnp.zeros((50, 1)), v], axis=-1)
        matrices = [lm.quaternion_to_matrix(q) for q in (a, b, product(a, b), inverse(a))]
        return unit, lm.rotate(a, v), product(product(unit, pure), inverse(unit)), matrices

    unit, rotated, sandwich, matrices = every(a, b, v)
    matrix_a, matrix_b, matrix_ab, inverse = (np.asarray(m) for m in matrices)
    np.testing.assert_allclose(matrix_ab, matrix_a @ matrix_b, atol=1e-14)
    np.testing.assert_allclose(inverse, np.swapaxes(matrix_a, -1, -2), atol=1e-15)
    np.testing.assert_allclose(rotated, np.einsum("nij,nj->ni", matrix_a, v), atol=1e-14)
    # The sandwich product unit (0, v) unit* says the same without a matrix.
    np.testing.assert_allclose(rotated, sandwich[:, 1:], atol=1e-14)
    np.testing.assert_allclose(sandwich[:, 0], 0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=-1), 1, atol=1e-15)
    np.testing.assert_allclose(unit * np.linalg.norm(a, axis=-1, keepdims=True), a, atol=1e-15)


CASES = {
    "random": random_rotation_vectors(400),
    "near the identity": random_rotation_vectors(50, 1e-7),
    "near a half turn": random_rotation_vectors(50, np.pi - 1e-7),
    "at a half turn": np.pi * AXES,
    "beyond a half turn": random_rotation_vectors(20, 4.0),
    "identity": np.zeros((1, 3)),
}
CASE_OF_LANE = np.repeat(list(CASES), [len(v) for v in CASES.values()])


@jax.jit
def every_path(v):
    """Quaternions, matrices, rotation vectors and Euler angles that should all mean v, by path."""
    q, matrix = lm.rotation_vector_to_quaternion(v), lm.rotation_vector_to_matrix(v)
    vectors = {
        "q v": lm.quaternion_to_rotation_vector(q),
        "R v": lm.matrix_to_rotation_vector(matrix),
    }
    angles = {"R e": lm.matrix_to_euler(matrix), "q e": lm.quaternion_to_euler(q)}
    quaternions = {
        "v q": q,
        "R q": lm.matrix_to_quaternion(matrix),
        "q v q": lm.rotation_vector_to_quaternion(vectors["q v"]),
        "R v q": lm.rotation_vector_to_quaternion(vectors["R v"]),
        "R e q": lm.euler_to_quaternion(angles["R e"]),
        "q e q": lm.euler_to_quaternion(angles["q e"]),
    }
    matrices = {path: lm.quaternion_to_matrix(result) for path, result in quaternions.items()}
    matrices |= {"v R": matrix, "R e R": lm.euler_to_matrix(angles["R e"])}
    angles["R e R e"] = lm.matrix_to_euler(matrices["R e R"])
    return quaternions, matrices, vectors, angles


@ft.cache
def paths(dtype):
    v = jnp.asarray(np.concatenate(list(CASES.values())), dtype=dtype)
    return np.asarray(v), *jax.tree.map(np.asarray, every_path(v))


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_round_trips_return_the_same_rotation(dtype):
    eps = float(jnp.finfo(dtype).eps)
    _, quaternions, matrices, _, _ = paths(dtype)
    # Compared as matrices, which see an error of first order and do not see the sign.
    for path, result in matrices.items():
        assert result.dtype == dtype
        errors = np.max(np.abs(result - matrices["v R"]), axis=(1, 2))
        worst = int(np.argmax(errors))
        assert errors[worst] <= 16 * eps, (
            f"{path}, {CASE_OF_LANE[worst]}: {errors[worst] / eps} eps"
        )
    for path, result in quaternions.items():
        np.testing.assert_allclose(np.linalg.norm(result, axis=-1), 1.0, rtol=4 * eps, err_msg=path)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_small_rotations_keep_their_relative_precision(dtype):
    v, quaternions, _, vectors, _ = paths(dtype)
    near = CASE_OF_LANE == "near the identity"
    unit = 1e-7 * float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(quaternions["v q"][near, 1:], v[near] / 2, rtol=0, atol=4 * unit)
    for result in vectors.values():
        np.testing.assert_allclose(result[near], v[near], rtol=0, atol=4 * unit)


def test_angles_return_from_their_round_trips():
    v, quaternions, _, vectors, angles = paths(jnp.float64)
    short = CASE_OF_LANE == "random"
    for path, result in vectors.items():
        np.testing.assert_allclose(result[short], v[short], atol=1e-13, err_msg=path)
    np.testing.assert_allclose(quaternions["R q"][short], quaternions["v q"][short], atol=1e-13)
    regular = short & (np.abs(angles["R e"][:, 1]) < 1.5)
    assert regular.sum() > 350
    for path, result in angles.items():
        np.testing.assert_allclose(
            result[regular], angles["R e"][regular], atol=1e-13, err_msg=path
        )


def test_the_signs_are_the_documented_ones():
    # Angle 4: the exponential stays smooth (w < 0), what comes from a matrix has w >= 0.
    v, quaternions, _, vectors, _ = paths(jnp.float64)
    beyond = CASE_OF_LANE == "beyond a half turn"
    assert np.all(quaternions["v q"][beyond, 0] < 0)
    assert np.all(quaternions["R q"][:, 0] >= 0)
    np.testing.assert_allclose(quaternions["R q"][beyond], -quaternions["v q"][beyond], atol=1e-14)
    for result in vectors.values():
        assert np.all(np.linalg.norm(result, axis=-1) <= np.pi * (1 + 1e-15))
        np.testing.assert_allclose(result[beyond], v[beyond] * (1 - 2 * np.pi / 4), atol=1e-14)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_a_half_turn_has_the_documented_axis(dtype):
    axes = np.concatenate([AXES, -AXES]).astype(dtype)
    q = np.concatenate([0 * axes[:, :1], axes], axis=-1)
    outer = 2 * axes[:, :, None] * axes[:, None, :] - np.eye(3, dtype=dtype)
    eps = float(jnp.finfo(dtype).eps)

    @jax.jit
    def every(q, matrix):
        by_quaternion = lm.quaternion_to_matrix(q), lm.quaternion_to_rotation_vector(q)
        return *by_quaternion, lm.matrix_to_quaternion(matrix), lm.matrix_to_rotation_vector(matrix)

    matrix, v, found, v_found = (np.asarray(result) for result in every(q, outer))
    np.testing.assert_allclose(matrix, outer, atol=8 * eps)
    # From a quaternion: along its vector part.
    np.testing.assert_allclose(v, np.pi * axes, atol=8 * eps)
    # From a matrix: the largest component is positive.
    np.testing.assert_array_equal(found[:, 0], 0)
    np.testing.assert_allclose(np.abs(np.sum(found[:, 1:] * axes, axis=-1)), 1, rtol=8 * eps)
    np.testing.assert_allclose(found.max(axis=-1), np.abs(axes).max(axis=-1), rtol=8 * eps)
    np.testing.assert_allclose(v_found, np.pi * found[:, 1:], atol=16 * eps)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_at_the_euler_poles_the_third_angle_is_zero(dtype):
    e = np.array([[0.3, s * np.pi / 2, e3] for s in (1, -1) for e3 in (0.5, -2.0, 0)], dtype=dtype)
    tolerance = 8 * float(jnp.finfo(dtype).eps)

    @jax.jit
    def every(e):
        matrix = lm.euler_to_matrix(e)
        # An entry pushed above one by rounding is clipped.
        pushed = lm.matrix_to_euler(matrix * (1 + tolerance))
        return lm.matrix_to_euler(matrix), lm.quaternion_to_euler(lm.euler_to_quaternion(e)), pushed

    right = np.stack([e[:, 0] + np.sign(e[:, 1]) * e[:, 2], e[:, 1], 0 * e[:, 2]], axis=-1)
    for result in every(e):
        np.testing.assert_allclose(result, right, atol=tolerance)


def test_near_the_euler_poles_the_rotation_is_kept():
    offsets = 10.0 ** np.arange(-16, -1)
    e = jnp.asarray([[0.3, s * (np.pi / 2 - d), -0.7] for d in offsets for s in (1, -1)])

    @jax.jit
    def there_and_back(e):
        matrix = lm.euler_to_matrix(e)
        back = lm.matrix_to_euler(matrix)
        return matrix, back, lm.euler_to_matrix(back)

    matrix, back, again = there_and_back(e)
    np.testing.assert_allclose(again, matrix, atol=1e-14)
    np.testing.assert_allclose(back[:, 1], e[:, 1], atol=5e-15)


def test_rounding_outside_the_unit_interval_is_harmless():
    # O45: the relative orientation of equal single-precision unit quaternions.
    q = jax.random.normal(jax.random.key(5), (100_000, 4), dtype=jnp.float32)
    q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
    relative = lm.quaternion_multiply(q, lm.quaternion_conjugate(q))
    assert float(relative[:, 0].max()) > 1.0  # the case does occur

    angle = lambda r: lm.safe_norm(lm.quaternion_to_rotation_vector(r))
    spring = lambda r: 0.5 * jnp.sum(lm.quaternion_to_rotation_vector(r) ** 2)
    every = jax.jit(jax.vmap(lambda r: (angle(r), jax.grad(angle)(r), jax.grad(spring)(r))))
    values, slopes, torques = every(relative)
    assert values.dtype == jnp.float32
    assert float(values.max()) <= 1e-3
    assert bool(jnp.all(jnp.isfinite(slopes)) & jnp.all(jnp.isfinite(torques)))

    exact = jnp.asarray([[1, 0, 0, 0], [1.0000002, 0, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0]], q.dtype)
    values, slopes, torques = every(exact)
    np.testing.assert_allclose(values, [0, 0, 0, np.pi], rtol=1e-6)
    assert bool(jnp.all(jnp.isfinite(slopes)))
    # At a half turn: energy angle^2/2 with angle = 2 acos(w), so d/dw = -2 pi.
    np.testing.assert_allclose(
        torques, [[0] * 4, [0] * 4, [0] * 4, [-2 * np.pi, 0, 0, 0]], rtol=1e-6, atol=1e-5
    )


def test_degrees_and_radians():
    degrees = jnp.array([[0.0, 90.0], [-180.0, 1.0]])
    radians = lm.degrees_to_radians(degrees)
    np.testing.assert_allclose(radians, [[0, np.pi / 2], [-np.pi, np.pi / 180]], rtol=1e-15)
    np.testing.assert_allclose(lm.radians_to_degrees(radians), degrees, rtol=1e-15)
    assert lm.degrees_to_radians(degrees.astype(jnp.float32)).dtype == jnp.float32
    np.testing.assert_allclose(lm.degrees_to_radians(180), np.pi, rtol=1e-15)


SHAPES = {
    "quaternion": (4,),
    "matrix": (3, 3),
    "rotation_vector": (3,),
    "euler": (3,),
    "wxyz": (4,),
    "xyzw": (4,),
}
CONVERSIONS = [
    "quaternion_to_matrix", "quaternion_to_rotation_vector", "quaternion_to_euler",
    "matrix_to_quaternion", "matrix_to_rotation_vector", "matrix_to_euler",
    "rotation_vector_to_quaternion", "rotation_vector_to_matrix",
    "euler_to_quaternion", "euler_to_matrix", "wxyz_to_xyzw", "xyzw_to_wxyz",
]  # fmt: skip


@pytest.mark.parametrize("name", CONVERSIONS)
def test_leading_axes_are_batch_axes_and_other_shapes_are_refused(name):
    source, target = (SHAPES[kind] for kind in name.split("_to_"))
    x = jax.random.normal(jax.random.key(6), (2, 3, *source))
    convert = getattr(lm, name)
    result, mapped, empty = jax.jit(
        lambda x: (convert(x), jax.vmap(jax.vmap(convert))(x), convert(x[:0]))
    )(x)
    assert result.shape == (2, 3, *target)
    np.testing.assert_allclose(mapped, result, atol=1e-14)
    assert empty.shape == (0, 3, *target)
    wrong = {(4,): (3,), (3,): (4,), (3, 3): (4, 3)}[source]
    for shape in ((), wrong, (5, *wrong), (*source, 1)):
        with pytest.raises(
            ValueError, match=rf"{name} needs a .* of shape \(\.\.\., \d.*given shape"
        ):
            convert(jnp.ones(shape))


def test_other_shapes_are_refused_by_the_quaternion_operations_too():
    q, v = jnp.ones(4), jnp.ones(3)
    calls = {
        "quaternion_multiply": [(v, q), (q, v)],
        "quaternion_conjugate": [(v,)],
        "quaternion_normalize": [(v,)],
        "rotate": [(v, v), (q, q)],
        "euler_rate_matrix": [(q,)],
    }
    for name, arguments in calls.items():
        for bad in arguments:
            with pytest.raises(ValueError, match=rf"{name} needs a .*, but was given shape"):
                getattr(lm, name)(*bad)
    with pytest.raises(ValueError, match=r"rotate needs two batches .* \(2,\) and \(5,\)"):
        lm.rotate(jnp.ones((2, 4)), jnp.ones((5, 3)))
    # One rotation of many vectors, and many rotations of one.
    assert lm.rotate(q, jnp.ones((5, 3))).shape == (5, 3)
    assert lm.rotate(jnp.ones((2, 1, 4)), jnp.ones((5, 3))).shape == (2, 5, 3)
    assert lm.quaternion_multiply(q, jnp.ones((5, 4))).shape == (5, 4)


def test_integers_and_nested_sequences_are_taken_as_numbers():
    np.testing.assert_array_equal(lm.quaternion_to_matrix([1, 0, 0, 0]), np.eye(3))
    np.testing.assert_array_equal(lm.matrix_to_quaternion(np.eye(3, dtype=int)), [1, 0, 0, 0])
    np.testing.assert_array_equal(lm.rotate((2, 0, 0, 0), [1, 2, 3]), [1, 2, 3])


def test_a_zero_quaternion_counts_as_the_identity():
    for dtype in (jnp.float32, jnp.float64):
        for size in (0.0, float(jnp.finfo(dtype).tiny) ** 0.6):
            q = jnp.full(4, size, dtype=dtype)
            np.testing.assert_array_equal(lm.quaternion_to_matrix(q), np.eye(3))
            np.testing.assert_array_equal(lm.quaternion_normalize(q), [1, 0, 0, 0])
            np.testing.assert_array_equal(lm.quaternion_to_rotation_vector(q), np.zeros(3))
            np.testing.assert_array_equal(lm.quaternion_to_euler(q), np.zeros(3))
