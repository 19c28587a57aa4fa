// Lanes over time: rollouts, the budget, operators, faults, their consequences, people. All share one axis.

const CONSEQUENCES = new Set(["OperatorSteppedDown", "LeaderChanged", "RenewalOverdue", "WriteStale", "OrderLate", "FenceRefused",
  "OwnerRefused", "HostLostInOperation", "OperationInterrupted", "OperationResumed", "ReleaseFailed", "HostRepaired", "RequestRefused"]);

class Lanes {
  constructor(history, marks, { seek, choose }) {
    Object.assign(this, { history, marks, seek, element: $("lanes"), lanes: [], from: 0, until: this.busy(history, marks) });
    const { run } = history;
    const byOwner = [...run.rollouts].sort((a, b) => a.charter - b.charter);
    for (const rollout of byOwner) this.addRollout(rollout, rollout.ended ?? history.end);
    if (run.budget.at.length) this.addBudget(run.budget);
    this.ledger = new Ledger(this, history);
    this.addOperators(run.processes);
    this.faults = new Faults(this, run, { seek, choose });
    this.addConsequences(run);
    if (run.acts.length) this.addActs(run.acts);
    this.add({ name: "", height: 22, draw: (context, width) => this.axis(context, width), tip: () => "" });
    this.resize();
  }

  // The time of the last event, with some room: the quiet phase at the end may be long.
  busy({ at, count: events, end }, marks) {
    const last = Math.max(events ? at[Math.floor((events - 1) * 0.999)] : end, marks.length ? marks.at(-1).at : 0);
    return last * 1.1 > end * 0.9 ? end : Math.max(last * 1.1, 2000);
  }

