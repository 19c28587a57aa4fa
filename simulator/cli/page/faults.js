// Faults: a lane for each kind. An outage is a band whose height is the number of affected machines; a momentary strike is
// a tick. Pointer, tap or arrow keys select a fault and show its name.

const SAID_MAX = 5;
// Pixels: a lane is higher if height carries information.
const LOW = 18, HIGH = 30, HIGH_FROM = 10;
// Faults are labelled only up to this number.
const NAMED_MAX = 60;

// A fault as the page uses it.
function faultsOf({ name, realm, bands }) {
  return bands.map(([from, until, times, scope, detail, host]) => ({ kind: name, realm, from, until, times, scope, detail, host }));
}

// The number of affected machines, or of strikes, over time.
function levels(bands) {
  const steps = [];
  for (const { from, until, times } of bands) if (until > from) steps.push([from, times], [until, -times]);
  steps.sort(([a], [b]) => a - b);
  const at = [], level = [];
  let sum = 0;
  for (const [time, change] of steps) {
    sum += change;
    if (at.at(-1) === time) level[level.length - 1] = sum; else { at.push(time); level.push(sum); }
  }
  return { at, level, most: level.reduce((a, b) => Math.max(a, b), 0) };
}

// A description of a fault.
function faultText({ kind, from, until, times, scope, detail, host, realm }) {
  const many = times > 1 && host === null ? (realm === "machines" && until > from ? several(times, "machine") : several(times, "time")) : "";
  const what = [scope, scope.includes(many) ? "" : many, detail].filter(Boolean).join(", ");
  const when = until > from ? `${clock(from)} to ${clock(until)} (${length(until - from)})` : `at ${clock(from, true)}`;
  return `${kind}${what ? ": " + what : ""}, ${when}`;
}

class Faults {
  constructor(lanes, run, { seek, choose }) {
    Object.assign(this, { lanes, seek, choose, rows: [], row: 0, chosen: null });
    this.said = make("span", { class: "quiet said", role: "status", id: "fault-said" });
    this.now = make("span", { class: "quiet now-acting", id: "faults-now" });
    lanes.element.append(make("div", { class: "sub-bar" }, make("h3", {}, "Faults"), this.now, make("span", { class: "spring" }), this.said));
    const group = make("div", { class: "fault-lanes" });
    lanes.element.append(group);
    for (const lane of run.faultLanes) this.addLane(lane, group);
    if (!this.rows.length) this.now.textContent = "none: nothing went wrong in this run";
  }

  addLane(lane, group) {
    const bands = faultsOf(lane), row = { ...lane, bands, ...levels(bands) };
    const strikes = bands.reduce((sum, { times }) => sum + times, 0);
    row.moments = bands.filter(({ from, until }) => from === until);
    row.names = bands.map(({ scope, detail }) => [scope, detail].filter(Boolean).join(", "));
    row.longest = bands.reduce((most, { from, until }) => Math.max(most, until - from), 0);
    row.canvas = this.lanes.add({
      name: lane.name, note: row.most > 1 && lane.realm === "machines" ? `${count(row.most)} at once` : `${count(strikes)} ×`,
      height: row.most >= HIGH_FROM ? HIGH : LOW, thin: true,
      describe: `${lane.name}: ${several(strikes, "strike")}. Left and right go from one to the next, up and down to other kinds, Enter shows the machine.`,
      draw: (context, width, height) => this.draw(row, context, width, height),
      tip: (time) => this.tip(row, time),
      press: (time) => this.name(row, this.nearest(row, time)),
    }, group);
    const index = this.rows.push(row) - 1;
    row.canvas.tabIndex = index ? -1 : 0;
    row.canvas.addEventListener("keydown", (event) => this.key(event, index));
    row.canvas.addEventListener("focus", () => { this.row = index; });
  }

  // The time covered by a few pixels.
  get reach() {
    return (this.lanes.until - this.lanes.from) / Math.max(1, this.lanes.width) * 4;
  }

  draw(row, context, width, height) {
    const { lanes } = this, fill = colour("realm-" + row.realm.replace(" ", "-"));
    if (row.at.length) {
      const y = (value) => value <= 0 ? height - 1 : (height - 2) * (0.68 * (1 - Math.sqrt(value / row.most))) + 1;
      const picked = lanes.sample(row.at, width, row.level);
      context.fillStyle = fill;
      picked.forEach((i, x) => {
        if (i >= 0 && row.level[i] > 0) context.fillRect(x, y(row.level[i]), 1, height - 1 - y(row.level[i]));
      });
    }
    this.drawMoments(row, context, width, height, fill);
    this.drawNames(row, context, width, height);
    if (this.chosen?.row === row) this.frame(this.chosen.band, context, width, height);
  }

