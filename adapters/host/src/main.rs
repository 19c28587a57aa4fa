//! `seaworthy-host`: works on the host that it runs on.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use seaworthy_api::host::frame::{self, HEADER};
use seaworthy_api::host::wire::{Answer, Reply, Request};
use seaworthy_host::{Host, Layout, ROOT, Site, Steps, Systemd, template};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::OperationId;
use serde::Serialize;

/// How long a caller may take to send its request of at most 16 MiB. The operator sends it at once; whoever says nothing must
/// not hold a session for ever.
const REQUEST_WITHIN: Duration = Duration::from_secs(120);

const HELP: &str = "\
seaworthy-host works on the host that it runs on. It needs root.

Usage: seaworthy-host [--root DIR] [--prefix DIR] COMMAND

For people:
  facts               print what is here, who manages it, and the latest operation
  status [OPERATION]  print the journal of an operation, by default the latest; e7-s12 is epoch 7, number 12
  apply FILE          carry out a request written as JSON (`-`: standard input) and print the reply
  resume              finish or undo the operation that was interrupted, if there is one
  repair              put right what is damaged of this program's own files, and say what it was
  disown --force      forget who manages this host; what is installed stays as it is
  forget-fences --force
                      forget how high the epochs of operators were; the next order counts, whoever gives it

For the operator:
  serve               read one request frame from standard input, carry it out, write one reply frame

For itself:
  execute OPERATION   execute an accepted operation; runs as a transient unit
  render              render templates from standard input, with little memory and time

Options:
  --root DIR    where releases and state are kept [default: /opt/seaworthy]
  --prefix DIR  where the host's other paths are looked up [default: /]
  --version     print the version

Exit status: 0 when it was done, 1 when it was refused or failed, 2 when the command line is wrong.
";

fn main() -> ExitCode {
    match run(env::args_os().skip(1).collect()) {
        Ok(code) => code,
        Err(Failure::Usage(message)) => {
            eprintln!("seaworthy-host: {message}; see --help");
            ExitCode::from(2)
        }
        Err(Failure::Work(message)) => {
            eprintln!("seaworthy-host: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Journals go to standard error as well: from a transient unit they reach the system's own journal that way.
struct Log;

impl Steps for Log {
    fn reached(&self, _step: &str) {}

    fn recorded(&self, line: &str) {
        eprintln!("{line}");
    }
}

/// Why the program ends early.
enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// What was asked for did not work.
    Work(String),
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self::Work(format!("{}: {}", cause.kind.name(), cause.detail))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Work(error.to_string())
    }
}

impl From<frame::FrameError> for Failure {
    fn from(error: frame::FrameError) -> Self {
        Self::Work(error.to_string())
    }
}

/// The command line, apart.
struct Invocation {
    layout: Layout,
    words: Vec<String>,
}

impl Invocation {
    fn parse(arguments: Vec<OsString>) -> Result<Self, Failure> {
        let (mut root, mut prefix) = (PathBuf::from(ROOT), PathBuf::from("/"));
        let mut words = Vec::new();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let place = match argument.to_str() {
                Some("--root") => &mut root,
                Some("--prefix") => &mut prefix,
                Some(word) => {
                    words.push(word.to_owned());
                    continue;
                }
                None => return Err(Failure::Usage(format!("{} is not UTF-8", argument.display()))),
            };
            let Some(path) = arguments.next().map(PathBuf::from) else {
                return Err(Failure::Usage(format!("{} needs a directory", argument.display())));
            };
            if !path.is_absolute() {
                return Err(Failure::Usage(format!("{} is not an absolute path", path.display())));
            }
            *place = path;
        }
        Ok(Self { layout: Layout::new(root, prefix), words })
    }
}

fn run(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let Invocation { layout, words } = Invocation::parse(arguments)?;
    let program = env::current_exe()?;
    let system = Systemd::new(program.clone());
    let host = Host::new(Site { layout, system: &system, steps: &Log, program: &program });
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["help" | "--help" | "-h"] => print(HELP.as_bytes()),
        ["--version"] => print(concat!("seaworthy-host ", env!("CARGO_PKG_VERSION"), "\n").as_bytes()),
        ["facts"] => print_json(&host.facts()?),
        ["status"] => status(&host, None),
        ["status", operation] => status(&host, Some(operation_id(operation)?)),
        ["apply", file] => apply(&host, file),
        ["serve"] => serve(&host),
        ["execute", operation] => {
            host.execute(operation_id(operation)?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["resume"] => resume(&host),
        ["disown", "--force"] => disown(&host),
        ["disown"] => Err(Failure::Usage(
            "disown makes the host forget its owner, who may still be at work; if you are sure, say --force"
                .into(),
        )),
        ["repair"] => repair(&host),
        ["forget-fences", "--force"] => forget_fences(&host),
        ["forget-fences"] => Err(Failure::Usage(
            "forget-fences lets late orders of older operators in; if you are sure that there are none, say --force"
                .into(),
        )),
        ["render"] => {
            template::serve(&mut io::stdin().lock(), &mut io::stdout().lock())?;
            Ok(ExitCode::SUCCESS)
        }
        other => Err(Failure::Usage(format!("{:?} is not a command", other.join(" ")))),
    }
}

fn operation_id(text: &str) -> Result<OperationId, Failure> {
    OperationId::parse(text)
        .ok_or_else(|| Failure::Usage(format!("{text:?} is not an operation such as e7-s12")))
}

fn print(bytes: &[u8]) -> Result<ExitCode, Failure> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn print_json<T: Serialize>(value: &T) -> Result<ExitCode, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Work(error.to_string()))?;
    print(format!("{text}\n").as_bytes())
}

