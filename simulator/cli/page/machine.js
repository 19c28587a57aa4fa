// One machine: its state at the current moment, and all its events.

const UNDOING = ["restore", "recover"];
const DRIFT = [[1, "a file"], [2, "a link"], [4, "the service was stopped"], [8, "the binary"]];

// The events of a machine as entries for people: an operation is one entry with its steps.
function entriesOf(history, host) {
  const { run } = history, entries = [];
  let operation = null;
  const add = (at, text, more = {}) => entries.push({ at, text, ...more });
  const stop = (at) => { if (operation?.steps.length) operation.steps.at(-1).until ??= at; };
  const step = (at, name, dark = false) => { stop(at); operation?.steps.push({ name, at, until: null, dark }); };
  for (const i of history.eventsOf(host)) {
    const at = history.at[i], value = history.value[i];
    switch (history.kind[i]) {
      case Kind.BEGAN: {
        const [component, version] = history.release(value);
        operation = { at, text: version ? `install ${version}` : `remove ${component}`, steps: [], result: "under way", tone: "" };
        entries.push(operation);
        break;
      }
      case Kind.STEP: step(at, run.steps[value]); break;
      case Kind.RESUMED:
        if (operation) Object.assign(operation, { resumed: true, result: "under way" });
        break;
      case Kind.ENDED: {
        stop(at);
        if (!operation) break;
        operation.result = value === 0 ? (operation.resumed ? "succeeded, resumed by the host" : "succeeded")
          : value === 1 ? "interrupted: the host went down, nothing of it is left" : `failed: ${plain(run.causes[value - 2])}`;
        operation.tone = value === 0 ? "good" : "bad";
        operation = null;
        break;
      }
      case Kind.POWER:
        if (!value && operation) { step(at, "no power", true); Object.assign(operation, { result: "cut short: no power", tone: "bad" }); }
        add(at, value ? "power is back" : "loses its power", { tone: value ? "" : "bad", fault: true });
        break;
      case Kind.NETWORK: add(at, value ? "connected again" : "cut off from the network", { tone: value ? "" : "bad", fault: true }); break;
      case Kind.NODE: add(at, `Node is ${["Ready", "not ready", "Unknown"][value]}`, { small: true }); break;
      case Kind.SPOILED:
        add(at, "changed by hand: " + DRIFT.filter(([bit]) => value & bit).map(([, what]) => what).join(", "), { tone: "bad", fault: true });
        break;
      case Kind.PHASE: {
        const waits = run.waits[value >> 4];
        add(at, `the operator sees it ${run.phases[value & 15]}` + (waits ? ` (${plain(waits)})` : ""), { small: true });
        break;
      }
      case Kind.CONDITION: {
        const text = `${["Ready", "Reachable", "InSync"][value & 3]} is ${["True", "False", "Unknown"][value >> 2 & 3]} (${run.reasons[value >> 4]})`;
        const last = entries.at(-1);
        if (last?.condition && last.at === at) last.text += ", " + text; else add(at, text, { small: true, condition: true });
        break;
      }
      default:
    }
  }
  return entries;
}

class MachinePanel {
  constructor(history, fleet, { seek, choose, worst }) {
    Object.assign(this, { history, fleet, seek, choose, worst, host: null, element: $("machine"), buttons: [] });
    this.show(null);
  }

  show(host) {
    this.host = host;
    this.buttons = [];
    if (host === null) return this.showWorst();
    const { history } = this, name = history.name(host);
    this.present = make("dl", { class: "present" });
    const list = make("div", { class: "scroll" });
    for (const entry of entriesOf(history, host)) {
      const button = this.entry(entry);
      this.buttons.push({ at: entry.at, button });
      list.append(button);
    }
    if (!this.buttons.length) list.append(make("p", { class: "quiet" }, "Nothing ever happened to it."));
    this.element.replaceChildren(
      make("h2", {}, name),
      make("p", { class: "sub" }, `zone ${history.zone(host)}, rack ${history.rack(host)}`),
      make("button", { class: "close", type: "button", "aria-label": "Let go of this machine", click: () => this.choose(null) }, "×"),
      this.present, list);
    this.update(true);
  }

  // No machine is selected: suggest some.
  showWorst() {
    const { history, worst, element } = this;
    const rows = worst.slice(0, 40).map(({ host, what, grave }) => make("button",
      { type: "button", class: "entry", click: () => this.choose(host) },
      make("span", { class: grave > 2 ? "bad" : "" }, history.name(host)), make("small", {}, what)));
    element.replaceChildren(
      make("h2", {}, "One machine"),
      make("p", { class: "sub" }, "Choose a cell of the map, or find a machine by its name."),
      make("div", { class: "scroll" }, make("p", { class: "sub" }, rows.length ? "Worth a look:" : "Nobody was hurt in this run."), ...rows,
        worst.length > 40 ? make("p", { class: "quiet" }, `and ${count(worst.length - 40)} more`) : ""));
  }

  entry(entry) {
    const { at, text, steps, result, tone, small } = entry;
    const children = [make("time", {}, clock(at, true))];
    if (steps) {
      // The time that it worked, without the time without power.
      const took = (step) => (step.until ?? this.history.end) - step.at, work = steps.filter(({ dark }) => !dark);
      const whole = Math.max(work.reduce((sum, step) => sum + took(step), 0), 1);
      const bar = make("span", { class: "steps", role: "img", "aria-label": steps.map(({ name }) => name).join(", ") });
      for (const step of steps) {
        const kind = step.dark ? "dark" : UNDOING.includes(step.name) ? "undo" : step.name === "probe" ? "probe" : "";
        const share = step.dark ? 0.03 : Math.max(took(step) / whole, 0.004);
        bar.append(make("i", { class: kind, style: `flex: ${share}`, title: `${step.name}: ${length(took(step))}` }));
      }
      const longest = work.reduce((best, step) => took(step) > took(best) ? step : best, work[0]);
      const slow = longest && work.length > 1 ? `, longest: ${longest.name} ${length(took(longest))}` : "";
      children.push(make("span", {}, text, " — ", make("span", { class: tone }, result)), bar,
        make("small", {}, `${several(work.length, "step")} in ${length(whole)}${slow}`));
    } else {
      children.push(make(small ? "small" : "span", { class: tone ?? "" }, text));
    }
    return make("button", { type: "button", class: "entry", click: () => this.seek(at) }, ...children);
  }

  // The current moment has changed.
  update(reveal = false) {
    const { host, history, fleet } = this;
    if (host === null) return;
    const { state, time } = fleet, { run } = history;
    const meaning = STATES[stateOf(state, host)], waits = run.waits[state.waits[host]];
    const rows = [["now", meaning.name + (waits ? ` (${plain(waits)})` : "")]];
    if (state.flags[host] & RUNNING) rows.push(["step", run.steps[state.step[host]]]);
    run.components.forEach((name, component) => {
      const version = state.versions[component][host];
      rows.push([name, version ? run.versions[version - 1].replace(name + "-", "") : "not installed"]);
    });
    rows.push(["operator", `sees it ${run.phases[state.phase[host]]}`]);
    rows.push(["Node", state.flags[host] & NODE_LOST ? "Unknown" : "Ready"]);
    this.present.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    let latest = null;
    for (const { at, button } of this.buttons) {
      button.classList.toggle("later", at > time);
      button.classList.remove("latest");
      if (at <= time) latest = button;
    }
    latest?.classList.add("latest");
    if (latest && reveal) {
      const list = latest.parentElement;
      list.scrollTop = latest.offsetTop - list.offsetTop - list.clientHeight / 2;
    }
  }
}
