// The map: a cell is a machine, grouped by zone and rack. Cells differ in colour, lightness and shape.

const STATES = [
  { key: "done", name: "as wanted", shape: "full" },
  { key: "waiting", name: "waiting", shape: "full" },
  { key: "parked", name: "waiting for its turn", shape: "dot" },
  { key: "admitted", name: "granted", shape: "dot" },
  { key: "work", name: "at work", shape: "hole" },
  { key: "blocked", name: "blocked", shape: "bar" },
  { key: "failed", name: "release failed", shape: "cross" },
  { key: "off", name: "no power", shape: "slash" },
  { key: "cut", name: "cut off", shape: "frame" },
  { key: "unseen", name: "not seen yet", shape: "full" },
  { key: "gone", name: "no Machine", shape: "frame" },
];
const State = Object.fromEntries(STATES.map((state, index) => [state.key, index]));
const STATE_OF_PHASE = [State.unseen, State.done, State.waiting, State.parked, State.admitted, State.work, State.blocked,
  State.failed, State.gone];

// The state that a cell shows: first the true state of the host, then the operator's view.
function stateOf({ phase, flags }, host) {
  const flag = flags[host];
  if (flag & NO_POWER) return State.off;
  if (flag & CUT_OFF) return State.cut;
  if (flag & RUNNING) return State.work;
  return STATE_OF_PHASE[phase[host]];
}

// One cell of `size`, drawn once and then copied.
function drawCell(context, { key, shape }, size, fill = colour(key)) {
  const gap = size >= 5 ? 1 : size >= 3 ? 0.5 : 0, side = size - gap, glyph = size >= 6;
  context.fillStyle = fill;
  if (shape === "frame" && glyph) {
    context.strokeStyle = colour(key === "gone" ? "line" : "failed");
    context.strokeRect(0.75, 0.75, side - 1.5, side - 1.5);
    return;
  }
  context.fillRect(0, 0, side, side);
  if (!glyph || shape === "full") return;
  const inset = side * 0.28;
  context.fillStyle = context.strokeStyle = colour("glyph");
  context.lineWidth = Math.max(1, side * 0.14);
  context.beginPath();
  if (shape === "dot") {
    context.arc(side / 2, side / 2, Math.max(0.9, side * 0.15), 0, 7);
    return context.fill();
  }
  if (shape === "hole") {
    context.fillStyle = colour("card");
    return context.fillRect(inset, inset, side - 2 * inset, side - 2 * inset);
  }
  if (shape === "bar") { context.moveTo(inset * 0.7, side / 2); context.lineTo(side - inset * 0.7, side / 2); }
  if (shape !== "bar") { context.moveTo(inset * 0.7, inset * 0.7); context.lineTo(side - inset * 0.7, side - inset * 0.7); }
  if (shape === "cross") { context.moveTo(side - inset * 0.7, inset * 0.7); context.lineTo(inset * 0.7, side - inset * 0.7); }
  if (key === "off") context.strokeStyle = colour("failed");
  context.stroke();
}

// The largest cell size at which all zones and racks fit into the frame.
function layOut(run, machines, width, height) {
  const { zones, racksPerZone: racks } = run, perRack = Math.ceil(machines / (zones * racks));
  const LABEL = 20, GAP = 14;
  for (let cell = 34; ; cell = cell > 2 ? cell - 1 : cell / 2) {
    const rackGap = racks > 1 ? Math.max(2, Math.round(cell * 0.45)) : 0;
    let best = null;
    for (let across = Math.min(zones, 12); across >= 1; across--) {
      const room = (width - GAP * (across - 1)) / across;
      for (const share of [0.5, 0.7, 1, 1.4, 2, 3, 5, 8]) {
        const columns = Math.max(1, Math.min(perRack, Math.round(Math.sqrt(perRack) * share)));
        const rackWidth = columns * cell, rackHeight = Math.ceil(perRack / columns) * cell;
        const racksAcross = Math.min(racks, Math.floor((room + rackGap) / (rackWidth + rackGap)));
        if (racksAcross < 1) continue;
        const down = Math.ceil(racks / racksAcross), zoneHeight = LABEL + down * (rackHeight + rackGap) - rackGap;
        const total = Math.ceil(zones / across) * (zoneHeight + GAP) - GAP;
        const used = racksAcross * (rackWidth + rackGap) - rackGap;
        const waste = total + (room - used) * 0.6;
        if (total <= height && (!best || waste < best.waste)) {
          best = { cell, columns, racksAcross, rackWidth, rackHeight, rackGap, across, zoneHeight, total, waste,
            zoneWidth: used, step: Math.min(room + GAP, used + 3 * GAP), label: LABEL, gap: GAP };
        }
      }
    }
    if (best) return best;
  }
}

