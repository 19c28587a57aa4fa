//! What this process uses, under the names that Prometheus' own libraries give it.

use std::fmt::Error;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// Reads the usage of this process when it is asked for. Where there is no `/proc`, nothing is told.
#[derive(Debug)]
pub(crate) struct Usage;

impl Collector for Usage {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let Some(read) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(Stat::parse) else {
            return Ok(());
        };
        let ticks = clock_ticks_per_second() as f64;
        let mut gauge = |name, help, value: f64| {
            let metric = ConstGauge::new(value);
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        let page = page_size() as f64;
        gauge("process_resident_memory_bytes", "Memory that is resident", read.resident_pages as f64 * page)?;
        gauge("process_virtual_memory_bytes", "Memory that is mapped", read.virtual_bytes as f64)?;
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            gauge("process_open_fds", "File descriptors that are open", open.count() as f64)?;
        }
        if let Some(most) = getrlimit(Resource::Nofile).current {
            gauge("process_max_fds", "File descriptors that may be open", most as f64)?;
        }
        if let Some(booted) = boot_time() {
            let started = booted + read.started_ticks as f64 / ticks;
            gauge("process_start_time_seconds", "When the process began, in seconds since 1970", started)?;
        }
        let cpu = ConstCounter::new(read.cpu_ticks as f64 / ticks);
        let help = "Processor time, of users and of the kernel";
        cpu.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, cpu.metric_type())?)
    }
}

/// What `/proc/self/stat` tells; its fields are described in proc(5).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    started_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    /// The fields after the name of the program, which may hold anything but ends with the last parenthesis.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // The first one after the name is the third of the line.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)?.saturating_add(field(15)?),
            started_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the system booted, in seconds since 1970.
fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let rest = "S 1 1 1 0 -1 0 0 0 0 0 70 30 0 0 20 0 9 0 500 4096000 250 18446744073709551615";
        let stat = Stat::parse(&format!("7 (a) b (c) {rest}")).unwrap();
        let expected =
            Stat { cpu_ticks: 100, started_ticks: 500, virtual_bytes: 4_096_000, resident_pages: 250 };
        assert_eq!(stat, expected);
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }

    #[test]
    fn this_process_uses_something() {
        let stat = Stat::parse(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        assert!(stat.resident_pages > 0 && boot_time().is_some_and(|at| at > 1e9), "{stat:?}");
    }
}
