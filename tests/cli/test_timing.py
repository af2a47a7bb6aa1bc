"""The table that `linkax bench` and the benchmarks share, and the rounds it is filled by."""

import pytest

from linkax.cli.quantities import QUANTITIES, STEPS
from linkax.cli.timing import OURS, heading, prepare_call, rows, time_rounds


def timed(*seconds):
    return {"compile_s": 1.5, "first_s": 2.0, "seconds": list(seconds)}


def test_the_last_column_compares_with_the_faster_of_ours():
    found = {"linkax": timed(2e-3), "linkax-batched": timed(1e-3), "peer": timed(4e-3)}
    lines = rows(QUANTITIES["forward_dynamics"], "arm", 64, 8, found).splitlines()
    assert [line.split()[-3] for line in lines] == ["2.00x", "1.00x", "4.00x"]
    assert [float(line.split()[4]) for line in lines] == [4.0, 8.0, 2.0]
    head = heading("forward_dynamics", QUANTITIES["forward_dynamics"], 7).splitlines()[-1]
    assert head.index("linkax is") == lines[0].index("2.00x")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("gradient", 2.0), ("rollout", 2.0 * STEPS), ("latency", 4000.0)],
)
def test_figures_count_steps_of_runs_and_microseconds_of_a_call(name, expected):
    line = rows(QUANTITIES[name], "arm", 32, 8, {"linkax": timed(2e-3, 4e-3, 9e-3)})
    assert float(line.split()[4]) == pytest.approx(expected)


def test_without_ours_there_is_no_ratio_and_an_error_is_a_row():
    found = {"peer": timed(1.0), "other": {"error": "ValueError: no slides"}}
    first, second = rows(QUANTITIES["rollout"], "arm", 64, 8, found).splitlines()
    assert "as fast" not in first
    assert second.endswith("ValueError: no slides")


def test_a_call_that_fails_is_noted_and_not_timed():
    found, calls, made = {}, {}, []

    def broken():
        raise ValueError

    prepare_call("broken", lambda: broken, found, calls)
    prepare_call("silent", lambda: None, found, calls)
    prepare_call("good", lambda: lambda: made.append(1), found, calls)
    assert found["broken"] == {"error": "ValueError: "}
    assert set(calls) == {"good"}
    assert len(made) == 1
    time_rounds(found, calls, 2)
    assert len(found["good"]["seconds"]) == 2
    assert "silent" not in found
    assert "linkax" in OURS
