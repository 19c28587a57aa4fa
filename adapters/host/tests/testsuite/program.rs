//! The program itself: its command line and its frames.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{fs, str};

use seaworthy_api::host::frame::{self, HEADER};
use seaworthy_api::host::wire::{self, Answer, Reply};
use seaworthy_model::cause::CauseKind;

use crate::world::{PROGRAM, World, request, scratch};

fn program(world: &World, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(PROGRAM)
        .arg("--root")
        .arg(world.layout().root())
        .arg("--prefix")
        .arg(world.prefix())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended before it read all of it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn reply(output: &Output) -> Reply {
    let (header, body) = output.stdout.split_at(HEADER);
    assert_eq!(frame::body_length(header.try_into().unwrap(), frame::REPLY_MAX).unwrap(), body.len());
    frame::decode(body).unwrap()
}

fn with_world(name: &str, test: impl FnOnce(&World)) {
    let base = scratch(name);
    let world = World::make(&base, &base.join("volatile"));
    test(&world);
    drop(world);
    fs::remove_dir_all(base).unwrap();
}

#[test]
fn frames() {
    with_world("program-frames", |world| {
        let asked = frame::encode(&request(1, wire::Command::Facts)).unwrap();
        let Answer::Done(facts) = reply(&program(world, &["serve"], &asked)).answer else {
            panic!("not done")
        };
        assert_eq!(facts.host.to_string(), "0123456789abcdef0123456789abcdef");

        let other = wire::Request { protocol: 2, ..request(1, wire::Command::Facts) };
        let mut unnamed = request(1, wire::Command::Facts);
        unnamed.fence.cluster = String::new();
        let table: [(&str, Vec<u8>, CauseKind); 7] = [
            ("nothing", Vec::new(), CauseKind::ProtocolError),
            ("half a header", vec![0, 0], CauseKind::ProtocolError),
            ("oversized", vec![0xff; 64], CauseKind::ProtocolError),
            ("cut off", asked[..asked.len() - 1].to_vec(), CauseKind::ProtocolError),
            ("no request", frame::encode(&"hello").unwrap(), CauseKind::ProtocolError),
            ("another protocol", frame::encode(&other).unwrap(), CauseKind::ProtocolError),
            ("no cluster", frame::encode(&unnamed).unwrap(), CauseKind::OperationInvalid),
        ];
        for (what, bytes, kind) in table {
            let Answer::Refused(cause) = reply(&program(world, &["serve"], &bytes)).answer else {
                panic!("{what}: not refused")
            };
            assert_eq!(cause.kind, kind, "{what}: {}", cause.detail);
        }
    });
}

#[test]
fn people() {
    with_world("program-people", |world| {
        let facts = program(world, &["facts"], b"");
        assert!(facts.status.success());
        let facts: wire::Facts = serde_json::from_slice(&facts.stdout).unwrap();
        assert_eq!(facts.owner, None);
        assert_eq!(facts.platform.program, Some(digest(Path::new(PROGRAM))));

        let said = |arguments: &[&str]| {
            let output = program(world, arguments, b"");
            let text = [output.stdout, output.stderr].concat();
            (output.status.code(), str::from_utf8(&text).unwrap().to_owned())
        };
        let table: [(&[&str], i32, &str); 10] = [
            (&["--help"], 0, "Usage: seaworthy-host"),
            (&["--version"], 0, "seaworthy-host 0."),
            (&["status"], 1, "no operation yet"),
            (&["status", "e7-s12"], 1, "never heard of e7-s12"),
            (&["status", "../../etc/passwd"], 2, "is not an operation"),
            (&["resume"], 0, "nothing was interrupted"),
            (&["disown"], 2, "--force"),
            (&["disown", "--force"], 0, "nobody managed this host"),
            (&["destroy"], 2, "is not a command"),
            (&["--root"], 2, "needs a directory"),
        ];
        for (arguments, code, words) in table {
            let (status, text) = said(arguments);
            assert_eq!(status, Some(code), "{arguments:?}: {text}");
            assert!(text.contains(words), "{arguments:?}: {text}");
        }
    });
}

fn digest(path: &Path) -> seaworthy_model::digest::Digest {
    seaworthy_model::digest::Digest::of(&fs::read(path).unwrap())
}
