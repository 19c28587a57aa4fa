// One moment in detail: the rollouts and why each waits, the units of the budget by failure domain, and the limits of policies.

// Of a policy with many failure domains, the fullest are listed.
const DOMAINS_LISTED = 12;
// More racks than this are shown as cells without numbers.
const RACKS_NUMBERED = 64;

class Moment {
  constructor(history, fleet) {
    Object.assign(this, { history, fleet, racks: new Uint32Array(history.run.zones * history.run.racksPerZone) });
    this.batches = new Map(history.run.rollouts.map((rollout) => [rollout, batchesOf(rollout, rollout.ended ?? history.end)]));
    this.sizes = this.racks.map(() => 0);
    for (let host = 0; host < history.machines; host++) this.sizes[this.place(host)]++;
  }

  place(host) {
    return this.history.zone(host) * this.history.run.racksPerZone + this.history.rack(host);
  }

  draw(time) {
    $("moment-time").textContent = `at ${clock(time)}`;
    $("moment-rollouts").replaceChildren(...this.owners(time));
    $("moment-ledger").replaceChildren(...this.budget(time), ...this.history.run.policies.map((policy) => this.policy(policy, time)).filter(Boolean));
  }

  // Times in texts of objects, as the page gives them.
  timed(text) {
    return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (at) => clock(Math.max(0, Date.parse(at) - this.history.run.start)));
  }

  // What a list of changes says at a moment.
  words(changes, time) {
    const last = changes.findLast(([at]) => at <= time);
    if (!last || last[1] === null) return null;
    const [reason, message, stops] = this.history.run.words[last[1]];
    return { reason, message: this.timed(message), stops, since: last[0] };
  }

  owners(time) {
    const { run } = this.history, blocks = [];
    for (const [index, charter] of run.charters.entries()) {
      const rollouts = run.rollouts.filter((rollout) => rollout.charter === index && rollout.since <= time && time < (rollout.ended ?? Infinity));
      const told = this.words(charter.told, time), waits = this.words(charter.waits, time);
      if (!rollouts.length && !told) continue;
      blocks.push(make("section", { class: "owner" },
        make("h3", {}, ownerOf(run, index), told ? make("span", { class: told.stops ? "chip bad" : "chip" }, told.reason) : ""),
        told ? this.reason(told) : null,
        waits && (waits.reason !== told?.reason || waits.message.includes("DisruptionPolicy")) ? this.reason(waits, "waits: ") : null,
        rollouts.length ? this.table(rollouts, time) : null));
    }
    return blocks.length ? blocks : [make("p", { class: "quiet" }, "no rollout has begun")];
  }

  reason({ reason, message, since, stops }, before = "") {
    return make("p", { class: stops ? "why bad" : "why" }, before ? make("b", {}, before + reason + ": ") : "", message, make("small", {}, ` since ${clock(since)}`));
  }

  table(rollouts, time) {
    const head = ["rollout", "updated", "at work", "failed", "waiting", "batch and gate"];
    return make("div", { class: "scroll-x" }, make("table", {}, make("thead", {}, make("tr", {}, ...head.map((name) => make("th", {}, name)))),
      make("tbody", {}, ...rollouts.map((rollout) => this.row(rollout, time)))));
  }

  row(rollout, time) {
    const { counts: { at, rows }, completed, component, batches } = rollout, i = Math.max(0, before(at, time));
    const value = (...from) => count(from.reduce((sum, row) => sum + (rows[row][i] ?? 0), 0));
    const batch = batchAt(this.batches.get(rollout), time), isOver = completed !== null && completed <= time;
    const undone = batch?.undone != null && batch.undone <= time;
    const plan = batches.length ? `batches: ${batches.join(", ")}${batches.at(-1) === "100%" ? "" : ", then all"}` : "";
    const text = isOver && !undone ? `complete since ${clock(completed)}` : batch ? batchText(batch, time) : batches.length ? "before its first batch" : "one batch, no gate";
    return make("tr", { class: isOver ? "over" : "" }, make("td", {}, `${component} ${moveOf(rollout)}`),
      make("td", {}, value(0)), make("td", {}, value(1, 2)), make("td", {}, value(5)), make("td", {}, value(3, 4, 6)),
      make("td", { class: batch?.failed && batch.failed.at <= time ? "text bad" : "text" }, text, plan && !isOver ? make("small", {}, plan) : ""));
  }

  budget(time) {
    const { budget: { at, rows: [occupied, limit] }, zones } = this.history.run, i = before(at, time);
    this.racks.fill(0);
    const { flags } = this.fleet.state;
    let bound = 0;
    for (let host = 0; host < this.history.machines; host++) {
      if (!(flags[host] & UNIT_TAKEN)) continue;
      this.racks[this.place(host)]++;
      bound++;
    }
    if (i < 0) return [];
    const rest = occupied[i] - bound;
    const head = make("h3", {}, "Budget", make("span", { class: "chip" }, `${count(occupied[i])} of ${several(limit[i], "unit")} taken`));
    const note = rest > 0 ? make("p", { class: "why" }, `${several(rest, "unit")} for machines that went down after a change, or were granted just now`) : null;
    const most = this.racks.reduce((a, b) => Math.max(a, b), 3);
    const lines = Array.from({ length: zones }, (_, zone) => this.zone(zone, limit[i], most));
    return [make("section", { class: "policy" }, head, note, ...lines)].filter(Boolean);
  }

  // A zone, with its racks: the more of `most` units one takes, the darker it is.
  zone(zone, limit, most) {
    const { racksPerZone } = this.history.run;
    const racks = this.racks.subarray(zone * racksPerZone, (zone + 1) * racksPerZone), sum = racks.reduce((a, b) => a + b, 0);
    const plain = this.racks.length > RACKS_NUMBERED;
    const cells = racksPerZone < 2 ? [] : Array.from(racks, (units, rack) => {
      const size = this.sizes[zone * racksPerZone + rack], share = 25 + 75 * units / most;
      return make("i", { class: plain ? "plain" : "", title: `rack ${rack}: ${units} of ${size} machines take a unit`,
        style: units ? `background: color-mix(in srgb, var(--work) ${share}%, var(--card))` : null }, plain || !units ? "" : String(units));
    });
    return make("div", { class: "use" }, make("span", {}, `zone ${zone}`), meter(sum, limit), make("span", { class: "racks" }, ...cells));
  }

  policy(policy, time) {
    const halt = haltAt(policy, time);
    if (halt?.[0] === "absent" || !policy.stops.some(([at]) => at <= time)) return null;
    const uses = policy.domains.map((domain) => ({ name: domain.name, uses: usesAt(domain, time) })).filter(({ uses }) => uses?.length);
    const share = ({ uses }) => uses.reduce((most, { used, limit }) => Math.max(most, limit ? used / limit : 2), 0);
    const full = uses.filter(({ uses }) => isFull(uses)).length;
    const shown = [...uses].sort((a, b) => share(b) - share(a)).slice(0, DOMAINS_LISTED), more = uses.length - shown.length;
    const state = halt ? haltText(halt) : full ? (uses.length > 1 ? `${full} of ${uses.length} full` : "full") : "open";
    return make("section", { class: "policy" },
      make("h3", {}, `policy ${policy.name}`, make("span", { class: halt ? "chip bad" : full ? "chip warn" : "chip" }, state)),
      ...(uses.length > DOMAINS_LISTED ? shown : uses).map(({ name, uses }) => make("div", { class: "use" }, make("span", {}, name), ...uses.map(({ name, used, limit }) => meter(used, limit, name)))),
      more > 0 ? make("p", { class: "why" }, `and ${count(more)} more that are less full`) : null);
  }
}

// A number beside its limit, with a bar.
function meter(used, limit, name = "") {
  const bar = make("i", { style: `width: ${limit ? Math.min(100, used / limit * 100) : 100}%` });
  return make("span", { class: used >= limit ? "meter full" : "meter" }, make("span", { class: "track" }, bar), make("span", {}, `${count(used)} of ${count(limit)}${name ? " " + name : ""}`));
}
