//! What strangers send to keep an operator busy: each is refused before it has cost memory or time.

use seaworthy_api::base64;
use seaworthy_api::host::frame::{self, REPLY_MAX};
use seaworthy_api::host::wire::{Answer, Component, Facts, Platform, RenderedFile, Reply};
use seaworthy_api::parse::request_content;
use seaworthy_model::certificate::{Certificate, HostIdentity};
use seaworthy_model::component::{Architecture, ReleaseId};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{BootId, Drift};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;
use seaworthy_model::time::Timestamp;

fn facts() -> Facts {
    let certificate = Certificate {
        key: Digest::of(b"key"),
        common_name: "system:node:m1".into(),
        organizations: vec!["system:nodes".into()],
        issuer: Digest::of(b"issuer"),
        not_before: Timestamp::from_millis(0),
        not_after: Timestamp::from_millis(1),
    };
    Facts {
        host: HostId(1),
        boot: BootId(2),
        architecture: Architecture::Amd64,
        cgroup_version: None,
        owner: None,
        epoch: Epoch(1),
        components: Vec::new(),
        operation: None,
        identity: Some(HostIdentity { path: "/x".into(), certificate: Some(certificate), pending: None }),
        platform: Platform::default(),
    }
}

fn component(rendered: usize) -> Component {
    Component {
        name: "webd".into(),
        version_name: "webd-1.0.0".into(),
        release: ReleaseId(Digest::of(b"release")),
        drift: Drift::NONE,
        differs: None,
        rendered: vec![RenderedFile { path: String::new(), sha256: Digest::of(b"") }; rendered],
        running: None,
        restarts: None,
    }
}

/// A list of a reply, how to fill it, and the most entries that it may have.
type List = (&'static str, fn(&mut Facts, usize), usize);

/// A text of some hundred kilobytes can hold lists of a hundred thousand entries, and each takes ten times its text.
#[test]
fn a_list_in_a_reply_has_an_end() {
    fn organize(facts: &mut Facts, count: usize) {
        let certificate = facts.identity.as_mut().unwrap().certificate.as_mut().unwrap();
        certificate.organizations = vec!["".into(); count];
    }
    let lists: [List; 3] = [
        ("organizations", organize, 64),
        ("components", |facts, count| facts.components = vec![component(0); count], 256),
        ("rendered files", |facts, count| facts.components = vec![component(count)], 1025),
    ];
    for (what, fill, most) in lists {
        let read = |count| {
            let mut facts = facts();
            fill(&mut facts, count);
            let frame = frame::encode(&Reply::new(Answer::Done(Box::new(facts)))).unwrap();
            frame::decode::<Reply>(&frame[frame::HEADER..])
        };
        assert!(read(most).is_ok(), "{what}");
        let error = read(most + 1).unwrap_err().to_string();
        assert!(error.contains(&format!("a list of at most {most} entries")), "{what}: {error}");
    }
}

#[test]
fn a_host_with_all_that_it_may_have_can_reply() {
    let mut facts = facts();
    facts.components = vec![component(4); 256];
    let frame = frame::encode(&Reply::new(Answer::Done(Box::new(facts)))).unwrap();
    assert!(frame.len() < REPLY_MAX, "{} bytes", frame.len());
}

/// One of 340,000 names takes 83 ms to decode, and anybody may make as many as he likes.
#[test]
fn a_certificate_request_that_is_too_long_is_not_decoded() {
    let request = base64::encode(&[b'x'; 1 << 20]);
    let error = request_content(&request, |_| panic!("decoded")).unwrap_err();
    assert!(error.contains("more than any node's"), "{error}");
}
