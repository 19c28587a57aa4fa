//! The operator does not approve invalid certificate requests, and an Event says why. With a real API server.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use seaworthy_e2e::{Fleet, Nodes, Purpose, World, scenario_for};
use serde_json::{Value, json};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";

/// The reason with which the operator approves.
const APPROVED: &str = "SeaworthyApproved";

/// A client that holds one of these may ask for the certificate of any node, as a leaked bootstrap token may.
const STRANGER: &str = "stranger";

/// The creator of a request.
#[derive(Clone, Copy)]
enum By {
    /// A member of `system:masters`, who may do everything.
    Administrator,
    /// Somebody who may ask for certificates of nodes, and is none.
    Stranger,
    /// The node `host-1`.
    Node,
}

/// The kubeconfig files of those who are not the administrator.
struct Keys {
    stranger: PathBuf,
    node: PathBuf,
}

/// A request that must not be approved.
struct Foreign {
    name: &'static str,
    by: By,
    signer: &'static str,
    purpose: &'static str,
    /// The text of the request.
    request: String,
    /// What the Event says; none where the signer is not the nodes'.
    reason: Option<&'static str>,
}

#[test]
fn requests_that_are_not_a_nodes_own_are_not_approved_and_an_event_says_why() -> Result<()> {
    scenario_for(Purpose::Nodes, 2, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.scene("two nodes", |fleet| Nodes::join(fleet, &[], "24h"))?;
        let keys = keys(world)?;
        fleet.scene("foreign requests", |fleet| {
            let foreign = foreign(world)?;
            for request in &foreign {
                create(world, &keys, request)?;
            }
            // It shows that the operator looks at requests of these signers, and approves what it should.
            let own = request("host-1", &["system:nodes"], None)?;
            create(
                world,
                &keys,
                &Foreign {
                    name: "renewal",
                    by: By::Node,
                    signer: CLIENT,
                    purpose: "client auth",
                    request: own,
                    reason: None,
                },
            )?;
            fleet.await_condition(("csr", "renewal"), ["Approved", "True", APPROVED])?;
            foreign.iter().try_for_each(|request| stays_unapproved(fleet, request))
        })?;
        fleet.scene("a request that kube-controller-manager approves by itself", |fleet| {
            automatically_approved(fleet, &keys)
        })?;
        fleet.scene("an approved request is replayed under its own name", |fleet| replay(fleet, &keys))?;
        fleet.stop_operator()
    })
}

/// Lets the stranger ask, and gives everybody a certificate.
fn keys(world: &World) -> Result<Keys> {
    let control_plane = world.control_plane();
    let role = "--clusterrole=system:node-bootstrapper";
    world.kubectl(["create", "clusterrolebinding", STRANGER, role, &format!("--user={STRANGER}")])?;
    Ok(Keys {
        stranger: control_plane.kubeconfig_for(STRANGER, &[])?,
        node: control_plane.kubeconfig_for("system:node:host-1", &["system:nodes"])?,
    })
}

/// What an administrator asks for, kube-controller-manager approves by itself: he may do everything. That is told.
fn automatically_approved(fleet: &Fleet<'_>, keys: &Keys) -> Result<()> {
    let request = Foreign {
        name: "of-an-administrator",
        by: By::Administrator,
        signer: CLIENT,
        purpose: "client auth",
        request: request("host-9", &["system:nodes"], None)?,
        reason: None,
    };
    create(fleet.world(), keys, &request)?;
    let note = event(fleet, request.name, "ApprovedAutomatically")?;
    fleet.note(&format!("{}: {note}", request.name))
}

/// The requests, each wrong in one way.
fn foreign(world: &World) -> Result<Vec<Foreign>> {
    let elsewhere = world.host("host-2")?.endpoint().address().into();
    let here = world.host("host-1")?.endpoint().address().into();
    let nodes = &["system:nodes"][..];
    let approved = pem(&first_of_operator(world)?, world)?;
    let client = |name, by, request, reason| Foreign {
        name,
        by,
        signer: CLIENT,
        purpose: "client auth",
        request,
        reason: Some(reason),
    };
    let serving = |name, by, request, reason| Foreign {
        signer: SERVING,
        purpose: "server auth",
        ..client(name, by, request, reason)
    };
    Ok(vec![
        client("no-such-node", By::Stranger, request("host-9", nodes, None)?, "NoSuchMachine"),
        client("not-the-node", By::Stranger, request("host-1", nodes, None)?, "ForeignRequester"),
        // In the name of a node the API server itself lets nobody ask for another one.
        serving("wrong-node", By::Stranger, request("host-2", nodes, Some(elsewhere))?, "ForeignRequester"),
        client(
            "extra-group",
            By::Node,
            request("host-1", &["system:nodes", "system:masters"], None)?,
            "SubjectNotAllowed",
        ),
        client("replay", By::Stranger, approved.clone(), "ForeignRequester"),
        serving("wrong-signer", By::Stranger, approved, "ForeignRequester"),
        serving("wrong-address", By::Node, request("host-1", nodes, Some(elsewhere))?, "AddressesNotAllowed"),
        Foreign {
            purpose: "client auth",
            ..serving("wrong-usages", By::Node, request("host-1", nodes, Some(here))?, "UsagesNotAllowed")
        },
        Foreign {
            signer: "kubernetes.io/kube-apiserver-client",
            reason: None,
            ..client("signer-of-others", By::Node, request("host-1", nodes, None)?, "")
        },
    ])
}

