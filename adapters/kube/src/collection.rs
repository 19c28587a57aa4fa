//! Where the API server serves the objects of a source, as paths.

use seaworthy_api::object::Endpoint;
use seaworthy_model::id::Kind;

use crate::source::Source;

/// All objects of a source; of Leases only our own.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) source: Source,
    path: String,
    selector: String,
}

impl Collection {
    pub(crate) fn of(source: Source) -> Self {
        let path = Endpoint::of(source.kind()).collection();
        let selector = match source.signer() {
            Some(signer) => format!("&fieldSelector=spec.signerName%3D{}", signer.name()),
            None if source.kind() == Kind::Lease => LEASE_SELECTOR.to_owned(),
            None => String::new(),
        };
        Self { source, path, selector }
    }

    /// One page of a list. Without a `resourceVersion` the API server answers with the newest state of the store.
    /// `token` is its own `continue`, made of characters that need no escape; empty for the first page.
    pub(crate) fn list(&self, page: u32, token: &str) -> String {
        let mut path = format!("{}?limit={page}{}", self.path, self.selector);
        if !token.is_empty() {
            path.push_str("&continue=");
            path.push_str(token);
        }
        path
    }

    /// Every change after `version`, for at most `seconds`.
    pub(crate) fn watch(&self, version: &str, seconds: u64) -> String {
        format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={seconds}{}",
            self.path, self.selector
        )
    }
}

/// Selects our Lease by its name, as a part of a query.
const LEASE_SELECTOR: &str = "&fieldSelector=metadata.name%3Dseaworthy";

#[cfg(test)]
mod tests {
    use seaworthy_api::v1alpha1;

    use super::*;

    #[test]
    fn paths() {
        let machines = Source::of(Kind::Machine).map(Collection::of).next().unwrap();
        assert_eq!(machines.list(500, ""), "/apis/seaworthy.dev/v1alpha1/machines?limit=500");
        assert_eq!(machines.list(500, "abc"), "/apis/seaworthy.dev/v1alpha1/machines?limit=500&continue=abc");
        assert_eq!(
            Collection::of(Source::LEASE).watch("7", 60),
            "/apis/coordination.k8s.io/v1/namespaces/seaworthy-system/leases?watch=true&allowWatchBookmarks=true\
             &resourceVersion=7&timeoutSeconds=60&fieldSelector=metadata.name%3Dseaworthy"
        );
        let requests =
            Source::of(Kind::CertificateSigningRequest).map(|source| Collection::of(source).list(1, ""));
        assert_eq!(
            requests.collect::<Vec<_>>(),
            [
                "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=1\
                 &fieldSelector=spec.signerName%3Dkubernetes.io/kube-apiserver-client-kubelet",
                "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=1\
                 &fieldSelector=spec.signerName%3Dkubernetes.io/kubelet-serving",
            ]
        );
    }

    #[test]
    fn the_selector_names_our_lease() {
        assert!(LEASE_SELECTOR.ends_with(&format!("%3D{}", v1alpha1::LEASE)));
    }
}
