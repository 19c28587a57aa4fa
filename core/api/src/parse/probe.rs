//! The probe of a `MachineComponent`.

use seaworthy_model::component::{Probe, ProbeCheck};

use super::faults::{Faults, Field};
use super::text;
use crate::v1alpha1;

/// Reads a probe; `None` with at least one fault.
pub(super) fn probe(field: Field<'_>, probe: &v1alpha1::Probe, faults: &mut Faults) -> Option<Probe> {
    let check = check(field, probe, faults);
    let period = faults.number(field.name("periodSeconds"), probe.period_seconds, (1_u32, 3600));
    let timeout = faults.number(field.name("timeoutSeconds"), probe.timeout_seconds, (1_u32, 3600));
    let successes = faults.number(field.name("successThreshold"), probe.success_threshold, (1_u32, 100));
    let deadline = faults.number(field.name("deadlineSeconds"), probe.deadline_seconds, (1_u32, 3600));
    let (period, successes, deadline) = (period?, successes?, deadline?);
    let message = "deadlineSeconds is too short for successThreshold tries, one each periodSeconds";
    faults.require(field.name("deadlineSeconds"), (successes - 1) * period < deadline, message);
    Some(Probe {
        check: check?,
        period_seconds: period,
        timeout_seconds: timeout?,
        success_threshold: successes,
        deadline_seconds: deadline,
    })
}

fn check(field: Field<'_>, probe: &v1alpha1::Probe, faults: &mut Faults) -> Option<ProbeCheck> {
    match (&probe.http, &probe.tcp, &probe.exec) {
        (Some(http), None, None) => {
            let field = field.name("http");
            let port = faults.number(field.name("port"), http.port, (1_u16, u16::MAX));
            let graphic = http.path.bytes().all(|byte| byte.is_ascii_graphic());
            let is_path = http.path.starts_with('/') && graphic && http.path.len() <= 1024;
            let message = "must start with '/' and consist of at most 1024 visible ASCII characters";
            faults.require(field.name("path"), is_path, message);
            Some(ProbeCheck::Http { port: port?, path: http.path.clone() })
        }
        (None, Some(tcp), None) => {
            let field = field.name("tcp");
            Some(ProbeCheck::Tcp { port: faults.number(field.name("port"), tcp.port, (1_u16, u16::MAX))? })
        }
        (None, None, Some(exec)) => {
            let field = field.name("exec");
            command(field.name("command"), &exec.command, faults);
            Some(ProbeCheck::Exec { command: exec.command.clone() })
        }
        _ => {
            faults.add(field, "exactly one of http, tcp and exec must be set");
            None
        }
    }
}

pub(super) fn command(field: Field<'_>, command: &[String], faults: &mut Faults) {
    faults.at_most(field, command.len(), 32);
    match command.first() {
        None => faults.add(field, "must have at least one entry"),
        Some(program) => {
            let is_program = text::is_absolute_path(program) || text::is_relative_path(program);
            let message = "must be an absolute path, or a relative one in the release, without '..'";
            faults.require(field.index(0), is_program, message);
        }
    }
    for (index, argument) in command.iter().enumerate() {
        let usable = argument.len() <= 1024 && !argument.contains('\0');
        faults.require(field.index(index), usable, "must have at most 1024 bytes, none of them 0");
    }
}
