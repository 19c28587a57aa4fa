// The page: the current moment, the selected machine, and the listeners for changes of both.

const PLAY_SECONDS = 45; // the whole run at 1×
const PLAY_POINTS = 4000;

// Playback slows down where much happens: half of its progress is time, half is events. The time at each point of progress.
function pace({ at, count: events, end }) {
  const times = new Float64Array(PLAY_POINTS + 1).fill(end);
  let point = 0;
  const reach = (progress, time) => { while (point <= progress * PLAY_POINTS && point <= PLAY_POINTS) times[point++] = time; };
  let last = 0;
  for (let i = 0; i <= PLAY_POINTS; i++) {
    const time = end * i / PLAY_POINTS, passed = before(at, time) + 1, until = (time / end + (events ? passed / events : time / end)) / 2;
    // Between two points progress and time are proportional.
    const from = point;
    reach(until, time);
    for (let k = from; k < point; k++) times[k] = last + (time - last) * (k - from + 1) / (point - from);
    last = time;
  }
  return times;
}

class Page {
  constructor(history) {
    const wires = { seek: (at) => this.seek(at), choose: (host) => this.choose(host), worst: hurt(history) };
    Object.assign(this, { history, fleet: new Fleet(history), marks: marksOf(history), time: 0, playing: false, dirty: false });
    drawHead(history, wires);
    this.map = new FleetMap(history, this.fleet, wires.choose);
    this.lanes = new Lanes(history, this.marks, wires);
    this.panel = new MachinePanel(history, this.fleet, wires);
    this.moment = new Moment(history, this.fleet);
    this.wire();
    this.open();
  }

