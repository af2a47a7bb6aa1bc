// From the embedded data to three.js objects: the bounds of the motion, the bodies, the ground.
// Metres, seconds, z up; quaternions come as w x y z.
function linkaxFigures(data) {
  "use strict";
  const T = LinkaxThree;
  const bodies = data.names.length;
  const frames = data.time.length;
  // Ten hues told apart by most eyes, in an order that sets neighbours far apart.
  const PALETTE = [
    "#2f6fb3", "#e07b1a", "#3c9a55", "#b8407a", "#7a5fb5",
    "#1d9aa8", "#c2452f", "#8a7a1e", "#5b6b7a", "#9c5a2e",
  ];
  const colorOf = (body) => PALETTE[body % PALETTE.length];

  // ---- the motion ---------------------------------------------------------------------------
  const pose = (frame, body) => {
    const p = 3 * (frame * bodies + body);
    const r = 4 * (frame * bodies + body);
    const [x, y, z] = data.position.slice(p, p + 3);
    const [qw, qx, qy, qz] = data.quaternion.slice(r, r + 4);
    return [new T.Vector3(x, y, z), new T.Quaternion(qx, qy, qz, qw)];
  };

  // Points that outline a body, in its own axes: box corners, rod ends, its origin.
  function outline(body) {
    const points = [new T.Vector3()];
    for (const shape of data.shapes[body]) {
      if (shape.kind === "box") {
        for (const corner of [0, 1, 2, 3, 4, 5, 6, 7]) {
          const local = shape.half.map((h, i) => (corner & (1 << i) ? h : -h));
          const [x, y, z] = [0, 1, 2].map((row) =>
            shape.center[row] + local.reduce((sum, l, i) => sum + shape.rotation[3 * row + i] * l, 0));
          points.push(new T.Vector3(x, y, z));
        }
      } else if (shape.kind === "rod") points.push(new T.Vector3(...shape.end));
      else if (shape.kind === "sphere") points.push(new T.Vector3(...shape.center));
    }
    return points;
  }

  function motionBounds() {
    const low = new T.Vector3(Infinity, Infinity, Infinity);
    const high = low.clone().negate();
    const outlines = data.names.map((_, body) => outline(body));
    const moved = new T.Vector3();
    for (let frame = 0; frame < frames; frame++) {
      for (let body = 0; body < bodies; body++) {
        const [origin, turn] = pose(frame, body);
        for (const point of outlines[body]) {
          moved.copy(point).applyQuaternion(turn).add(origin);
          low.min(moved);
          high.max(moved);
        }
      }
    }
    // Joints on the ground belong to the picture, where the motion is about as large as their distance.
    const extent = Math.max(high.distanceTo(low), 1e-6);
    data.joints.forEach((joint, body) => {
      if (joint === null || data.parents[body] >= 0) return;
      const point = new T.Vector3(...joint);
      const near = point.clone().clamp(low, high).distanceTo(point) < extent;
      if (near) { low.min(point); high.max(point); }
    });
    return { low, high, size: Math.max(high.distanceTo(low), 1e-6) };
  }

  const bounds = motionBounds();
  const center = bounds.low.clone().add(bounds.high).multiplyScalar(0.5);

  // ---- the bodies ---------------------------------------------------------------------------
  const UP = new T.Vector3(0, 1, 0);
  const unitRod = new T.CylinderGeometry(1, 1, 1, 16);
  const unitCone = new T.CylinderGeometry(0, 1, 1, 16);
  const unitBall = new T.SphereGeometry(1, 20, 14);
  const unitBox = new T.BoxGeometry(2, 2, 2);
  const unitEdges = new T.EdgesGeometry(unitBox);
  const AXES = ["#d1382f", "#2f9a44", "#2f62d1"].map((color, i) => [
    new T.Vector3(+(i === 0), +(i === 1), +(i === 2)), new T.MeshLambertMaterial({ color })]);

  function stretch(mesh, start, end, radius) {
    const along = end.clone().sub(start);
    const length = along.length();
    mesh.visible = length > 1e-3 * radius;
    if (!mesh.visible) return;
    mesh.position.copy(start).add(end).multiplyScalar(0.5);
    mesh.quaternion.setFromUnitVectors(UP, along.divideScalar(length));
    mesh.scale.set(radius, length, radius);
  }

  function mesh(geometry, material, layer) {
    const made = new T.Mesh(geometry, material);
    made.castShadow = layer !== "triads";
    made.userData.layer = layer;
    return made;
  }

  function triad(length) {
    const group = new T.Group();
    for (const [axis, material] of AXES) {
      const shaft = mesh(unitRod, material, "triads");
      stretch(shaft, new T.Vector3(), axis.clone().multiplyScalar(0.8 * length), 0.025 * length);
      const tip = mesh(unitCone, material, "triads");
      stretch(tip, axis.clone().multiplyScalar(0.76 * length), axis.clone().multiplyScalar(length), 0.075 * length);
      group.add(shaft, tip);
    }
    return group;
  }

  function bodyGroup(body) {
    const group = new T.Group();
    const color = colorOf(body);
    const solid = new T.MeshLambertMaterial({ color });
    const glass = new T.MeshLambertMaterial({ color, transparent: true, opacity: 0.26, depthWrite: false });
    const line = new T.LineBasicMaterial({ color: new T.Color(color).multiplyScalar(0.55) });
    let radius = 0;
    for (const shape of data.shapes[body]) {
      if (shape.kind === "box") {
        const holder = new T.Group();
        const r = shape.rotation;
        holder.matrixAutoUpdate = false;
        holder.matrix.set(
          r[0] * shape.half[0], r[1] * shape.half[1], r[2] * shape.half[2], shape.center[0],
          r[3] * shape.half[0], r[4] * shape.half[1], r[5] * shape.half[2], shape.center[1],
          r[6] * shape.half[0], r[7] * shape.half[1], r[8] * shape.half[2], shape.center[2],
          0, 0, 0, 1);
        const edges = new T.LineSegments(unitEdges, line);
        edges.userData.layer = "inertia";
        holder.add(mesh(unitBox, glass, "inertia"), edges);
        group.add(holder);
      } else if (shape.kind === "sphere") {
        const ball = mesh(unitBall, solid, "inertia");
        ball.position.set(...shape.center);
        ball.scale.setScalar(shape.radius);
        group.add(ball);
      } else if (shape.kind === "rod") {
        const rod = mesh(unitRod, solid, "rods");
        const end = new T.Vector3(...shape.end);
        stretch(rod, new T.Vector3(...shape.start), end, shape.radius);
        const knob = mesh(unitBall, solid, "rods");
        knob.position.copy(end);
        knob.scale.setScalar(1.5 * shape.radius);
        group.add(rod, knob);
        radius = shape.radius;
      } else {
        group.add(triad(shape.length));
        radius = radius || shape.length / 8;
      }
    }
    const origin = mesh(unitBall, solid, "rods");
    origin.scale.setScalar(1.5 * radius);
    group.add(origin);
    group.traverse((part) => { part.userData.body = body; });
    return { group, radius, solid, glass };
  }

  const parts = data.names.map((_, body) => bodyGroup(body));
  // From a joint on its parent to the origin of its child, where these are apart: a slide drawn out,
  // or the near half of a body whose frame is not at its joint.
  const links = [];
  data.joints.forEach((joint, body) => {
    const parent = data.parents[body];
    if (joint === null || parent < 0) return;
    const rod = mesh(unitRod, parts[body].solid, "rods");
    rod.userData.body = body;
    links.push({ rod, parent, body, joint: new T.Vector3(...joint), radius: 0.7 * parts[body].radius });
  });

  function ground() {
    const group = new T.Group();
    const drop = bounds.low.z;
    // The world's own z = 0 where the motion stands near it, else a floor under the motion.
    const level = drop > -0.03 * bounds.size && drop < 0.6 * bounds.size ? 0 : drop - 0.02 * bounds.size;
    const rough = bounds.size / 8;
    const decade = 10 ** Math.floor(Math.log10(rough));
    const cell = decade * [1, 2, 5, 10].find((step) => step * decade >= rough * 0.999);
    const count = 14;
    const [cx, cy] = [center.x, center.y].map((c) => cell * Math.round(c / cell));
    const points = [];
    const colors = [];
    const put = (i, j) => {
      points.push(cx + i * cell, cy + j * cell, level);
      colors.push(0.42, 0.47, 0.54, Math.max(0, 1 - Math.hypot(i, j) / count) ** 1.2);
    };
    for (let i = -count; i <= count; i++) {
      for (let j = -count; j < count; j++) {
        put(i, j); put(i, j + 1);
        put(j, i); put(j + 1, i);
      }
    }
    const geometry = new T.BufferGeometry();
    geometry.setAttribute("position", new T.Float32BufferAttribute(points, 3));
    geometry.setAttribute("color", new T.Float32BufferAttribute(colors, 4));
    const grid = new T.LineSegments(geometry,
      new T.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
    const shade = new T.Mesh(new T.PlaneGeometry(2 * count * cell, 2 * count * cell),
      new T.ShadowMaterial({ color: "#1f2933", opacity: 0.16, depthWrite: false }));
    shade.position.set(cx, cy, level - 1e-4 * bounds.size);
    shade.receiveShadow = true;
    group.add(shade, grid);
    const origin = new T.Vector3();
    if (origin.clone().clamp(bounds.low, bounds.high).distanceTo(origin) < bounds.size) {
      group.add(triad(0.35 * cell));
    }
    const digits = Math.max(0, 2 - Math.floor(Math.log10(bounds.size)));
    group.userData.caption =
      `Grid at z = ${level.toFixed(digits)} m, squares of ${Number(cell.toPrecision(1))} m`;
    return group;
  }
  return { bounds, center, parts, links, floor: ground(), pose, stretch, colorOf };
}
