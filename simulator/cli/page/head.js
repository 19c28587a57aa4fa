// The head of the page: what ran, whether it succeeded, the worst moment, and the affected machines.

// Machines with bad events, the most severe first: [{ host, what, grave }].
function hurt(history) {
  const found = new Map();
  const note = (host, grave, what) => {
    const known = found.get(host);
    if (!known || known.grave < grave) found.set(host, { host, grave, what });
  };
  const running = new Uint8Array(history.machines);
  for (let i = 0; i < history.count; i++) {
    const host = history.host[i], value = history.value[i];
    switch (history.kind[i]) {
      case Kind.STEP: running[host] = 1; break;
      case Kind.ENDED:
        running[host] = 0;
        if (value > 1) note(host, 4, `release failed: ${plain(history.run.causes[value - 2])}`);
        if (value === 1) note(host, 3, "operation interrupted, undone");
        break;
      case Kind.RESUMED: note(host, 2, "lost power at work, finished by itself"); break;
      case Kind.POWER: if (!value && running[host]) note(host, 1, "lost power at work"); break;
      case Kind.NETWORK: if (!value && running[host]) note(host, 1, "cut off at work"); break;
      case Kind.SPOILED: note(host, 1, "changed by hand"); break;
      default:
    }
  }
  return [...found.values()].sort((a, b) => b.grave - a.grave || a.host - b.host);
}

// Moments to jump to, in the order of time.
function marksOf({ run }) {
  const marks = run.acts.map(([at]) => ({ at, kind: "act" }));
  for (const { ended, crashed } of run.processes) if (crashed) marks.push({ at: ended, kind: "crash" });
  for (const [at] of run.violations.slice(0, 1)) marks.push({ at, kind: "violation" });
  return marks.sort((a, b) => a.at - b.at);
}

function drawHead(history, wires) {
  const { run } = history, { summary } = run, { seek, choose, worst } = wires;
  const good = summary.converged && summary.violations.length === 0;
  $("name").textContent = summary.scenario;
  $("goal").textContent = run.goal;
  $("verdict").textContent = good ? "✓ converged" : summary.violations.length ? "✗ invariant broken" : "✗ did not converge";
  $("verdict").className = "verdict " + (good ? "good" : "bad");
  const fact = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
  const faults = [...new Set(run.faults)].map(plain).join(", ");
  const code = make("div", { class: "wide" }, make("dt", {}, "the same again"), make("dd", {}, make("code", {}, run.again)));
  $("facts").replaceChildren(
    fact("machines", count(summary.machines)), fact("seed", String(summary.seed)), fact("operations on hosts", count(summary.operations)),
    fact("writes to the API server", count(summary.apiWrites)), fact("decisions", several(summary.turns, "turn")),
    fact("simulated", clock(run.end)), fact("trace hash", make("code", {}, summary.traceHash)), make("div", { class: "many" }, make("dt", {}, "faults"), make("dd", {}, faults || "none")), code);
  $("glance").replaceChildren(verdictCard(history, good, wires), worstCard(history, seek), hurtCard(history, worst, choose));
}

function jump(text, act) {
  return make("button", { type: "button", class: "link", click: act }, text);
}

function card(name, headline, bad, ...body) {
  return make("div", { class: bad ? "bad" : "" }, make("h2", {}, name), make("strong", {}, headline), make("p", {}, ...body));
}

// The machine that a violation names, if any.
function culprit(history, [, , detail]) {
  const named = /\b(?:host|Machine) ((?:[\w-]*-)?\d+)\b/.exec(detail);
  return named ? history.number(named[1]) : null;
}

function verdictCard(history, good, { seek, choose }) {
  const { run } = history, { summary } = run, name = "Did it converge?";
  if (run.violations.length) {
    const [at, invariant, detail] = run.violations[0], host = culprit(history, run.violations[0]);
    return card(name, invariant === "expected" ? "No: what people expected did not hold" : `No: ${plain(invariant)} was broken`, true, jump(`at ${clock(at, true)}`, () => seek(at)), `: ${detail} `,
      host === null ? "" : jump(`Show ${history.name(host)}`, () => { seek(at); choose(host); }));
  }
  if (!good) {
    const more = summary.missing.length > 1 ? `, and ${count(summary.missing.length - 1)} more` : "";
    return card(name, "No", true, (summary.missing[0] ?? "something was missing") + more);
  }
  const versions = Object.entries(summary.versionsAfter).map(([version, hosts]) => `${version} on ${count(hosts)}`).join(", ");
  const away = summary.machines - summary.reachable;
  const last = run.rollouts.filter(({ completed }) => completed !== null).at(-1);
  const took = last ? `; the last rollout took ${length(last.completed - last.since)}` : "";
  return card(name, "Yes, and no invariant was broken", false, (versions || "nothing is installed") + took,
    away ? `; ${several(away, "host")} could not be reached at the end` : "");
}

function worstCard(history, seek) {
  const { run, lost } = history, { at, rows: [occupied, limit, work] } = run.budget, parts = [];
  let headline = "Nothing was at risk";
  if (at.length) {
    // Of equal peaks the last one: a used budget matters most when things also go wrong.
    let peak = 0;
    for (let i = 1; i < at.length; i++) if (occupied[i] - limit[i] >= occupied[peak] - limit[peak]) peak = i;
    headline = `${count(occupied[peak])} of ${several(limit[peak], "unit")} of the budget taken`;
    parts.push(jump(`at ${clock(at[peak])}`, () => seek(at[peak])), `, ${several(work[peak], "host")} at work`,
      occupied[peak] > limit[peak] ? " (lost hosts may exceed it; nothing new starts then)" : "");
  }
  const sum = lost.at.map((_, i) => lost.rows[0][i] + lost.rows[1][i]);
  const most = sum.reduce((best, value, i) => value > sum[best] ? i : best, 0);
  if (sum[most] > 0) {
    parts.push(`${parts.length ? "; " : ""}most hosts lost: ${count(sum[most])} `, jump(`at ${clock(lost.at[most])}`, () => seek(lost.at[most])));
  }
  return card("The worst moment", headline, run.violations.some(([, invariant]) => invariant === "budget"), ...parts);
}

function hurtCard(history, worst, choose) {
  if (!worst.length) return card("Who was hurt?", "Nobody", false, "No release failed and no host was lost at work.");
  const sums = new Map();
  for (const { what } of worst) sums.set(what, (sums.get(what) ?? 0) + 1);
  const list = [...sums].map(([what, number]) => `${count(number)} × ${what}`).join("; ");
  const failed = worst.some(({ grave }) => grave === 4);
  return card("Who was hurt?", several(worst.length, "machine"), failed, list + ". First: ",
    jump(history.name(worst[0].host), () => choose(worst[0].host)));
}
