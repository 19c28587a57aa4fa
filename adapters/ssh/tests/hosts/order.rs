//! Whole orders, in the words of the host's protocol.

use std::sync::atomic::Ordering::SeqCst;

use seaworthy_api::host::frame::{self, HEADER};
use seaworthy_api::host::wire::{Answer, Command, Fence, PROTOCOL, Reply, Request};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::event::Outcome;
use seaworthy_model::host::OperationId;
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_ssh::Replied;

use crate::fake_host::{Wire, fresh_key, pin};
use crate::setting::{PROGRAM, Setting, address, later};
use crate::shell::{Behaviour, Shell};

fn request(command: Command) -> Request {
    let fence = Fence {
        cluster: "c1".into(),
        machine: Uid(1),
        machine_name: "m1".into(),
        epoch: Epoch(2),
        sequence: 3,
    };
    Request { protocol: PROTOCOL, fence, command }
}

async fn order(behaviour: Behaviour, command: Command) -> Result<Replied, Outcome> {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(Shell::behaving(PROGRAM, behaviour)));
    setting.hosts().execute(&setting.connection(1), &request(command), later()).await
}

#[tokio::test(start_paused = true)]
async fn the_program_reads_the_request_and_its_reply_comes_back() {
    let setting = Setting::new();
    let pending = frame::encode(&Reply::new(Answer::Pending)).unwrap()[HEADER..].to_vec();
    let host = setting.net.put(&address(1), setting.host(Shell::replying(PROGRAM, &pending)));
    let sent = request(Command::Disown);
    let replied = setting.hosts().execute(&setting.connection(1), &sent, later()).await.unwrap();
    assert_eq!(replied, Replied { reply: Reply::new(Answer::Pending), host_key: pin(&setting.host_key) });
    let received = host.received.lock().unwrap().clone();
    assert_eq!(received, frame::encode(&sent).unwrap(), "one frame and nothing else");
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_leaves_every_order_open() {
    for command in [Command::Facts, Command::Disown] {
        assert_eq!(order(Behaviour::BreakWire(Wire::Cut), command).await, Err(Outcome::Unknown));
    }
}

#[tokio::test(start_paused = true)]
async fn nonsense_answers_a_question_but_leaves_a_change_open() {
    let nonsense = || Behaviour::Reply(b"{}".to_vec());
    let Err(Outcome::Retryable(cause)) = order(nonsense(), Command::Facts).await else {
        panic!("not retryable")
    };
    assert_eq!(cause.kind, CauseKind::ProtocolError);
    assert_eq!(order(nonsense(), Command::Disown).await, Err(Outcome::Unknown));
}

#[tokio::test(start_paused = true)]
async fn an_order_that_cannot_arrive_is_retryable() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(Shell::replying(PROGRAM, b"{}")));
    let mut connection = setting.connection(1);
    connection.host_keys = [pin(&fresh_key(russh::keys::Algorithm::Ed25519)).into()].into();
    let end = setting.hosts().execute(&connection, &request(Command::Disown), later()).await;
    let Err(Outcome::Retryable(cause)) = end else { panic!("not retryable: {end:?}") };
    assert_eq!(cause.kind, CauseKind::HostKeyMismatch);
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_never_comes_over_a_session_that_was_there_before() {
    let setting = Setting::new();
    let pending = frame::encode(&Reply::new(Answer::Pending)).unwrap()[HEADER..].to_vec();
    let host = setting.net.put(&address(1), setting.host(Shell::replying(PROGRAM, &pending)));
    let hosts = setting.hosts();
    let connection = setting.connection(1);
    let id = OperationId { epoch: Epoch(2), sequence: 1 };
    for (command, connections) in [
        (Command::Facts, 1),
        (Command::Status(id), 1),
        (Command::Confirm(id), 2),
        (Command::Confirm(id), 3),
        (Command::Status(id), 3),
    ] {
        hosts.execute(&connection, &request(command.clone()), later()).await.unwrap();
        assert_eq!(host.connections.load(SeqCst), connections, "{command:?}");
    }
    assert_eq!(hosts.idle(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_only_lets_old_sessions_through_is_not_confirmed() {
    let setting = Setting::new();
    let pending = frame::encode(&Reply::new(Answer::Pending)).unwrap()[HEADER..].to_vec();
    setting.net.put(&address(1), setting.host(Shell::replying(PROGRAM, &pending)));
    let hosts = setting.hosts();
    let connection = setting.connection(1);
    hosts.execute(&connection, &request(Command::Facts), later()).await.unwrap();
    setting.net.take(&address(1));
    let id = OperationId { epoch: Epoch(2), sequence: 1 };
    hosts.execute(&connection, &request(Command::Status(id)), later()).await.unwrap();
    let end = hosts.execute(&connection, &request(Command::Confirm(id)), later()).await;
    let Err(Outcome::Retryable(cause)) = end else { panic!("not retryable: {end:?}") };
    assert_eq!(cause.kind, CauseKind::ConnectionFailed);
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_is_brought_to_the_pinned_host_alone() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(Shell::replying(PROGRAM, b"{}")));
    let mut connection = setting.connection(1);
    connection.host_keys = [pin(&fresh_key(russh::keys::Algorithm::Ed25519)).into()].into();
    let id = OperationId { epoch: Epoch(2), sequence: 1 };
    let end = setting.hosts().execute(&connection, &request(Command::Confirm(id)), later()).await;
    let Err(Outcome::Retryable(cause)) = end else { panic!("not retryable: {end:?}") };
    assert_eq!(cause.kind, CauseKind::HostKeyMismatch);
}
