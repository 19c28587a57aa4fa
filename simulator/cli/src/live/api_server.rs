//! An API server whose answers are written down beforehand.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use seaworthy_kube::Terminal;
use serde_json::{Value, json};

/// It answers one request after another, and none any more once it has no answers left.
pub(super) struct ApiServer {
    kubeconfig: PathBuf,
    requests: Receiver<String>,
}

impl ApiServer {
    /// One with these answers: each a status code, and an object or what is wrong.
    pub(super) fn new(answers: Vec<(u16, Value)>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let kubeconfig = std::env::temp_dir().join(format!("seaworthy-kubeconfig-{}", address.port()));
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{ "name": "here", "cluster": { "server": format!("http://{address}") } }],
            "users": [{ "name": "alice", "user": {} }],
            "contexts": [{ "name": "here", "context": { "cluster": "here", "user": "alice" } }],
        });
        fs::write(&kubeconfig, config.to_string()).unwrap();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for (code, mut object) in answers {
                if code >= 400 {
                    object = json!({ "kind": "Status", "code": code, "message": object });
                }
                let (mut stream, _) = listener.accept().unwrap();
                // The request is there before the command goes on.
                sender.send(request(&stream)).unwrap();
                answer(&mut stream, code, &object.to_string());
            }
        });
        Self { kubeconfig, requests }
    }

    /// What a command returns, and what it has asked: of each request the method, the path and the body.
    pub(super) fn run<T>(self, command: impl AsyncFnOnce(Terminal) -> T) -> (T, Vec<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let returned = runtime.block_on(async {
            let terminal = Terminal::connect(Some(&self.kubeconfig), "seaworthy".to_owned()).await;
            command(terminal.unwrap()).await
        });
        fs::remove_file(&self.kubeconfig).unwrap();
        (returned, self.requests.try_iter().collect())
    }
}

fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    format!("{} {body}", first.trim_end().trim_end_matches(" HTTP/1.1"))
}

fn answer(stream: &mut TcpStream, code: u16, body: &str) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {code} Answer\r\nContent-Type: application/json\r\nContent-Length: {length}");
    write!(stream, "{head}\r\nConnection: close\r\n\r\n{body}").unwrap();
}
