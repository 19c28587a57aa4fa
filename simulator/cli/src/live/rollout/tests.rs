use std::thread;

use clap::Parser;
use serde_json::Value;

use super::super::api_server::ApiServer;
use super::super::{Rollout, RolloutArguments};
use super::*;

/// The arguments of a command about rollouts, as people type them.
#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    rollout: RolloutArguments,
}

/// Defaults whose rollouts are complete or not, as the API server answers.
fn fleet(is_complete: bool) -> (u16, Value) {
    let truth = if is_complete { "True" } else { "False" };
    let told = json!({
        "type": "Complete", "status": truth, "reason": "RollingOut", "message": "words", "observedGeneration": 1,
        "lastTransitionTime": "2026-11-25T08:00:00Z",
    });
    let fleet = json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "ClusterPackageVersion",
        "metadata": { "name": "default", "generation": 1, "resourceVersion": "3" },
        "spec": {},
        "status": { "observedGeneration": 1, "conditions": [told] },
    });
    (200, fleet)
}

/// What a command returns, and how often it asks, while a rollout goes on and then is complete.
fn asked(words: &[&str]) -> (Result<ExitCode, String>, usize) {
    let typed = Typed::try_parse_from([&["rollout"], words].concat()).unwrap();
    let server = ApiServer::new(vec![fleet(false), fleet(true)]);
    let (code, requests) = server.run(async |terminal| typed.rollout.command.run(&terminal).await);
    (code.map_err(|Problem(problem)| problem), requests.len())
}

/// `watch` is `status --watch`.
#[test]
fn a_watch_goes_on_until_rollouts_are_complete() {
    let cases: [(&[&str], usize); 4] =
        [(&["status"], 1), (&["status", "--watch"], 2), (&["watch"], 2), (&["watch", "-o", "json"], 2)];
    // A watch sleeps between two questions.
    thread::scope(|scope| {
        let running = cases.map(|(words, count)| (scope.spawn(|| asked(words)), count));
        for (run, count) in running {
            assert_eq!(run.join().unwrap(), (Ok(ExitCode::SUCCESS), count));
        }
    });
}

/// What is wrong from the beginning, or for long, is told.
#[test]
fn an_outage_of_the_api_server_does_not_end_a_watch() {
    let RolloutArguments { command: Rollout::Watch(watch), .. } =
        Typed::try_parse_from(["rollout", "watch"]).unwrap().rollout
    else {
        panic!("another command")
    };
    let every = Some(Duration::from_millis(1));
    let of = |answers| {
        let shown = async |terminal| show(&terminal, &watch.of, watch.printing, every).await;
        let (code, requests) = ApiServer::new(answers).run(shown);
        (code.map_err(|Problem(problem)| problem), requests.len())
    };
    let away = || (503, json!("away"));
    assert_eq!(of(vec![fleet(false), away(), away(), fleet(true)]), (Ok(ExitCode::SUCCESS), 4));
    let gone = [vec![fleet(false)], vec![away(); PATIENCE + 1], vec![fleet(true)]].concat();
    for (answers, expected) in [(vec![away(), fleet(true)], 1), (gone, PATIENCE + 2)] {
        let (code, count) = of(answers);
        assert!(code.is_err_and(|problem| problem.contains("503")));
        assert_eq!(count, expected);
    }
}