  drawMoments({ moments }, context, width, height, fill) {
    const buckets = new Map();
    for (const { from, times } of moments) {
      const x = Math.round(this.lanes.x(from, width) / 3) * 3;
      buckets.set(x, (buckets.get(x) ?? 0) + times);
    }
    const most = Math.log2(1 + [...buckets.values()].reduce((a, b) => Math.max(a, b), 1));
    context.fillStyle = fill;
    for (const [x, times] of buckets) {
      const tall = (height - 2) * (0.5 + 0.5 * Math.log2(1 + times) / most);
      context.fillRect(x - 1, height - 1 - tall, 2, tall);
    }
  }

  // Labels with the affected part, if there is room and they distinguish the faults of a lane.
  drawNames({ bands, at, level, names }, context, width, height) {
    if (bands.length > NAMED_MAX || new Set(names).size < Math.min(2, bands.length)) return;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("soft");
    for (const [index, { until }] of bands.entries()) {
      const right = this.lanes.x(until, width) + 5, wide = context.measureText(names[index]).width, last = before(at, until);
      const next = Math.min(at[last + 1] ?? Infinity, bands[this.after(bands, until)]?.from ?? Infinity);
      const isFree = last < 0 || level[last] === 0;
      if (right < 0 || !isFree || right + wide + 5 > Math.min(width, this.lanes.x(next, width))) continue;
      context.fillText(names[index], right, height / 2 + 4);
    }
  }

  frame({ from, until }, context, width, height) {
    const left = this.lanes.x(from, width) - 2.5, right = Math.max(this.lanes.x(until, width) + 2.5, left + 6);
    context.lineWidth = 1.5;
    context.strokeStyle = colour("ink");
    context.strokeRect(left, 0.75, right - left, height - 1.5);
  }

  // The faults of a lane at a moment: outages first, then strikes close to it.
  acting({ bands, longest }, time, reach = this.reach) {
    const found = [];
    for (let i = this.after(bands, time + reach) - 1; i >= 0 && bands[i].from >= time - longest - reach; i--) {
      if (bands[i].until + reach >= time) found.push(bands[i]);
    }
    return found.sort((a, b) => (b.until - b.from) - (a.until - a.from) || a.from - b.from);
  }

  // The index of the first fault that begins after `time`.
  after(bands, time) {
    let low = 0, high = bands.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (bands[middle].from <= time) low = middle + 1; else high = middle;
    }
    return low;
  }

  tip(row, time) {
    const found = this.acting(row, time);
    if (!found.length) return "";
    const hit = found.reduce((sum, { times }) => sum + times, 0), more = found.length - SAID_MAX;
    const lines = found.slice(0, SAID_MAX).map(faultText);
    if (found.length > 1) lines.unshift(`${row.name}: ${several(hit, row.realm === "machines" && row.at.length ? "machine" : "time")}`);
    if (more > 0) lines.push(`and ${count(more)} more`);
    return lines.join("\n");
  }

  nearest(row, time) {
    const close = this.acting(row, time);
    return close[0] ?? null;
  }

  // Selects a fault and shows its name.
  name(row, band) {
    const before = this.chosen?.row;
    this.chosen = band ? { row, band } : null;
    this.said.textContent = band ? faultText(band) + (band.host === null ? "" : " · Enter shows the machine") : "";
    for (const changed of new Set([before, row])) if (changed) this.lanes.redraw(changed.canvas);
  }

  key(event, index) {
    const row = this.rows[index], { bands } = row, chosen = this.chosen?.row === row ? bands.indexOf(this.chosen.band) : null;
    const go = (to) => {
      if (!bands[to]) return;
      this.name(row, bands[to]);
      this.seek(bands[to].from);
    };
    const walk = (to) => {
      if (!this.rows[to]) return;
      row.canvas.tabIndex = -1;
      this.rows[to].canvas.tabIndex = 0;
      this.rows[to].canvas.focus();
    };
    const start = this.after(bands, this.lanes.time);
    const keys = {
      ArrowRight: () => go(chosen === null ? Math.min(start, bands.length - 1) : chosen + 1),
      ArrowLeft: () => go(chosen === null ? Math.max(0, start - 1) : chosen - 1),
      ArrowDown: () => walk(index + 1), ArrowUp: () => walk(index - 1),
      Enter: () => { const host = this.chosen?.band.host ?? null; if (host !== null) this.choose(host); },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  focus() {
    this.rows[this.row]?.canvas.focus();
  }

  // The outages at the current moment.
  at(time) {
    if (!this.rows.length) return;
    const parts = this.rows.filter(({ at }) => at.length).map((row) => [row, row.level[before(row.at, time)] ?? 0]).filter(([, level]) => level > 0);
    const text = parts.map(([row, level]) => row.realm === "machines" && row.most > 1 ? `${row.name} (${count(level)})` : row.name).join(", ");
    this.now.textContent = text ? `now: ${text}` : "now: none acts";
  }
}
