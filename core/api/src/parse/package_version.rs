//! `ClusterPackageVersion`.

use std::sync::Arc;

use seaworthy_model::id::Kind;
use seaworthy_model::meta::Parsed;
use seaworthy_model::package_version::{PackageVersionObject, PackageVersionSpec, Past, Resume, SINGLETON};
use seaworthy_model::pod::DrainPolicy;
use seaworthy_model::quantity::CountOrPercent;

use super::component_setting::component_settings;
use super::faults::{Faults, Field};
use super::metadata::{MetadataError, metadata};
use super::{status, strategy, text};
use crate::names::Names;
use crate::object::{ClusterPackageVersion, Metadata};
use crate::prefix::prefix;
use crate::v1alpha1::{self, IntOrString};

/// Reads the `ClusterPackageVersion`.
///
/// # Errors
/// When the metadata is invalid, or the object is not the one named `default`: a second one must not stand in for it.
/// Faults of the spec are part of the result.
pub fn package_version(
    object: &ClusterPackageVersion,
    names: &mut Names,
) -> Result<PackageVersionObject, MetadataError> {
    let kind = Kind::ClusterPackageVersion;
    let meta = metadata(kind, &object.metadata)?;
    if *object.metadata.name != *SINGLETON {
        let mut faults = Faults::default();
        faults.add(Field::root("metadata").name("name"), "must be default: there is one for the whole fleet");
        return Err(MetadataError::new(kind, &object.metadata, faults));
    }
    let spec = spec(&object.spec, names);
    let status = object.status.as_ref();
    let status = status.map(|status| status::package_version_status(status, names)).unwrap_or_default();
    let resume = resume(&object.metadata, names);
    let (cause, by) = (cause(&object.metadata), by(&object.metadata));
    let confirmed = confirmed(&object.metadata);
    Ok(PackageVersionObject { meta, spec, status, resume, cause, by, confirmed })
}

/// The gate that a person overrides.
pub(super) fn resume(metadata: &Metadata, names: &mut Names) -> Option<Resume> {
    let text = metadata.annotations.get(v1alpha1::RESUME_ANNOTATION)?;
    strategy::resume(text, names)
}

/// Why people made the last change.
pub(super) fn cause(metadata: &Metadata) -> Option<Arc<str>> {
    let text = metadata.annotations.get(v1alpha1::CAUSE_ANNOTATION).filter(|text| !text.is_empty())?;
    Some(prefix(text, Past::CAUSE_MAX).into())
}

/// Who wrote the spec last.
pub(super) fn by(metadata: &Metadata) -> Option<Arc<str>> {
    let name = metadata.spec_manager.as_deref().filter(|name| !name.is_empty())?;
    Some(prefix(name, Past::BY_MAX).into())
}

/// The generation whose changes a person has confirmed. Nonsense confirms none.
pub(super) fn confirmed(metadata: &Metadata) -> Option<u64> {
    metadata.annotations.get(v1alpha1::CONFIRM_ANNOTATION)?.trim().parse().ok()
}

fn spec(spec: &v1alpha1::ClusterPackageVersionSpec, names: &mut Names) -> Parsed<PackageVersionSpec> {
    let mut faults = Faults::default();
    let root = Field::root("spec");
    let components = component_settings(root.name("components"), &spec.components, names, &mut faults);
    let max_unavailable = count_or_percent(root.name("maxUnavailable"), &spec.max_unavailable, &mut faults);
    let max_failures = count_or_percent(root.name("maxFailures"), &spec.max_failures, &mut faults);
    let pause_when_unavailable =
        count_or_percent(root.name("pauseWhenUnavailable"), &spec.pause_when_unavailable, &mut faults);
    let audit_interval = text::duration(&spec.audit_interval).unwrap_or_else(|| {
        faults.add(root.name("auditInterval"), "must be a duration from 1s to 8760h, such as 24h or 1h30m");
        core::time::Duration::ZERO
    });
    let paused = spec.paused;
    let drain = drain(root.name("drain"), spec.drain.as_ref(), &mut faults);
    let strategy = spec.strategy.as_ref();
    let strategy = strategy.map(|read| strategy::strategy(root.name("strategy"), read, &mut faults));
    faults.result(Some(Arc::new(PackageVersionSpec {
        components,
        max_unavailable,
        max_failures,
        audit_interval,
        pause_when_unavailable,
        paused,
        drain,
        strategy,
    })))
}

fn drain(field: Field<'_>, policy: Option<&v1alpha1::DrainPolicy>, faults: &mut Faults) -> DrainPolicy {
    let Some(policy) = policy else { return DrainPolicy::default() };
    DrainPolicy {
        timeout_seconds: faults
            .number(field.name("timeoutSeconds"), policy.timeout_seconds, (0_u32, 604_800))
            .unwrap_or_default(),
        delete_empty_dir_data: policy.delete_empty_dir_data,
        force: policy.force,
        steer: policy.steer,
    }
}

/// More machines than any fleet has.
const COUNT_MAX: u32 = 1_000_000;

/// Reads a limit. The result is not used if there is a fault.
pub(super) fn count_or_percent(field: Field<'_>, value: &IntOrString, faults: &mut Faults) -> CountOrPercent {
    let read = match value {
        IntOrString::Int(count) => {
            u32::try_from(*count).ok().filter(|&count| count <= COUNT_MAX).map(CountOrPercent::Count)
        }
        IntOrString::String(text) => percent(text).map(CountOrPercent::Percent),
    };
    read.unwrap_or_else(|| {
        faults.add(field, "must be a number from 0 to 1000000, or a percentage from \"0%\" to \"100%\"");
        CountOrPercent::default()
    })
}

/// `0%` to `100%`, without a sign or zeros in front.
fn percent(text: &str) -> Option<u8> {
    let digits = text.strip_suffix('%')?;
    let plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|&percent: &u8| plain && percent <= 100)
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn percentages() {
        assert_eq!([percent("0%"), percent("5%"), percent("100%")], [Some(0), Some(5), Some(100)]);
        for bad in ["", "%", "5", "101%", "-1%", "+1%", "05%", "1.5%", "5 %", "5%%", "300%"] {
            assert_eq!(percent(bad), None, "{bad}");
        }
    }
}