fn status(host: &Host<'_>, id: Option<OperationId>) -> Result<ExitCode, Failure> {
    let id = match id {
        Some(id) => id,
        None => match host.facts()?.operation {
            Some(operation) => operation.id,
            None => return Err(Failure::Work("there was no operation yet".into())),
        },
    };
    let lines =
        host.journal(id).ok_or_else(|| Failure::Work(format!("this host has never heard of {id}")))?;
    for line in lines {
        let text = serde_json::to_string(&line).map_err(|error| Failure::Work(error.to_string()))?;
        print(format!("{text}\n").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn apply(host: &Host<'_>, file: &str) -> Result<ExitCode, Failure> {
    let source: Box<dyn Read> = match file {
        "-" => Box::new(io::stdin().lock()),
        path => Box::new(
            std::fs::File::open(path)
                .map_err(|error| Failure::Work(format!("cannot open {path}: {error}")))?,
        ),
    };
    let mut text = Vec::new();
    source.take(frame::BODY_MAX as u64).read_to_end(&mut text)?;
    let request: Request = frame::decode(&text)?;
    let reply = host.handle(&request);
    print_json(&reply)?;
    let done = matches!(reply.answer, Answer::Done(_));
    Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn resume(host: &Host<'_>) -> Result<ExitCode, Failure> {
    match host.resume()? {
        Some(id) => status(host, Some(id)),
        None => print(b"nothing was interrupted\n"),
    }
}

fn disown(host: &Host<'_>) -> Result<ExitCode, Failure> {
    let said = match host.disown_by_force()? {
        None => "what was remembered was damaged; it starts anew\n".to_owned(),
        Some(memory) => match memory.owner {
            None => "nobody managed this host\n".to_owned(),
            Some(owner) => format!(
                "no longer managed by Machine {} ({}) of cluster {}\n",
                owner.machine_name, owner.machine, owner.cluster
            ),
        },
    };
    print(said.as_bytes())
}

fn repair(host: &Host<'_>) -> Result<ExitCode, Failure> {
    let found = host.repair()?;
    if found.is_empty() {
        return print(b"nothing is damaged\n");
    }
    print(format!("{}\n", found.join("\n")).as_bytes())
}

fn forget_fences(host: &Host<'_>) -> Result<ExitCode, Failure> {
    let memory = host.forget_fences_by_force()?;
    if memory.seen.is_empty() {
        return print(b"this host had seen no fence\n");
    }
    for (cluster, seen) in &memory.seen {
        let (epoch, sequence) = (seen.epoch.0, seen.sequence);
        print(format!("forgotten: epoch {epoch} sequence {sequence} of cluster {cluster}\n").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One request frame in, one reply frame out.
fn serve(host: &Host<'_>) -> Result<ExitCode, Failure> {
    let request = within(REQUEST_WITHIN, || read_request(&mut io::stdin().lock()));
    let reply: Reply = match request {
        Ok(request) => host.handle(&request),
        Err(failure) => {
            let detail = match failure {
                Failure::Usage(detail) | Failure::Work(detail) => detail,
            };
            let cause = Cause::new(CauseKind::ProtocolError, format!("the request: {detail}"));
            Reply::new(Answer::Refused(cause))
        }
    };
    let mut framed = frame::encode(&reply)?;
    let length = framed.len() - HEADER;
    if length > frame::REPLY_MAX {
        let detail =
            format!("the reply has {length} bytes, more than the {} that are read", frame::REPLY_MAX);
        framed = frame::encode(&Reply::new(Answer::Later(Cause::new(CauseKind::HostFailed, detail))))?;
    }
    print(&framed)
}

/// Reads a request in a thread of its own, which is left alone when it takes too long: the program ends then.
fn within(
    patience: Duration,
    read: impl FnOnce() -> Result<Request, Failure> + Send + 'static,
) -> Result<Request, Failure> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || drop(send.send(read())));
    receive
        .recv_timeout(patience)
        .unwrap_or_else(|_| Err(Failure::Work(format!("it did not arrive within {} s", patience.as_secs()))))
}

fn read_request(input: &mut dyn Read) -> Result<Request, Failure> {
    let mut header = [0; HEADER];
    input.read_exact(&mut header)?;
    let mut body = vec![0; frame::body_length(header, frame::BODY_MAX)?];
    input.read_exact(&mut body)?;
    Ok(frame::decode(&body)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_silent_caller_is_given_up() {
        let (_caller, mut input) = UnixStream::pair().unwrap();
        let request = within(Duration::from_millis(1), move || read_request(&mut input));
        let Err(Failure::Work(detail)) = request else { panic!("a request out of nothing") };
        assert!(detail.contains("did not arrive"), "{detail}");
    }
}
