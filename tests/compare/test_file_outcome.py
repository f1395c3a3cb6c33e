"""The outcome of a package with one build per release, like torch_c_dlpack_ext 0.1.5."""

from __future__ import annotations

import pytest

from abiscan.compare.file_outcome import FileOutcome, after_upgrade, find_package_outcome
from abiscan.model.environment_report import PackageState
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactVerdict

LOADS, FAILS = ArtifactVerdict.LOADS, ArtifactVerdict.FAILS


def built_for(release: str, verdict: ArtifactVerdict, *, for_another: bool) -> FileOutcome:
    """The build for one release; only installed files have outcomes for every release."""
    states = {True: ReleaseState.LOADS, False: ReleaseState.FAILS}
    releases = tuple((each, states[each == release]) for each in ("2.8.0", "2.9.0")) if for_another else ()
    why = "" if verdict is LOADS else "symbols added later"
    place = f"x/torch-{release}/x.so"
    return FileOutcome(place, place, f"/site/{place}", verdict, why, True, for_another, False, releases, ())


@pytest.mark.parametrize(
    ("later", "state", "why"),
    [
        ({"2.8.0": FAILS, "2.9.0": LOADS}, PackageState.LOADS, ""),
        (
            {"2.8.0": FAILS, "2.9.0": FAILS},
            PackageState.UNDECIDED,
            "none of its builds is for this torch: they load on torch 2.8.0-2.9.0",
        ),
    ],
)
def test_builds_for_other_releases_do_not_fail_the_package(
    later: dict[str, ArtifactVerdict], state: PackageState, why: str
) -> None:
    now = [built_for(release, LOADS, for_another=True) for release in later]
    then = [built_for(release, verdict, for_another=False) for release, verdict in later.items()]
    outcome = find_package_outcome(after_upgrade(then, now))
    assert (outcome.state, outcome.reason) == (state, why)


def test_a_file_that_was_for_the_installed_torch_fails_the_package() -> None:
    now = [built_for("2.9.0", LOADS, for_another=False)]
    then = [built_for("2.9.0", FAILS, for_another=False)]
    assert find_package_outcome(after_upgrade(then, now)).state is PackageState.FAILS