class FleetMap {
  constructor(history, fleet, choose) {
    Object.assign(this, { history, fleet, choose, canvas: $("map"), by: "state", chosen: null, hover: null });
    this.shown = new Uint8Array(history.machines);
    this.tally = new Uint32Array(256);
    this.offerColours();
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => { this.hover = null; this.mark(); Tip.hide(); });
    this.canvas.addEventListener("click", (event) => { const host = this.hostAt(event); if (host !== null) choose(host); });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.resize();
  }

  offerColours() {
    this.history.run.components.forEach((name, index) => {
      $("colour").append(make("option", { value: `version:${index}` }, `version of ${name}`));
    });
    $("colour").addEventListener("change", () => { this.by = $("colour").value; this.resize(); });
  }

  // The legend: the code of a cell is an index into it.
  meanings() {
    if (this.by === "state") return STATES;
    const component = Number(this.by.split(":")[1]), { versions, components } = this.history.run;
    const own = versions.map((name, index) => ({ name, index })).filter(({ name }) => name.startsWith(components[component] + "-"));
    const meanings = [{ key: "unseen", name: "not installed", shape: "frame" }];
    own.forEach(({ name, index }, place) => { meanings[index + 1] = { key: "v" + (place % 8), name, shape: ["full", "dot", "bar", "hole"][(own.length - 1 - place) % 4] }; });
    return meanings;
  }

  code(host) {
    if (this.by === "state") return stateOf(this.fleet.state, host);
    return this.fleet.state.versions[Number(this.by.split(":")[1])][host];
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth;
    const height = Math.max(300, Math.min(720, innerHeight * 0.6));
    this.plan = layOut(this.history.run, this.history.machines, width, height);
    this.context = fit(this.canvas, width, Math.ceil(this.plan.total) + 2);
    this.base = document.createElement("canvas");
    this.base.width = this.canvas.width;
    this.base.height = this.canvas.height;
    this.baseContext = this.base.getContext("2d");
    this.sprites = this.meanings().map((meaning) => this.sprite(meaning));
    this.labels();
    this.legend();
    this.draw(true);
  }

  sprite(meaning) {
    const scale = window.devicePixelRatio || 1, canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.max(1, Math.ceil(this.plan.cell * scale));
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    drawCell(context, meaning, this.plan.cell);
    return canvas;
  }

  // The corner of a machine's cell.
  place(host) {
    const { cell, columns, racksAcross, rackWidth, rackHeight, rackGap, across, zoneHeight, step, label, gap } = this.plan;
    const { zones, racksPerZone } = this.history.run;
    const zone = host % zones, rack = Math.floor(host / zones) % racksPerZone, slot = Math.floor(host / (zones * racksPerZone));
    const x = (zone % across) * step + (rack % racksAcross) * (rackWidth + rackGap) + (slot % columns) * cell;
    const y = Math.floor(zone / across) * (zoneHeight + gap) + label + Math.floor(rack / racksAcross) * (rackHeight + rackGap)
      + Math.floor(slot / columns) * cell;
    return [x, y];
  }

  hostAt(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const { cell, columns, racksAcross, rackWidth, rackHeight, rackGap, across, zoneHeight, step, label, gap } = this.plan;
    const { zones, racksPerZone } = this.history.run;
    const zoneX = Math.floor(x / step), zoneY = Math.floor(y / (zoneHeight + gap));
    const inX = x - zoneX * step, inY = y - zoneY * (zoneHeight + gap) - label;
    const rackX = Math.floor(inX / (rackWidth + rackGap)), rackY = Math.floor(inY / (rackHeight + rackGap));
    const column = Math.floor((inX - rackX * (rackWidth + rackGap)) / cell), row = Math.floor((inY - rackY * (rackHeight + rackGap)) / cell);
    const zone = zoneY * across + zoneX, rack = rackY * racksAcross + rackX;
    if (inY < 0 || zoneX >= across || rackX >= racksAcross || column >= columns || zone >= zones || rack >= racksPerZone) return null;
    const host = (row * columns + column) * zones * racksPerZone + rack * zones + zone;
    return host < this.history.machines ? host : null;
  }

  labels() {
    const { across, step, zoneHeight, gap } = this.plan, context = this.baseContext, scale = window.devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.base.width, this.base.height);
    context.fillStyle = colour("faint");
    context.font = "12px system-ui, sans-serif";
    for (let zone = 0; zone < this.history.run.zones; zone++) {
      context.fillText(`zone ${zone}`, (zone % across) * step, Math.floor(zone / across) * (zoneHeight + gap) + 12);
    }
  }

  legend() {
    $("legend").replaceChildren(...this.meanings().map((meaning, code) => {
      const swatch = make("canvas", { "aria-hidden": "true" });
      const context = fit(swatch, 14, 14);
      drawCell(context, meaning, 14);
      return make("li", { "data-code": code }, swatch, make("span", {}, meaning.name), make("b", {}, "0"));
    }).filter(Boolean));
  }

  // Draws the cells that changed since the last call, or all cells on request.
  draw(all = false) {
    const { cell } = this.plan, context = this.baseContext, { machines } = this.history;
    this.tally.fill(0);
    for (let host = 0; host < machines; host++) {
      const code = this.code(host);
      this.tally[code]++;
      if (!all && this.shown[host] === code) continue;
      this.shown[host] = code;
      const [x, y] = this.place(host);
      context.clearRect(x, y, cell, cell);
      context.drawImage(this.sprites[code] ?? this.sprites[0], x, y, cell, cell);
    }
    for (const item of $("legend").children) {
      const number = this.tally[Number(item.dataset.code)];
      item.lastChild.textContent = count(number);
      item.classList.toggle("none", number === 0);
    }
    $("map-time").textContent = `at ${clock(this.fleet.time)}`;
    this.mark();
  }

  // Copies the cells to the screen, and marks the selected machine and the one under the pointer.
  mark() {
    const { cell } = this.plan, { context, canvas } = this;
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.base, 0, 0);
    context.restore();
    for (const [host, width] of [[this.hover, 1], [this.chosen, 2.5]]) {
      if (host === null) continue;
      const [x, y] = this.place(host), reach = Math.max(cell, 5);
      context.lineWidth = width + 2;
      context.strokeStyle = colour("card");
      context.strokeRect(x - 1.5, y - 1.5, reach + 2, reach + 2);
      context.lineWidth = width;
      context.strokeStyle = colour("ink");
      context.strokeRect(x - 1.5, y - 1.5, reach + 2, reach + 2);
    }
  }

  point(event) {
    const host = this.hostAt(event);
    if (host !== this.hover) { this.hover = host; this.mark(); }
    if (host === null) return Tip.hide();
    const meaning = STATES[stateOf(this.fleet.state, host)];
    const waits = this.history.run.waits[this.fleet.state.waits[host]];
    Tip.show(event, `${this.history.name(host)}  ·  zone ${this.history.zone(host)}, rack ${this.history.rack(host)}\n`
      + meaning.name + (waits ? ` (${plain(waits)})` : ""));
  }

  key(event) {
    const { zones, racksPerZone } = this.history.run, { columns } = this.plan, rack = zones * racksPerZone;
    const step = { ArrowRight: rack, ArrowLeft: -rack, ArrowDown: rack * columns, ArrowUp: -rack * columns }[event.key];
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    const next = (this.chosen ?? 0) + (step ?? 0);
    if (next >= 0 && next < this.history.machines) this.choose(next);
  }
}
