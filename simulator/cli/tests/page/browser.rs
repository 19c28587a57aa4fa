//! A headless Chromium, driven over a pipe with the DevTools protocol: one JSON message after the other, each ended by a
//! zero byte.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// Timeout for an answer or a condition.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running Chromium with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    last: u64,
    /// Errors on the console of the page, and uncaught exceptions.
    pub(crate) errors: Vec<String>,
}

fn chromium() -> &'static str {
    let works = |name: &&str| {
        let run = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    };
    NAMES.into_iter().find(works).unwrap_or_else(|| {
        panic!("this test needs Chromium: install one of {NAMES:?} (Debian: apt-get install chromium)")
    })
}

impl Browser {
    /// Starts a browser that keeps its files in `profile`, with a window of this size.
    pub(crate) fn start(profile: &Path, (width, height): (u32, u32)) -> Self {
        // The browser reads from its file descriptor 3 and writes to 4: the shell puts the pipes there.
        let script = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh", chromium(), "--headless", "--remote-debugging-pipe"])
            .args(["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell can be started");
        let input = child.stdin.take().expect("it was asked for");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0) {
                let Ok(message) = message else { return };
                let message = serde_json::from_slice(&message).expect("Chromium speaks JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let session = String::new();
        let mut browser = Self { child, input, messages, session, last: 0, errors: Vec::new() };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().expect("a session has an id").to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method, and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("a message is JSON");
        bytes.push(0);
        self.input.write_all(&bytes).expect("Chromium listens");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut answer = match self.messages.recv_timeout(left) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Timeout) => panic!("no answer to {method}"),
                Err(RecvTimeoutError::Disconnected) => panic!("Chromium has ended"),
            };
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let is_error = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => parameters["type"] == "error",
            Some("Log.entryAdded") => parameters["entry"]["level"] == "error",
            _ => false,
        };
        if is_error {
            self.errors.push(parameters.to_string());
        }
    }

    /// The value of an expression in the page. Promises are awaited.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true in the page.
    pub(crate) fn until(&mut self, condition: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.evaluate(condition) != json!(true) {
            assert!(Instant::now() < deadline, "never true: {condition}\n{:#?}", self.errors);
            // The page makes progress only between two frames.
            self.evaluate("new Promise((done) => requestAnimationFrame(() => done(0)))");
        }
    }

    /// Opens a page, and waits until it is drawn.
    pub(crate) fn open(&mut self, address: &str) {
        self.call("Page.navigate", &json!({ "url": address }));
        self.until("document.readyState === 'complete' && document.documentElement.dataset.ready === 'yes'");
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key }));
        }
    }

    /// Moves the pointer to a place of the window.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Taps a place of the window with a finger.
    pub(crate) fn tap(&mut self, x: f64, y: f64) {
        self.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true }));
        for (kind, points) in [("touchStart", json!([{ "x": x, "y": y }])), ("touchEnd", json!([]))] {
            self.call("Input.dispatchTouchEvent", &json!({ "type": kind, "touchPoints": points }));
        }
    }

    /// Clicks at a place of the window.
    pub(crate) fn click(&mut self, x: f64, y: f64) {
        for kind in ["mousePressed", "mouseReleased"] {
            let parameters = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &parameters);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