/// A request for the certificate of a node, signed with a new key.
fn request(node: &str, groups: &[&str], address: Option<IpAddr>) -> Result<String> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    for group in groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    params.distinguished_name.push(DnType::CommonName, format!("system:node:{node}"));
    params.subject_alt_names.extend(address.map(SanType::IpAddress));
    Ok(params.serialize_request(&KeyPair::generate()?)?.pem()?)
}

/// Creates a request as its creator.
fn create(world: &World, keys: &Keys, foreign: &Foreign) -> Result<()> {
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": foreign.name},
        "spec": {
            "request": base64(foreign.request.as_bytes()),
            "signerName": foreign.signer,
            "usages": ["digital signature", foreign.purpose],
        },
    });
    post(world, keys, foreign.by, &object)
}

fn post(world: &World, keys: &Keys, by: By, object: &Value) -> Result<()> {
    let identity = match by {
        By::Administrator => None,
        By::Stranger => Some(&keys.stranger),
        By::Node => Some(&keys.node),
    };
    let identity = identity.map(|path| path.to_str().context("path")).transpose()?;
    let identity = identity.map(|path| ["--kubeconfig", path]);
    let arguments = ["create", "-f", "-"].into_iter().chain(identity.into_iter().flatten());
    let output = world.control_plane().kubectl_output(arguments, &object.to_string())?;
    ensure!(output.status.success(), "{}: {}", object["metadata"], String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Waits for the Event, and checks that nobody has decided anything.
fn stays_unapproved(fleet: &Fleet<'_>, foreign: &Foreign) -> Result<()> {
    if let Some(reason) = foreign.reason {
        let note = event(fleet, foreign.name, reason)?;
        fleet.note(&format!("{}: {reason}: {note}", foreign.name))?;
    }
    let request = fleet.get("csr", foreign.name)?;
    ensure!(request["status"] == json!({}), "{}: {}", foreign.name, request["status"]);
    Ok(())
}

/// Waits for an Event with this reason about a request, and returns what it says.
fn event(fleet: &Fleet<'_>, name: &str, reason: &str) -> Result<String> {
    let uid = fleet.get("csr", name)?["metadata"]["uid"].clone();
    fleet.eventually(&format!("an Event about {name}"), || {
        let path = "/apis/events.k8s.io/v1/events";
        let list: Value = serde_json::from_str(&fleet.world().kubectl(["get", "--raw", path])?)?;
        let events = list["items"].as_array().context("no list")?;
        let about = events.iter().filter(|event| event["regarding"]["uid"] == uid).collect::<Vec<_>>();
        let found = about.iter().find(|event| event["reason"] == reason);
        let found = found.with_context(|| format!("not {reason}, but {about:?}"))?;
        Ok(found["note"].as_str().unwrap_or_default().to_owned())
    })
}

/// Somebody deletes the request with which `host-1` got its certificate, and makes the same one again.
fn replay(fleet: &Fleet<'_>, keys: &Keys) -> Result<()> {
    let world = fleet.world();
    let name = first_of_operator(world)?;
    let before = fleet.get("csr", &name)?;
    ensure!(!before["status"]["certificate"].is_null(), "{}", before["status"]);
    world.kubectl(["delete", "csr", &name])?;
    let mut spec = before["spec"].clone();
    for field in ["username", "uid", "groups", "extra"] {
        spec.as_object_mut().context("no spec")?.remove(field);
    }
    let again = json!({
        "apiVersion": before["apiVersion"],
        "kind": before["kind"],
        "metadata": {"name": name},
        "spec": spec,
    });
    post(world, keys, By::Stranger, &again)?;
    let note = event(fleet, &name, "KeyNotReported")?;
    fleet.note(&format!("{name} again: {note}"))?;
    let after = fleet.get("csr", &name)?;
    ensure!(after["status"] == json!({}), "{}", after["status"]);
    Ok(())
}

/// The name of the request that the operator made for `host-1`.
fn first_of_operator(world: &World) -> Result<String> {
    let list: Value = serde_json::from_str(&world.kubectl(["get", "csr", "-o", "json"])?)?;
    let name = |request: &Value| request["metadata"]["name"].as_str().map(str::to_owned);
    let requests = list["items"].as_array().context("no list")?;
    let of_operator = requests.iter().filter(|request| {
        request["spec"]["username"].as_str().is_some_and(|user| user.contains("seaworthy-operator"))
    });
    of_operator
        .filter_map(name)
        .find(|name| name.contains("host-1"))
        .with_context(|| format!("the operator has made no request for host-1: {list}"))
}

/// The text of a request that exists.
fn pem(name: &str, world: &World) -> Result<String> {
    world.kubectl(["get", "csr", name, "-o", "go-template={{.spec.request | base64decode}}"])
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        let bits =
            piece.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - piece.len()));
        for place in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * place) & 63];
            text.push(if place <= piece.len() { char::from(digit) } else { '=' });
        }
    }
    text
}
