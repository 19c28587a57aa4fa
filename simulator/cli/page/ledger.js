// The ledger over time: who takes the units of the budget, by failure domain, and which disruption policy keeps machines back.

// More failure domains than this are not drawn over time.
const DOMAINS_DRAWN = 48;
const HALTS = { paused: "failed", invalid: "blocked", frozen: "admitted", "outside window": "waiting", absent: "gone" };

// What is counted in a failure domain of a policy at a moment: [{ name, used, limit }], only what has a limit. `null` before it
// was counted.
function usesAt({ uses: { at, rows } }, time) {
  const i = before(at, time);
  if (i < 0) return null;
  const value = (row) => rows[row].length === 1 ? rows[row][0] : rows[row][i];
  return ["in flight", "this hour", "today"].map((name, index) => ({ name, used: value(2 * index), limit: value(2 * index + 1) - 1 }))
    .filter(({ limit }) => limit >= 0);
}

const isFull = (uses) => uses?.some(({ used, limit }) => used >= limit) ?? false;

// Why a policy lets nothing be disrupted at a moment: [name, until]; `null` when it does.
function haltAt({ stops }, time) {
  const stop = stops.findLast(([at]) => at <= time);
  return stop && stop[1] !== "open" ? [stop[1], stop[2]] : null;
}

const haltText = ([name, until]) => name + (until === null ? "" : ` until ${clock(until)}`);

// The number of full failure domains of a policy over time.
function fullness({ domains }) {
  const changes = [];
  for (const domain of domains) {
    let was = false;
    for (const at of domain.uses.at) {
      const is = isFull(usesAt(domain, at));
      if (is !== was) changes.push([at, is ? 1 : -1]);
      was = is;
    }
  }
  changes.sort(([a], [b]) => a - b);
  const at = [], full = [];
  let sum = 0;
  for (const [time, change] of changes) {
    sum += change;
    if (at.at(-1) === time) full[full.length - 1] = sum; else { at.push(time); full.push(sum); }
  }
  return { at, full };
}

class Ledger {
  constructor(lanes, history) {
    Object.assign(this, { lanes, history });
    const { zones, racksPerZone } = history.run;
    const byZone = zones > 1, domains = byZone ? zones : racksPerZone;
    if (domains > 1 && domains <= DOMAINS_DRAWN) this.addDomains(byZone ? "zone" : "rack", domains);
    for (const policy of history.run.policies) this.addPolicy(policy);
  }

  // The units that machines of each domain take, over time.
  units(domain, domains) {
    const series = Array.from({ length: domains }, () => ({ at: [], level: [] })), sums = new Uint32Array(domains);
    const { kind, host, value, at, count: events } = this.history;
    for (let i = 0; i < events; i++) {
      if (kind[i] !== Kind.UNIT) continue;
      const place = this.history[domain](host[i]), { at: times, level } = series[place];
      sums[place] += value[i] ? 1 : -1;
      if (times.at(-1) === at[i]) level[level.length - 1] = sums[place]; else { times.push(at[i]); level.push(sums[place]); }
    }
    return series;
  }

  addDomains(domain, domains) {
    const series = this.units(domain, domains), row = domains > 16 ? 4 : domains > 6 ? 7 : 11;
    const most = series.reduce((most, { level }) => level.reduce((a, b) => Math.max(a, b), most), 1);
    // A new operator counts every machine that may be at work, however many there are: that is not to hide the rest.
    const limits = this.history.run.budget.rows[1], strong = Math.min(most, limits.reduce((a, b) => Math.max(a, b), 1));
    this.lanes.add({
      name: `Units by ${domain}`, note: `${several(domains, domain)}, at most ${count(most)} each`, height: domains * row + 2,
      describe: `Units of the budget that machines of each ${domain} take: at most ${count(most)} in one of ${domains}`,
      draw: (context, width) => {
        context.fillStyle = colour("work");
        series.forEach(({ at, level }, place) => {
          const picked = this.lanes.sample(at, width, level);
          picked.forEach((i, x) => {
            if (i < 0 || !level[i]) return;
            context.globalAlpha = 0.25 + 0.75 * Math.min(1, level[i] / strong);
            context.fillRect(x, 1 + place * row, 1, row - 1);
          });
        });
        context.globalAlpha = 1;
      },
      tip: (time) => {
        const taken = series.map(({ at, level }, place) => [place, level[before(at, time)] ?? 0]).filter(([, units]) => units);
        const lines = taken.sort(([, a], [, b]) => b - a).slice(0, 8).map(([place, units]) => `${domain} ${place}: ${several(units, "unit")}`);
        return lines.join("\n") || "no unit is taken";
      },
    });
  }

  addPolicy(policy) {
    const { name, per, stops, domains } = policy, { at, full } = fullness(policy), { end } = this.history;
    const bands = stops.map(([from, what, until], i) => ({ from, what, until, to: stops[i + 1]?.[0] ?? end })).filter(({ what }) => what !== "open");
    const limits = domains.length ? usesAt(domains[0], domains[0].uses.at[0]).map(({ name, limit }) => `${limit} ${name}`) : [];
    const often = full.reduce((a, b) => Math.max(a, b), 0);
    this.lanes.add({
      name: `Policy ${name}`, note: per === "fleet" ? limits.join(", ") : `per ${per}` + (limits.length ? `: ${limits.join(", ")}` : ""), height: 26,
      describe: `Disruption policy ${name}: ${several(bands.length, "time")} of standstill; at most ${often} of ${domains.length} failure domains full at once`,
      draw: (context, width, height) => {
        const y = (value) => height - value / Math.max(1, domains.length) * (height - 2);
        this.lanes.area(context, { tops: full, picked: this.lanes.sample(at, width, full) }, y, colour("parked"));
        context.font = "11px system-ui, sans-serif";
        for (const { from, what, to } of bands) {
          const left = this.lanes.x(from, width), right = this.lanes.x(to, width);
          if (right < 0 || left > width) continue;
          context.fillStyle = colour(HALTS[what]);
          context.fillRect(left, 0, Math.max(1.5, right - left), height);
          drawTag(context, what, { left: Math.max(left, 0) + 5, y: 4, high: height - 8, right });
        }
      },
      tip: (time) => {
        const halt = haltAt(policy, time), crowded = domains.filter((domain) => isFull(usesAt(domain, time)));
        const which = crowded.slice(0, 4).map(({ name }) => name).join(", ") + (crowded.length > 4 ? ", …" : "");
        const lines = [halt ? haltText(halt) : "open, within its limits"];
        if (domains.length > 1) lines.push(`${crowded.length} of ${domains.length} domains full` + (which ? `: ${which}` : ""));
        else if (crowded.length) lines.push("its limit is reached");
        return lines.join("\n");
      },
    });
  }
}
