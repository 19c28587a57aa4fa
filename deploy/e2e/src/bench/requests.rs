//! What the API server was asked, as its own metrics count it.

use std::collections::BTreeMap;

/// The verbs that write.
const WRITES: [&str; 6] = ["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"];

/// How many requests there were, by verb, resource and code: `PUT machines/status 200`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(BTreeMap<String, u64>);

impl Requests {
    /// Reads the page of metrics.
    #[must_use]
    pub fn read(page: &str) -> Self {
        let mut requests = BTreeMap::new();
        for line in page.lines() {
            let Some((labels, count)) =
                line.strip_prefix("apiserver_request_total{").and_then(|rest| rest.rsplit_once("} "))
            else {
                continue;
            };
            let label = |name: &str| {
                let found = labels.split(',').find_map(|label| label.strip_prefix(name)?.strip_prefix("=\""));
                found.and_then(|value| value.strip_suffix('"')).unwrap_or_default()
            };
            let subresource = match label("subresource") {
                "" => String::new(),
                name => format!("/{name}"),
            };
            let key = format!("{} {}{subresource} {}", label("verb"), label("resource"), label("code"));
            let count = count.parse::<f64>().unwrap_or_default();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of requests"
            )]
            let count = count as u64;
            *requests.entry(key).or_default() += count;
        }
        Self(requests)
    }

    /// Those since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let since = |(key, count): (&String, &u64)| {
            let more = count - before.0.get(key).copied().unwrap_or_default().min(*count);
            (more > 0).then(|| (key.clone(), more))
        };
        Self(self.0.iter().filter_map(since).collect())
    }

    /// The writes whose `VERB resource code` satisfies `is_counted`.
    pub fn writes(&self, is_counted: impl Fn(&str) -> bool) -> u64 {
        let is_write = |key: &str| WRITES.iter().any(|verb| key.split(' ').next() == Some(verb));
        self.0.iter().filter(|(key, _)| is_write(key) && is_counted(key)).map(|(_, count)| count).sum()
    }

    /// The requests with this code.
    #[must_use]
    pub fn answered(&self, code: &str) -> u64 {
        self.0.iter().filter(|(key, _)| key.rsplit(' ').next() == Some(code)).map(|(_, count)| count).sum()
    }

    /// Each kind of request, the most frequent first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        all.into_iter().map(|(key, count)| format!("{count:>8} {key}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP apiserver_request_total Counter
apiserver_request_total{code="200",component="apiserver",resource="machines",scope="resource",subresource="status",verb="PUT"} 7
apiserver_request_total{code="200",component="apiserver",resource="leases",scope="resource",subresource="",verb="PATCH"} 2
apiserver_request_total{code="429",component="apiserver",resource="secrets",scope="resource",subresource="",verb="GET"} 1.5e+01
apiserver_request_duration_seconds_count{verb="PUT"} 9
"#;

    #[test]
    fn requests_are_counted_by_verb_resource_and_code() {
        let requests = Requests::read(PAGE);
        assert_eq!(requests.writes(|_| true), 9);
        assert_eq!(requests.writes(|key| !key.contains(" leases ")), 7);
        assert_eq!(requests.answered("429"), 15);
        assert_eq!(requests.lines()[0].trim(), "15 GET secrets 429");
        assert_eq!(requests.since(&requests), Requests::default());
        assert_eq!(requests.since(&Requests::default()), requests);
    }
}