  // Adds a lane to `parent`, and returns its canvas.
  add(lane, parent = this.element) {
    const canvas = make("canvas", { role: "img", "aria-label": lane.describe ?? lane.name });
    canvas.addEventListener("mousemove", (event) => {
      const at = this.timeAt(event);
      if (event.buttons & 1) this.seek(at);
      const text = lane.tip(at);
      if (text) Tip.show(event, `${clock(at)}\n${text}`); else Tip.hide();
    });
    canvas.addEventListener("mouseleave", () => Tip.hide());
    canvas.addEventListener("mousedown", (event) => {
      event.preventDefault();
      lane.press?.(this.timeAt(event));
      this.seek(this.timeAt(event));
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.altKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event));
    }, { passive: false });
    const label = make("div", { class: lane.thin ? "label thin" : "label" }, make("span", {}, lane.name), lane.note ? make("small", {}, lane.note) : null);
    parent.append(label, canvas);
    this.lanes.push({ ...lane, canvas });
    return canvas;
  }

  timeAt(event) {
    const box = event.target.getBoundingClientRect();
    const part = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    return Math.round(this.from + part * (this.until - this.from));
  }

  x(at, width) {
    return (at - this.from) / (this.until - this.from) * width;
  }

  zoom(factor, around) {
    const span = Math.max(2000, Math.min(this.history.end, (this.until - this.from) * factor));
    const part = Math.max(0, Math.min(1, (around - this.from) / (this.until - this.from)));
    this.from = Math.max(0, Math.min(this.history.end - span, around - part * span));
    this.until = this.from + span;
    this.resize();
  }

  resize() {
    const width = this.lanes[0].canvas.clientWidth;
    this.width = width;
    for (const lane of this.lanes) this.drawLane(lane);
    const whole = this.until - this.from >= this.history.end;
    $("zoom-text").textContent = whole ? "" : `${clock(this.from)} to ${clock(this.until)}`;
    this.cursor(this.time ?? 0);
  }

  drawLane({ canvas, name, height, draw }) {
    const context = fit(canvas, this.width, height);
    if (name) {
      context.fillStyle = colour("shade");
      context.fillRect(0, 0, this.width, height);
    }
    draw(context, this.width, height);
    this.drawMarks(context, this.width, height);
  }

  // Draws the lane of a canvas again.
  redraw(canvas) {
    this.drawLane(this.lanes.find((lane) => lane.canvas === canvas));
  }

  // The position of the current moment. Scrolls when it leaves the lanes.
  cursor(time) {
    this.time = time;
    this.faults.at(time);
    const outside = time < this.from || time > this.until;
    if (outside && this.until - this.from < this.history.end) {
      const span = this.until - this.from;
      this.from = Math.max(0, Math.min(this.history.end - span, time - span / 2));
      this.until = this.from + span;
      return this.resize();
    }
    $("cursor").style.transform = `translateX(${this.x(time, this.width) - 1}px)`;
  }

  drawMarks(context, width, height) {
    for (const { at, kind } of this.marks) {
      const x = Math.min(Math.round(this.x(at, width)) + 0.5, width - (at <= this.until ? 1.5 : -9));
      context.strokeStyle = colour(kind === "violation" ? "failed" : kind === "crash" ? "ink" : "accent");
      context.lineWidth = kind === "violation" ? 2.5 : 1;
      context.globalAlpha = kind === "violation" ? 1 : 0.4;
      context.setLineDash(kind === "crash" ? [2, 3] : []);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  // For each column of pixels the index of the value to draw: with `most` the highest within the column, else the last.
  // -1 before the first value.
  sample(at, width, most) {
    const span = (this.until - this.from) / width;
    let i = before(at, this.from);
    return Array.from({ length: Math.ceil(width) }, (_, column) => {
      const until = this.from + (column + 1) * span;
      let best = i;
      while (i + 1 < at.length && at[i + 1] < until) {
        i += 1;
        if (!most || best < 0 || most[i] > most[best]) best = i;
      }
      return best;
    });
  }

  // The area under values over time, on top of `bases`. `picked` is the value that each column of pixels shows.
  area(context, { tops, bases, picked }, y, fill) {
    context.fillStyle = fill;
    picked.forEach((i, x) => {
      if (i < 0) return;
      const top = y(tops[i]), base = y(bases ? bases[i] : 0);
      if (base - top > 0.05) context.fillRect(x, top, 1, Math.max(base - top, bases ? 0 : 1));
    });
  }

  line(context, at, values, width, y, stroke, dash = []) {
    context.strokeStyle = stroke;
    context.lineWidth = 1.5;
    context.setLineDash(dash);
    context.beginPath();
    for (let i = Math.max(0, before(at, this.from)); i < at.length; i++) {
      const next = i + 1 < at.length ? at[i + 1] : this.history.end;
      context.lineTo(this.x(at[i], width), y(values[i]));
      context.lineTo(this.x(next, width), y(values[i]));
      if (at[i] > this.until) break;
    }
    context.stroke();
    context.setLineDash([]);
  }

  // A rollout until its owner replaces it, and below it its batches and their gates.
  addRollout(rollout, end) {
    const { component, from, to, since, completed, counts, waves, charter } = rollout, { run } = this.history;
    const { at, rows } = counts, batches = batchesOf(rollout, end);
    const sums = [at.map(() => 0)];
    for (let row = 0; row < 7; row++) sums.push(sums[row].map((sum, i) => sum + rows[row][i]));
    const total = Math.max(1, ...[0, at.length - 1].map((i) => sums[7][i] ?? 1), sums[7].reduce((a, b) => Math.max(a, b), 0));
    const move = moveOf(rollout), owner = ownerOf(run, charter), took = outcomeOf(rollout, batches, end, this.history);
    const isEmpty = sums[7].every((sum) => !sum), high = run.rollouts.length > ROLLOUTS_HIGH ? 36 : 58;
    const area = isEmpty ? 4 : high, gates = isEmpty ? [] : batches;
    this.add({
      name: `${component} ${move}`, note: run.charters.length > 1 ? `${owner}: ${isEmpty ? "no machine" : took}` : took,
      height: area + (gates.length ? GATES_HEIGHT : 0),
      describe: `Rollout of ${component} ${move} by ${owner}, ${took}, ${several(waves.length, "wave")}, ${several(batches.length, "batch", "batches")}`,
      draw: (context, width) => {
        const y = (value) => area - value / total * area;
        const picked = this.sample(at, width).filter((_, x) => x <= this.x(end, width));
        for (let row = 6; row >= 0; row--) {
          this.area(context, { tops: sums[row + 1], bases: sums[row], picked }, y, colour(COUNTS[row].key));
        }
        drawBatches(context, gates, { x: (time) => this.x(time, width), y: area + 2, width });
      },
      tip: (time) => {
        const i = before(at, time);
        if (i < 0) return "not started";
        if (time > end) return `over: another one has taken its place`;
        const lines = COUNTS.map(({ name }, row) => rows[row][i] ? `${name}: ${count(rows[row][i])}` : "").filter(Boolean);
        lines.push(`failed: ${rows[5][i]} of ${count(rows[7][i])} that may`);
        const batch = batchAt(batches, time);
        if (batch) lines.unshift(batchText(batch, time));
        return [...new Set(lines)].join("\n");
      },
    });
  }

  addBudget({ at, rows: [occupied, limit, work, used] }) {
    const most = Math.max(1, ...[limit, occupied, used].map((row) => row.reduce((a, b) => Math.max(a, b), 0)));
    const peak = occupied.reduce((best, value, i) => value - limit[i] > occupied[best] - limit[best] ? i : best, 0);
    this.add({
      name: "Budget", note: "maxUnavailable", height: 66,
      describe: `Budget in use: at most ${occupied[peak]} of ${limit[peak]} at ${clock(at[peak])}`,
      draw: (context, width, height) => {
        const y = (value) => height - 1 - value / most * (height - 10);
        this.area(context, { tops: occupied, picked: this.sample(at, width, occupied) }, y, colour("parked"));
        this.area(context, { tops: work, picked: this.sample(at, width, work) }, y, colour("work"));
        this.line(context, at, limit, width, y, colour("limit"), [5, 3]);
        context.fillStyle = colour("limit");
        context.font = "11px system-ui, sans-serif";
        const shown = limit[Math.max(0, before(at, this.until))];
        context.textAlign = "right";
        context.fillText(`limit ${count(shown)}`, width - 4, y(shown) + (y(shown) > height / 2 ? -4 : 12));
        context.textAlign = "left";
      },
      tip: (time) => {
        const i = before(at, time);
        return i < 0 ? "" : `${count(occupied[i])} of ${count(limit[i])} units taken\n${several(work[i], "host")} at work`;
      },
    });
  }

  addOperators(processes) {
    const seats = [...new Set(processes.map(({ seat }) => seat))].sort((a, b) => a - b), row = 17;
    const end = (process) => process.ended ?? this.history.end;
    const crashes = processes.filter(({ crashed }) => crashed).length;
    this.add({
      name: seats.length > 1 ? "Operators" : "Operator", note: crashes ? several(crashes, "crash", "crashes") : "no crash",
      height: Math.max(1, seats.length) * row + 3,
      describe: `${several(processes.length, "operator process", "operator processes")}, ${several(crashes, "crash", "crashes")}`,
      draw: (context, width) => {
        for (const process of processes) {
          const y = seats.indexOf(process.seat) * row + 4, height = row - 6;
          const left = this.x(process.from, width), right = this.x(end(process), width);
          context.fillStyle = colour("waiting");
          context.fillRect(left, y, Math.max(1, right - left), height);
          if (process.led !== null) {
            const led = this.x(process.led, width);
            context.fillStyle = colour("admitted");
            context.fillRect(led, y, Math.max(1, right - led), height);
          }
          context.fillStyle = colour("ink");
          for (const [from, until] of process.pauses) {
            const still = this.x(from, width);
            context.fillRect(still, y + height / 2 - 1, Math.max(1, this.x(until, width) - still), 2);
          }
          if (process.crashed) this.cross(context, right, y + height / 2);
        }
      },
      tip: (time) => processes.filter((process) => process.from <= time && end(process) >= time).map((process) => {
        const leads = process.led !== null && process.led <= time;
        const still = process.pauses.some(([from, until]) => from <= time && until >= time) ? ", stands still" : "";
        return `seat ${process.seat}: ${leads ? `leads, epoch ${process.epoch}` : "does not lead"}${still}`;
      }).join("\n") || "no operator runs",
    });
  }

  cross(context, x, y) {
    context.strokeStyle = colour("card");
    for (const width of [5, 2.2]) {
      context.lineWidth = width;
      context.beginPath();
      for (const [dx, dy] of [[4, 4], [4, -4]]) { context.moveTo(x - dx, y - dy); context.lineTo(x + dx, y + dy); }
      context.stroke();
      context.strokeStyle = colour("failed");
    }
  }

  // The consequences of faults. Strikes themselves are left out: they have their own lanes.
  addConsequences({ occurrences }) {
    const shown = occurrences.filter(([, name]) => CONSEQUENCES.has(name));
    if (!shown.length) return;
    this.add({
      name: "Consequences", note: several(shown.reduce((sum, [, , times]) => sum + times, 0), "time"), height: 30,
      describe: `Consequences: ${[...new Set(shown.map(([, name]) => plain(name)))].join(", ")}`,
      draw: (context, width, height) => {
        const buckets = new Map();
        for (const [at, , times] of shown) {
          const x = Math.round(this.x(at, width) / 2) * 2;
          buckets.set(x, (buckets.get(x) ?? 0) + times);
        }
        context.fillStyle = colour("soft");
        for (const [x, times] of buckets) {
          const tall = Math.min(height - 4, 4 + Math.log2(times + 1) * 5);
          context.fillRect(x, height - 2 - tall, 1.5, tall);
        }
      },
      tip: (time) => {
        const reach = (this.until - this.from) / this.width * 4, sums = new Map();
        for (const [at, name, times] of shown) {
          if (Math.abs(at - time) <= reach) sums.set(name, (sums.get(name) ?? 0) + times);
        }
        return [...sums].map(([name, times]) => `${plain(name)}: ${times}`).join("\n");
      },
    });
  }

  addActs(acts) {
    this.add({
      name: "People", height: 24, describe: several(acts.length, "act") + " of people",
      draw: (context, width, height) => {
        context.font = "11px system-ui, sans-serif";
        let free = -Infinity;
        for (const [index, [at, what]] of acts.entries()) {
          const x = this.x(at, width), y = height / 2, next = acts[index + 1] ? this.x(acts[index + 1][0], width) - 8 : width;
          context.fillStyle = colour("accent");
          context.beginPath();
          for (const [dx, dy] of [[0, -6], [6, 0], [0, 6], [-6, 0]]) context.lineTo(x + dx, y + dy);
          context.fill();
          const wide = context.measureText(what).width;
          if (x > free && x + 12 + wide < next) {
            context.fillStyle = colour("soft");
            context.fillText(what, x + 11, y + 4);
            free = x + 20 + wide;
          }
        }
      },
      tip: (time) => {
        const reach = (this.until - this.from) / this.width * 8;
        return acts.filter(([at]) => Math.abs(at - time) <= reach).map(([, what]) => what).join("\n");
      },
    });
  }

  axis(context, width) {
    const span = this.until - this.from, steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];
    const step = (steps.find((seconds) => span / (seconds * 1000) <= width / 90) ?? 86_400 * 7) * 1000;
    context.fillStyle = colour("faint");
    context.strokeStyle = colour("line");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    for (let at = Math.ceil(this.from / step) * step; at <= this.until; at += step) {
      const x = this.x(at, width);
      context.fillRect(x, 0, 1, 4);
      const text = clock(at).replace(/(?<=[hm])00s$/, "").replace(/(?<=h)00m$/, "");
      if (x > 14 && x < width - 14) context.fillText(text, x, 16);
    }
    context.textAlign = "left";
    for (const { at } of this.marks.filter(({ kind }) => kind === "violation")) {
      const x = Math.min(this.x(at, width), width - 6);
      context.fillStyle = colour("failed");
      context.beginPath();
      for (const [dx, dy] of [[0, 1], [6, 11], [-6, 11]]) context.lineTo(x + dx, dy);
      context.fill();
    }
  }
}
