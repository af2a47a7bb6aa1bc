"""The page holds all it needs, says what it left out, and plays in a real browser."""

import dataclasses
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from linkax.view import page_of, scene_of, write_html
from linkax.view.html import page_data


CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="none of chromium, chromium-browser, google-chrome is on the path"
)


@pytest.fixture
def scene(result, geometry):
    return scene_of(result, geometry, title="Double <pendulum>")


def _embedded(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def _browse(tmp_path, url: str, *flags: str) -> str:
    """Standard output of a headless browser that opened `url` and let 1.5 s of its time pass."""
    command = [
        str(CHROMIUM),
        *("--headless", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader"),
        *("--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1000,700",
        "--hide-scrollbars",
        "--virtual-time-budget=1500",
        *flags,
        url,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout


def _reported(tmp_path, page: str, address: str = "", *flags: str) -> dict[str, str]:
    """What the page says of itself in its body's data attributes, and its caption as `caption`."""
    path = tmp_path / "run.html"
    path.write_text(page, encoding="utf-8")
    dom = _browse(tmp_path, path.as_uri() + address, "--dump-dom", *flags)
    body = re.search(r"<body([^>]*)>", dom)
    caption = re.search(r'<div id="caption">(.*?)</div>', dom, re.S)
    assert body and caption
    return {**dict(re.findall(r'data-linkax-(\w+)="([^"]*)"', body[1])), "caption": caption[1]}


def test_the_page_loads_nothing_from_anywhere(scene):
    page = page_of(scene)
    # The one address is the name of a namespace, which nobody opens.
    assert set(re.findall(r"https?://[^\s\"'`<>)]*", page)) <= {"http://www.w3.org/1999/xhtml"}
    loads = r"\ssrc=|\shref=|<link|@import|url\(|\bfetch\(|\bimport\(|XMLHttpRequest|WebSocket"
    assert re.findall(loads, page) == []
    assert "default-src 'none'" in page
    assert "Permission is hereby granted, free of charge" in page


def test_the_page_embeds_the_motion_to_six_digits(scene):
    data = _embedded(page_of(scene))
    assert data["names"] == ["upper arm", "forearm <&>"]
    position = np.reshape(data["position"], (301, 2, 3))
    quaternion = np.reshape(data["quaternion"], (301, 2, 4))
    np.testing.assert_allclose(position, scene.position, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(quaternion, scene.quaternion, rtol=1e-5, atol=1e-12)
    assert max(len(repr(number)) for number in data["time"]) <= 8
    assert data["notes"] == []


def test_hostile_names_stay_text(scene):
    evil = "</script><script>{{THREE}}"
    hostile = dataclasses.replace(scene, names=(evil, "b"), title=evil)
    plain = page_of(scene)
    page = page_of(hostile)
    assert page.count("</script>") == plain.count("</script>")
    data = _embedded(page)
    assert data["names"][0] == evil
    assert data["title"] == evil


def test_few_frames_are_kept_first_and_last_among_them(scene):
    data = page_data(scene, max_frames=50)
    assert len(data["time"]) == 50
    assert data["time"][0] == 0.0
    assert data["time"][-1] == 3.0
    assert data["notes"] == ["50 of 301 points are shown."]


def test_non_finite_frames_are_left_out_and_said(scene):
    position = scene.position.copy()
    position[100:103, 1, 0] = np.nan
    position[200, 0, 2] = 1e300
    quaternion = scene.quaternion.copy()
    quaternion[50, 0] = 0.0
    data = page_data(dataclasses.replace(scene, position=position, quaternion=quaternion))
    assert len(data["time"]) == 296
    assert data["notes"] == ["5 of 301 points had non-finite values and were left out."]


def test_a_scene_with_nothing_to_draw_is_refused(scene, tmp_path):
    nothing = dataclasses.replace(scene, position=np.full_like(scene.position, np.nan))
    with pytest.raises(ValueError, match="all 301 points of the scene"):
        write_html(nothing, tmp_path / "run.html")
    with pytest.raises(ValueError, match="`max_frames` must be 1 or more, but is 0"):
        page_data(scene, max_frames=0)
    with pytest.raises(ValueError, match=r"must not decrease, but 3 s is followed by 2.99 s"):
        page_data(dataclasses.replace(scene, time=scene.time[::-1]))


def test_a_missing_folder_is_named(scene, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        write_html(scene, tmp_path / "nowhere" / "run.html")


@needs_browser
def test_the_page_plays_in_a_browser(scene, tmp_path):
    said = _reported(tmp_path, page_of(scene))
    assert "error" not in said, said
    assert said["ready"] == "true"
    assert (said["bodies"], said["frames"]) == ("2", "301")
    assert int(said["drawn"]) > 1
    assert int(said["frame"]) > 0


@needs_browser
def test_the_page_stands_one_body_one_frame_and_failed_frames(scene, tmp_path):
    shapes = scene.shapes[:1]
    lone = dataclasses.replace(
        scene,
        names=scene.names[:1],
        parents=(-1,),
        shapes=shapes,
        joint_points=np.full((1, 3), np.nan),
        time=np.zeros(2),
        position=np.array([[[0.0, 0.0, 0.0]], [[np.inf, 0.0, 0.0]]]),
        quaternion=np.array([[[1.0, 0.0, 0.0, 0.0]]] * 2),
    )
    said = _reported(tmp_path, page_of(lone))
    assert "error" not in said, said
    assert said["ready"] == "true"
    assert (said["bodies"], said["frames"], said["frame"]) == ("1", "1", "0")
    assert int(said["drawn"]) > 0
    assert "1 of 2 points had non-finite values and was left out." in said["caption"]


@needs_browser
def test_keys_slider_layers_and_hover_answer(scene, tmp_path):
    script = """
      const key = (name) => window.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
      const seen = [];
      const note = () => seen.push(linkaxState.frame);
      key("End"); note(); key("ArrowLeft"); note(); key("Home"); note(); key("ArrowRight"); note();
      const slider = document.getElementById("slider");
      slider.value = 42; slider.dispatchEvent(new Event("input")); note();
      for (const id of ["show-inertia", "show-rods", "show-triads", "show-ground", "follow"]) {
        document.getElementById(id).click();
      }
      key("r");
      const entry = document.querySelectorAll("#bodies li")[1];
      entry.dispatchEvent(new PointerEvent("pointerenter"));
      seen.push(entry.classList.contains("lit"));
      const canvas = document.querySelector("canvas");
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: 5, clientY: 5 }));
      seen.push(entry.classList.contains("lit"));
      document.body.dataset.linkaxSeen = seen.join(" ");
      key(" ");
    """
    page = page_of(scene).replace("</body>", f"<script>{script}</script></body>")
    said = _reported(tmp_path, page)
    assert "error" not in said, said
    assert said["seen"] == "300 299 0 1 42 true false"
    # The last key was the space bar: play goes on from frame 42.
    assert int(said["frame"]) != 42


@needs_browser
def test_without_webgl_the_page_says_so_and_still_tells_the_time(scene, tmp_path):
    said = _reported(tmp_path, page_of(scene), "#frame=7", "--disable-3d-apis")
    assert "error" not in said, said
    assert (said["ready"], said["drawn"], said["frame"]) == ("true", "0", "7")
    assert "no WebGL 2" in said["caption"]


@needs_browser
def test_the_picture_shows_both_bodies(scene, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    path = write_html(scene, tmp_path / "run.html")
    picture = tmp_path / "picture.png"
    _browse(tmp_path, path.as_uri() + "#frame=60", f"--screenshot={picture}")
    # The middle of the stage: away from the caption, the list and the controls.
    stage = image.imread(picture)[60:560, 100:680, :3]
    red, _, blue = np.moveaxis(stage, -1, 0)
    assert len(np.unique(stage.reshape(-1, 3), axis=0)) > 100
    assert ((blue - red) > 0.25).sum() > 300
    assert ((red - blue) > 0.25).sum() > 300
