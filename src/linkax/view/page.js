// Plays the scene embedded in the page: the stage and its camera, the time shown, the controls.
(() => {
  "use strict";
  const T = LinkaxThree;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const bodies = data.names.length;
  const frames = data.time.length;
  const { bounds, center, parts, links, floor, pose, stretch, colorOf } = linkaxFigures(data);
  const state = { frame: 0, frames, bodies, drawn: 0 };
  window.linkaxState = state;

  // ---- the stage ----------------------------------------------------------------------------
  const scene = new T.Scene();
  scene.background = new T.Color("#f4f6f8");
  scene.add(new T.HemisphereLight("#ffffff", "#c9ced6", 2.1));
  const sun = new T.DirectionalLight("#ffffff", 1.7);
  sun.position.copy(center).addScaledVector(new T.Vector3(-0.5, -0.75, 1.6).normalize(), 1.6 * bounds.size);
  sun.target.position.copy(center);
  sun.castShadow = true;
  sun.shadow.mapSize.set(2048, 2048);
  Object.assign(sun.shadow.camera, {
    left: -0.8 * bounds.size, right: 0.8 * bounds.size, top: 0.8 * bounds.size, bottom: -0.8 * bounds.size,
    near: 0.2 * bounds.size, far: 4 * bounds.size });
  scene.add(sun, sun.target);

  parts.forEach((part) => scene.add(part.group));
  links.forEach((link) => scene.add(link.rod));
  scene.add(floor);

  const stage = byId("stage");
  let renderer = null;
  try {
    renderer = new T.WebGLRenderer({ antialias: true });
    renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = T.PCFShadowMap;
    stage.prepend(renderer.domElement);
  } catch (error) {
    say("This browser offers no WebGL 2, so the bodies cannot be drawn.", true);
  }
  const camera = new T.PerspectiveCamera(32, 1, 0.01 * bounds.size, 60 * bounds.size);
  camera.up.set(0, 0, 1);
  const orbit = new T.OrbitControls(camera, renderer ? renderer.domElement : stage);
  orbit.minDistance = 0.05 * bounds.size;
  orbit.maxDistance = 20 * bounds.size;
  let dirty = true;
  orbit.addEventListener("change", () => { dirty = true; });

  // The nearest place, looking at the broad side of the motion, from which all of its box is seen.
  function frameMotion() {
    const extent = bounds.high.clone().sub(bounds.low);
    const sight = extent.x < 0.5 * extent.y ? new T.Vector3(1, 0.42, 0.36) : new T.Vector3(0.42, -1, 0.36);
    sight.normalize();
    const right = new T.Vector3(0, 0, 1).cross(sight).normalize();
    const up = sight.clone().cross(right);
    const slopeY = Math.tan((camera.fov * Math.PI) / 360) * 0.84;
    const slopeX = slopeY * camera.aspect;
    let distance = 0.1 * bounds.size;
    for (let corner = 0; corner < 8; corner++) {
      const arm = new T.Vector3(...["x", "y", "z"].map((axis, i) =>
        (corner & (1 << i) ? 0.5 : -0.5) * extent[axis]));
      const depth = arm.dot(sight);
      distance = Math.max(distance, depth + Math.abs(arm.dot(right)) / slopeX, depth + Math.abs(arm.dot(up)) / slopeY);
    }
    orbit.target.copy(center);
    camera.position.copy(center).addScaledVector(sight, distance);
    orbit.update();
    dirty = true;
  }

  function resize() {
    const [width, height] = [Math.max(stage.clientWidth, 1), Math.max(stage.clientHeight, 1)];
    if (renderer) renderer.setSize(width, height, false);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
    dirty = true;
  }

  // ---- showing a time -----------------------------------------------------------------------
  const [start, end] = [data.time[0], data.time[frames - 1]];
  const digits = Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(Math.max(end - start, 1e-6)))));
  let now = start;
  const followed = center.clone();

  function frameAt(time) {
    let [low, high] = [0, frames - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (data.time[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // Between two frames bodies go straight and turn evenly; `frame` is the one last passed.
  function show(time, frame = frameAt(time)) {
    now = time;
    state.frame = frame;
    const next = Math.min(frame + 1, frames - 1);
    const gap = data.time[next] - data.time[frame];
    const part = gap > 0 ? Math.min(Math.max((time - data.time[frame]) / gap, 0), 1) : 0;
    for (let body = 0; body < bodies; body++) {
      const { group } = parts[body];
      const [position, turn] = pose(frame, body);
      if (part > 0) {
        const [nextPosition, nextTurn] = pose(next, body);
        position.lerp(nextPosition, part);
        turn.slerp(nextTurn, part);
      }
      group.position.copy(position);
      group.quaternion.copy(turn);
    }
    for (const link of links) {
      const parent = parts[link.parent].group;
      const joint = link.joint.clone().applyQuaternion(parent.quaternion).add(parent.position);
      const origin = parts[link.body].group.position;
      stretch(link.rod, joint, origin, link.radius);
      link.rod.visible &&= byId("show-rods").checked && joint.distanceTo(origin) > link.radius;
    }
    follow();
    byId("slider").value = frame;
    byId("readout").replaceChildren(
      `t = ${time.toFixed(digits)} s `, Object.assign(document.createElement("small"), {
        textContent: `of ${end.toFixed(digits)} s, frame ${frame + 1} of ${frames}` }));
    document.body.dataset.linkaxFrame = frame;
    dirty = true;
  }

  function follow() {
    if (!byId("follow").checked) return;
    const middle = new T.Vector3();
    for (const { group } of parts) middle.addScaledVector(group.position, 1 / bodies);
    const shift = middle.clone().sub(followed);
    followed.copy(middle);
    orbit.target.add(shift);
    camera.position.add(shift);
    orbit.update();
  }

  function draw() {
    dirty = false;
    if (!renderer) return;
    renderer.render(scene, camera);
    state.drawn += 1;
    document.body.dataset.linkaxDrawn = state.drawn;
  }

  function say(sentence, warning) {
    const line = document.createElement("p");
    line.textContent = sentence;
    if (warning) line.className = "warning";
    byId("caption").append(line);
  }

  // ---- the bodies by name -------------------------------------------------------------------
  const entries = data.names.map((name, body) => {
    const entry = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colorOf(body);
    const label = document.createElement("span");
    label.textContent = name;
    entry.title = name;
    entry.append(swatch, label);
    entry.addEventListener("pointerenter", () => light(body));
    entry.addEventListener("pointerleave", () => light(-1));
    byId("bodies").append(entry);
    return entry;
  });

  let lit = -1;
  function light(body) {
    if (body === lit) return;
    lit = body;
    parts.forEach(({ solid, glass }, i) => {
      const glow = i === lit ? 0.45 : 0;
      for (const material of [solid, glass]) material.emissive.set(colorOf(i)).multiplyScalar(glow);
      glass.opacity = i === lit ? 0.7 : lit >= 0 ? 0.12 : 0.26;
      entries[i].classList.toggle("lit", i === lit);
    });
    dirty = true;
  }

  const caster = new T.Raycaster();
  caster.params.Line.threshold = 0;
  function pick(event) {
    const area = renderer.domElement.getBoundingClientRect();
    const at = new T.Vector2(
      (2 * (event.clientX - area.left)) / area.width - 1, 1 - (2 * (event.clientY - area.top)) / area.height);
    caster.setFromCamera(at, camera);
    const figures = [...parts.map((part) => part.group), ...links.map((link) => link.rod)];
    const hit = event.buttons ? undefined
      : caster.intersectObjects(figures, true).find(({ object }) => object.visible);
    const body = hit ? hit.object.userData.body : -1;
    light(body);
    const tip = byId("tip");
    tip.hidden = body < 0;
    if (body < 0) return;
    tip.textContent = data.names[body];
    tip.style.left = `${event.clientX - area.left}px`;
    tip.style.top = `${event.clientY - area.top}px`;
    entries[body].scrollIntoView({ block: "nearest" });
  }

  function showLayers() {
    for (const layer of ["inertia", "rods", "triads"]) {
      const visible = byId(`show-${layer}`).checked;
      for (const { group } of parts) {
        group.traverse((part) => { if (part.userData.layer === layer) part.visible = visible; });
      }
    }
    floor.visible = byId("show-ground").checked;
    show(now);
  }

  // ---- play ---------------------------------------------------------------------------------
  const ICONS = { play: "M3 1l10 6-10 6z", pause: "M2 1h4v12H2zM8 1h4v12H8z" };
  let playing = false;
  let before = 0;
  function setPlaying(value) {
    playing = value && end > start;
    before = performance.now();
    byId("play-icon").setAttribute("d", playing ? ICONS.pause : ICONS.play);
  }
  function go(frame) {
    setPlaying(false);
    const kept = Math.min(Math.max(frame, 0), frames - 1);
    show(data.time[kept], kept);
  }

  // Real time, unless the run would be over in a blink or last longer than anyone looks.
  function offerSpeeds() {
    const speeds = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 100, 1000];
    const duration = end - start;
    let chosen = 1;
    if (duration < 1) chosen = speeds.filter((speed) => duration / speed >= 2).pop() ?? speeds[0];
    if (duration > 120) chosen = speeds.find((speed) => duration / speed <= 60) ?? speeds[speeds.length - 1];
    for (const speed of speeds) byId("speed").add(new Option(`${speed}\u00d7`, speed, false, speed === chosen));
  }

  function tick(clock) {
    if (playing) {
      const passed = Math.max(clock - before, 0) / 1000;
      before = clock;
      const time = now + passed * Number(byId("speed").value);
      show(time > end ? start : time);
    }
    if (dirty) draw();
    requestAnimationFrame(tick);
  }

  const KEYS = {
    " ": () => setPlaying(!playing),
    ArrowLeft: () => go(state.frame - 1),
    ArrowRight: () => go(state.frame + 1),
    Home: () => go(0),
    End: () => go(frames - 1),
    r: frameMotion,
  };
  window.addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLSelectElement && event.key !== " ") return;
    if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  // A button or box with the focus would take the space bar for a click of its own.
  window.addEventListener("keyup", (event) => { if (event.key === " ") event.preventDefault(); });
  byId("play").addEventListener("click", () => setPlaying(!playing));
  byId("slider").addEventListener("input", () => go(Number(byId("slider").value)));
  byId("home").addEventListener("click", frameMotion);
  for (const layer of ["inertia", "rods", "triads", "ground"]) {
    byId(`show-${layer}`).addEventListener("change", showLayers);
  }
  byId("follow").addEventListener("change", () => {
    followed.copy(orbit.target);
    show(now);
  });
  if (renderer) {
    renderer.domElement.addEventListener("pointermove", pick);
    renderer.domElement.addEventListener("pointerleave", () => { light(-1); byId("tip").hidden = true; });
  }
  // A new size empties the canvas, so it is drawn at once: waiting for the next tick would flicker.
  // Until somebody takes hold of the view, it keeps framing the whole motion.
  let held = false;
  orbit.addEventListener("start", () => { held = true; });
  new ResizeObserver(() => {
    resize();
    if (!held) frameMotion();
    draw();
  }).observe(stage);

  // ---- begin --------------------------------------------------------------------------------
  document.querySelector("#caption h1").textContent = data.title;
  data.notes.forEach((note) => say(note, note.includes("non-finite")));
  byId("scale").textContent = floor.userData.caption;
  byId("slider").max = frames - 1;
  byId("slider").disabled = frames < 2;
  byId("play").disabled = !(end > start);
  offerSpeeds();
  resize();
  frameMotion();
  // `#frame=12` opens the page at that frame, at rest.
  const asked = /^#frame=(\d+)$/.exec(location.hash);
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (asked) go(Number(asked[1]));
  else { go(0); setPlaying(!calm); }
  draw();
  Object.assign(document.body.dataset, { linkaxFrames: frames, linkaxBodies: bodies, linkaxDrawn: state.drawn });
  document.body.dataset.linkaxReady = "true";
  window.linkaxReady = true;
  requestAnimationFrame(tick);
})();