  wire() {
    const slider = $("time");
    slider.max = this.history.end;
    slider.addEventListener("input", () => this.seek(Number(slider.value)));
    $("play").addEventListener("click", () => this.play());
    $("theme").addEventListener("click", () => this.theme());
    $("help-open").addEventListener("click", () => $("help").showModal());
    $("zoom-in").addEventListener("click", () => this.lanes.zoom(0.5, this.time));
    $("zoom-out").addEventListener("click", () => this.lanes.zoom(2, this.time));
    $("zoom-all").addEventListener("click", () => this.lanes.zoom(Infinity, this.time));
    $("search").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = $("machine-name"), host = this.history.number(field.value);
      field.setCustomValidity(host === null ? "There is no such machine." : "");
      field.reportValidity();
      if (host !== null) this.choose(host);
    });
    $("machine-name").addEventListener("input", () => $("machine-name").setCustomValidity(""));
    const [first] = this.history.run.violations;
    if (first) {
      $("violation").hidden = false;
      $("violation").addEventListener("click", () => this.seek(first[0]));
    }
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("resize", () => { this.map.resize(); this.lanes.resize(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.theme(this.preferred()));
    addEventListener("hashchange", () => this.open());
  }

  // The fragment of the address: `t=2h03m` or milliseconds, `machine`, `theme`, `by`.
  open() {
    const wish = new URLSearchParams(location.hash.slice(1)), { run, end } = this.history;
    this.theme(wish.get("theme") ?? document.documentElement.dataset.theme ?? this.preferred());
    if (wish.has("by")) { $("colour").value = this.map.by = wish.get("by"); this.map.resize(); }
    const units = { h: 3_600_000, m: 60_000, s: 1000 };
    const read = (text) => /^\d+$/.test(text) ? Number(text)
      : [...text.matchAll(/([\d.]+)([hms])/g)].reduce((sum, [, number, unit]) => sum + number * units[unit], 0);
    const start = run.violations.length ? run.violations[0][0] : this.telling();
    this.seek(wish.has("t") ? read(wish.get("t")) : Math.min(start, end));
    if (wish.has("machine")) this.choose(this.history.number(wish.get("machine")));
    else if (run.violations.length) this.choose(culprit(this.history, run.violations[0]));
  }

  // The page opens at the moment when the budget is used most.
  telling() {
    const { at, rows: [occupied] } = this.history.run.budget;
    return at.length ? at[occupied.reduce((best, value, i) => value >= occupied[best] ? i : best, 0)] : this.history.end;
  }

  preferred() {
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  theme(name = document.documentElement.dataset.theme === "dark" ? "light" : "dark") {
    document.documentElement.dataset.theme = name;
    $("theme").textContent = name === "dark" ? "Light" : "Dark";
    this.map.resize();
    this.lanes.resize();
  }

  seek(time) {
    this.time = Math.max(0, Math.min(this.history.end, time));
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.dirty = false;
    this.fleet.seek(this.time);
    this.map.draw();
    this.lanes.cursor(this.time);
    this.panel.update(!this.playing);
    this.moment.draw(this.time);
    const text = clock(this.time, this.history.end < 600_000);
    $("time").value = this.time;
    $("time").setAttribute("aria-valuetext", text);
    $("now").textContent = text;
    document.documentElement.dataset.ready = "yes";
  }

  choose(host) {
    if (this.map.chosen === host) return;
    this.map.chosen = host;
    this.map.mark();
    this.panel.show(host);
  }

  play(on = !this.playing) {
    this.playing = on;
    $("play").classList.toggle("on", on);
    $("play").setAttribute("aria-label", on ? "Pause" : "Play");
    if (!on) return;
    if (this.time >= this.history.end) this.time = 0;
    this.pace ??= pace(this.history);
    let last = performance.now(), time = this.time, progress = Math.max(0, before(this.pace, time)) / PLAY_POINTS;
    const frame = (now) => {
      if (!this.playing) return;
      // A jump during playback continues from the new moment.
      if (this.time !== time) progress = Math.max(0, before(this.pace, this.time)) / PLAY_POINTS;
      progress += (now - last) / 1000 / PLAY_SECONDS * Number($("speed").value);
      last = now;
      const place = Math.min(progress, 1) * PLAY_POINTS, low = Math.floor(place), high = Math.min(low + 1, PLAY_POINTS);
      time = this.time = this.pace[low] + (this.pace[high] - this.pace[low]) * (place - low);
      if (progress >= 1) this.play(false);
      this.draw();
      if (this.playing) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  // The next mark in a direction.
  mark(direction) {
    const next = direction > 0 ? this.marks.find(({ at }) => at > this.time) : this.marks.findLast(({ at }) => at < this.time);
    if (next) this.seek(next.at);
  }

  key(event) {
    const field = event.target.matches("input[type=search], select");
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open || (field && event.key !== "Escape")) return;
    const step = (this.lanes.until - this.lanes.from) / 200 * (event.shiftKey ? 10 : 1);
    const keys = {
      " ": () => this.play(), ArrowLeft: () => this.seek(this.time - step), ArrowRight: () => this.seek(this.time + step),
      Home: () => this.seek(0), End: () => this.seek(this.history.end), ",": () => this.mark(-1), ".": () => this.mark(1),
      "+": () => this.lanes.zoom(0.5, this.time), "=": () => this.lanes.zoom(0.5, this.time),
      "-": () => this.lanes.zoom(2, this.time), 0: () => this.lanes.zoom(Infinity, this.time),
      v: () => $("violation").hidden || $("violation").click(), "/": () => $("machine-name").focus(), d: () => this.theme(),
      f: () => this.lanes.faults.focus(),
      "?": () => $("help").showModal(), Escape: () => { this.choose(null); event.target.blur(); },
    };
    const act = keys[event.key];
    if (!act || (event.key === " " && event.target.matches("button"))) return;
    event.preventDefault();
    act();
  }
}

unpack($("history").textContent).then((bytes) => {
  window.page = new Page(new History(bytes));
}, (problem) => {
  $("name").textContent = "This browser cannot unpack the page";
  console.error(problem);
});
