//! The status of a `DisruptionPolicy`, and what people are told when it changes.

use seaworthy_model::machine::Truth;
use seaworthy_model::meta::SpecError;
use seaworthy_model::policy::{
    PolicyCondition, PolicyConditionKind, PolicyDetail, PolicyReason, PolicyStatus,
};

use super::kstatus::State;
use super::news::News;
use super::{policy_words, words};
use crate::rfc3339;
use crate::v1alpha1;

/// The status of a `DisruptionPolicy` as an API object.
#[must_use]
pub fn policy_status(status: &PolicyStatus) -> v1alpha1::DisruptionPolicyStatus {
    let ready = status.conditions.iter().find(|told| told.kind == PolicyConditionKind::Ready);
    let stalled = ready.filter(|ready| ready.reason == PolicyReason::InvalidSpec);
    let stalled = stalled.and_then(|ready| State::Stalled.condition(&condition(ready)));
    v1alpha1::DisruptionPolicyStatus {
        observed_generation: i64::try_from(status.observed_generation).unwrap_or(i64::MAX),
        conditions: status.conditions.iter().map(condition).chain(stalled).collect(),
    }
}

fn condition(condition: &PolicyCondition) -> v1alpha1::Condition {
    let detail = condition.detail.as_ref().map(detail).unwrap_or_default();
    v1alpha1::Condition {
        r#type: policy_words::kind(condition.kind).into(),
        status: words::truth(condition.truth).into(),
        reason: policy_words::reason(condition.reason).into(),
        message: words::message(policy_words::explanation(condition.reason), &detail),
        last_transition_time: condition.since.whole_seconds().into(),
        observed_generation: i64::try_from(condition.observed_generation).unwrap_or(i64::MAX),
    }
}

fn detail(detail: &PolicyDetail) -> String {
    let fault = |SpecError { field, message }: &SpecError| format!("{field}: {message}");
    match detail {
        PolicyDetail::Faults(faults) => faults.iter().map(fault).collect::<Vec<_>>().join("; "),
        PolicyDetail::Until(until) => format!("until {}", rfc3339::format(*until)),
        PolicyDetail::Frozen(until, why) if why.is_empty() => format!("until {}", rfc3339::format(*until)),
        PolicyDetail::Frozen(until, why) => format!("until {}, for: {why}", rfc3339::format(*until)),
    }
}

/// What a new status of a policy says that the old one did not.
#[must_use]
pub fn policy_news(before: &PolicyStatus, after: &PolicyStatus) -> Vec<News> {
    let find = |status: &PolicyStatus, kind: PolicyConditionKind| {
        status.conditions.iter().find(|told| told.kind == kind).cloned()
    };
    let of = |kind| {
        let (before, after) = (find(before, kind), find(after, kind)?);
        let is_new = before.as_ref().map(|before| before.reason) != Some(after.reason);
        // A policy that is new, and lets machines be disrupted, is no news.
        let is_told = is_new && (before.is_some() || after.truth == Truth::False);
        is_told.then_some(after)
    };
    let kinds = PolicyConditionKind::ALL.into_iter().filter_map(of);
    // An invalid spec is told once, although both conditions say it.
    let kinds = kinds.filter(|told| {
        !(told.kind == PolicyConditionKind::Permitting && told.reason == PolicyReason::InvalidSpec)
    });
    kinds
        .map(|told| {
            let is_warning = matches!(told.reason, PolicyReason::InvalidSpec | PolicyReason::PolicyPaused);
            News::new(is_warning, policy_words::reason(told.reason), condition(&told).message)
        })
        .collect()
}
