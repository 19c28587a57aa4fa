//! Manifests, requests and their parsers, as one program: linking many takes longer than running all of them.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod argocd;
mod attacks;
mod courses;
mod definitions;
mod details;
mod examples;
mod fleet_details;
mod refusals;
mod requests;
mod round_trip;
mod runbook;
mod strategies;
