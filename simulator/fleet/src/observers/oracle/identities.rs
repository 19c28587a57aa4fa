//! Judges which hosts become nodes. The truth is which host made which key, and for which node. Every approval of the
//! operator must match it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use seaworthy_api::base64;
use seaworthy_api::object::CertificateSigningRequest;
use seaworthy_kernel::Timestamp;
use seaworthy_model::certificate::{NODE_PREFIX, NODES_GROUP, RequestContent, Signer};
use seaworthy_model::id::Uid;

use crate::vocabulary::address;
use crate::world::api_server::Written;
use crate::world::host::KeyNumber;
use crate::world::pki;

/// So many requests of one node may be approved within an hour under one leader. The operator approves ten in each hour
/// that begins with an approval, so that two such hours may meet, and a late write of the leader before may be added.
const APPROVALS_MAX: usize = 25;
/// As many more for each leap of an operator's clock within that hour: for the operator, another hour has begun.
const APPROVALS_PER_LEAP: usize = 10;
const HOUR: Duration = Duration::from_secs(3600);

/// The known keys and approvals.
#[derive(Clone, Debug, Default)]
pub(super) struct Identities {
    /// The host that made each key, and the node that it is for.
    keys: BTreeMap<KeyNumber, (u32, String)>,
    /// The requests that were approved.
    approved: BTreeSet<Uid>,
    /// By node: the number of epochs so far, and when its own requests were approved since the last one began.
    recent: BTreeMap<String, (usize, VecDeque<Timestamp>)>,
    /// When the clock of an operator was set.
    leaps: Vec<Timestamp>,
}

impl Identities {
    /// A key was made on a host, for this node.
    pub(super) fn key_made(&mut self, key: KeyNumber, host: u32, node: &str) {
        self.keys.entry(key).or_insert_with(|| (host, node.to_owned()));
    }

    /// The clock of an operator is set.
    pub(super) fn clock_set(&mut self, now: Timestamp) {
        self.leaps.push(now);
    }

    /// So many requests of a node may be approved in the hour that ends now.
    fn most(&self, now: Timestamp) -> usize {
        let leaps = self.leaps.iter().filter(|at| **at + HOUR >= now).count();
        APPROVALS_MAX + leaps * APPROVALS_PER_LEAP
    }

    /// A certificate request was written, after so many epochs. Returns the breach, if any.
    pub(super) fn written(&mut self, written: &Written, epochs: usize, now: Timestamp) -> Option<String> {
        let request = written.object.certificate_request().filter(|request| is_approved(request))?;
        let before = written.before.as_ref().and_then(|before| before.certificate_request());
        if !written.committed || written.removed || before.is_some_and(is_approved) {
            return None;
        }
        let name = &request.metadata.name;
        if !self.approved.insert(written.object.uid()) {
            return Some(format!("{name} was approved twice"));
        }
        if let Err(fault) = self.judge(request) {
            return Some(format!("{name} was approved although {fault}"));
        }
        let node = request.spec.username.strip_prefix(NODE_PREFIX)?;
        let count = self.count(node, epochs, now);
        (count > self.most(now))
            .then(|| format!("{count} requests of node {node} were approved within an hour"))
    }

    /// Counts one more approval of a request of a node: the approvals of the last hour under this leader.
    fn count(&mut self, node: &str, epochs: usize, now: Timestamp) -> usize {
        let (seen, times) = self.recent.entry(node.to_owned()).or_default();
        if *seen != epochs {
            (*seen, *times) = (epochs, VecDeque::new());
        }
        times.push_back(now);
        while times.front().is_some_and(|at| *at + HOUR < now) {
            times.pop_front();
        }
        times.len()
    }

    fn judge(&self, request: &CertificateSigningRequest) -> Result<(), String> {
        let spec = &request.spec;
        let pem = base64::decode(&spec.request).and_then(|pem| String::from_utf8(pem).ok());
        let content = pki::read_request(&pem.unwrap_or_default())?;
        let node = content.common_name.strip_prefix(NODE_PREFIX).ok_or("it is for no node")?;
        if content.other_names > 0 || !matches!(&content.organizations[..], [one] if **one == *NODES_GROUP) {
            return Err(format!("it makes a member of {:?}", content.organizations));
        }
        let made = KeyNumber::of(content.key).and_then(|key| self.keys.get(&key));
        let Some((host, _)) = made.filter(|(_, made_for)| *made_for == *node) else {
            return Err(format!("its key was not made for {node}"));
        };
        let is_by_node = spec.username.strip_prefix(NODE_PREFIX) == Some(node);
        if !is_by_node && spec.username != crate::world::OPERATOR {
            return Err(format!("{} asks for {node}", spec.username));
        }
        if addresses_belong(&content, &spec.signer_name, node, *host) {
            Ok(())
        } else {
            Err(format!("it has {:?} and {:?}", content.dns_names, content.ip_addresses))
        }
    }
}

fn addresses_belong(content: &RequestContent, signer: &str, node: &str, host: u32) -> bool {
    let own = address(host);
    let some = !content.dns_names.is_empty() || !content.ip_addresses.is_empty();
    some == (signer == Signer::KubeletServing.name())
        && content.other_addresses == 0
        && content.dns_names.iter().all(|name| **name == *node)
        && content.ip_addresses.iter().all(|ip| **ip == *own)
}

fn is_approved(request: &CertificateSigningRequest) -> bool {
    let conditions = request.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|condition| condition.r#type == "Approved")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approvals_are_counted_by_node_and_hour_and_leader() {
        let mut known = Identities::default();
        let at = |minutes: u64| Timestamp::from_millis(minutes * 60_000);
        for count in 1..=APPROVALS_MAX {
            assert_eq!(known.count("m-1", 1, at(1)), count);
        }
        assert_eq!(known.count("m-1", 1, at(2)), APPROVALS_MAX + 1);
        assert_eq!(known.clone().count("m-2", 1, at(2)), 1, "another node");
        assert_eq!(known.clone().count("m-1", 2, at(2)), 1, "another leader, which remembers none");
        assert_eq!(known.count("m-1", 1, at(62)), 2, "an hour later");
    }

    /// The operator takes the leap for the end of its hour.
    #[test]
    fn a_clock_that_leaps_begins_another_hour() {
        let mut known = Identities::default();
        let at = |minutes: u64| Timestamp::from_millis(minutes * 60_000);
        assert_eq!(known.most(at(1)), APPROVALS_MAX);
        known.clock_set(at(2));
        assert_eq!(known.most(at(62)), APPROVALS_MAX + APPROVALS_PER_LEAP);
        assert_eq!(known.most(at(63)), APPROVALS_MAX, "more than an hour later");
    }
}
