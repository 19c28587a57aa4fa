//! Brings the host program to a host, and never lets one be called whose digest was not verified in this session.
//!
//! Everything here is plain `sh` with coreutils. Our lines begin with a mark, so that anything else that a login shell
//! prints is skipped.

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Architecture;
use seaworthy_model::digest::Digest;
use tokio::time::Instant;
use tracing::info;

use crate::classify::{quote, with_words};
use crate::exec::{Broken, Command, Ended, Exit, Text, Why};
use crate::limits::Limits;
use crate::program::{Place, Program, Programs, architecture};
use crate::session::Session;

/// The most that is read of what a script prints, in bytes.
const OUTPUT_MAX: usize = 16 * 1024;

/// What begins the lines that are meant for us.
pub(crate) const MARK: &str = "seaworthy:";

/// The exit code of a delivery whose bytes did not arrive whole.
const DAMAGED: u32 = 65;

/// What a host is, as far as calling a program there is concerned.
struct Survey {
    root: bool,
    architecture: Architecture,
}

impl Survey {
    /// A line that runs `script` as root. It holds no single quotes.
    fn as_root(&self, script: &str) -> String {
        let sudo = if self.root { "" } else { "sudo -n " };
        format!("{sudo}/bin/sh -c 'LC_ALL=C; export LC_ALL; {script}'")
    }
}

/// What lies where the program belongs.
enum Found {
    /// The program, and only root could have changed it since.
    Whole,
    /// Nothing, or something else.
    Otherwise,
}

/// Makes sure that the host has the program for its architecture.
pub(crate) async fn place(
    session: &mut Session,
    programs: &Programs,
    limits: &Limits,
    deadline: Instant,
) -> Result<Place, Cause> {
    let mut shell = Shell { session, limits, deadline };
    let survey = shell.survey().await?;
    let program = programs.get(survey.architecture).ok_or_else(|| {
        let detail = format!("there is no host program for architecture {}", survey.architecture.name());
        Cause::new(CauseKind::DeliveryFailed, detail)
    })?;
    let path = programs.path(program);
    if matches!(shell.verify(&survey, programs, program).await?, Found::Otherwise) {
        shell.deliver(&survey, programs, program).await?;
        info!(digest = %program.digest.short(), "host program delivered");
        if matches!(shell.verify(&survey, programs, program).await?, Found::Otherwise) {
            let detail = format!("{path} is not the host program even after it was delivered");
            return Err(Cause::new(CauseKind::DeliveryFailed, detail));
        }
    }
    Ok(Place::new(survey.root, &path))
}

/// Runs scripts on a host.
struct Shell<'a> {
    session: &'a mut Session,
    limits: &'a Limits,
    deadline: Instant,
}

impl Shell<'_> {
    async fn run(&mut self, line: &str, input: &[u8]) -> Result<(Text, Ended), Cause> {
        let most = if input.is_empty() { self.limits.survey } else { self.limits.delivery };
        let deadline = self.deadline.min(Instant::now() + most);
        let mut output = Text::new(OUTPUT_MAX);
        let ended = self.session.run(Command { line, input }, &mut output, self.limits, deadline).await;
        ended.map(|ended| (output, ended)).map_err(|broken| not_run(self.session, &broken))
    }

    /// Asks which account we have, whether it may become root, and what kind of machine the host is.
    async fn survey(&mut self) -> Result<Survey, Cause> {
        let script = "LC_ALL=C; export LC_ALL; u=$(id -u); r=$u; if [ \"$u\" != 0 ]; then r=$(sudo -n id -u); fi; \
                      echo \"seaworthy: $u ${r:-none} $(uname -m)\"";
        let (output, ended) = self.run(&format!("/bin/sh -c '{script}'"), &[]).await?;
        let output = output.as_str();
        let words: Vec<&str> =
            marked(&output).next().map(|line| line.split(' ').collect()).unwrap_or_default();
        let [own, effective, machine] = words[..] else {
            let detail =
                format!("logged in, but the account's shell does not run commands ({})", ended.describe());
            return Err(Cause::new(CauseKind::DeliveryFailed, with_words(detail, &output)));
        };
        if effective != "0" {
            let detail = with_words("the user is not root, and `sudo -n` does not help", &ended.stderr);
            return Err(Cause::new(CauseKind::PrivilegeDenied, detail));
        }
        let architecture = architecture(machine).ok_or_else(|| {
            let detail = format!("there is no host program for architecture {}", quote(machine));
            Cause::new(CauseKind::DeliveryFailed, detail)
        })?;
        Ok(Survey { root: own == "0", architecture })
    }

    /// Looks at the program's path. The directories above it are judged too: a user who may write there could put another
    /// file in its place between this look and the call.
    async fn verify(
        &mut self,
        survey: &Survey,
        programs: &Programs,
        program: &Program,
    ) -> Result<Found, Cause> {
        let path = programs.path(program);
        let above = ancestors(programs.directory()).join(" ");
        let script = format!(
            "for f in {above} {path}; do if [ -e $f ]; then echo \"{MARK} $(stat -L -c %u:%a $f) $f\"; fi; done; \
             if [ -f {path} ]; then echo \"{MARK} sha256 $(sha256sum < {path})\"; fi"
        );
        let (output, ended) = self.run(&survey.as_root(&script), &[]).await?;
        if ended.exit != Exit::Code(0) {
            let detail = format!("looking for the host program failed ({})", ended.describe());
            return Err(Cause::new(CauseKind::DeliveryFailed, detail));
        }
        let output = output.as_str();
        let mut whole = false;
        let mut exposed = None;
        for line in marked(&output) {
            match line.split_once(' ') {
                Some(("sha256", digest)) => {
                    whole = digest.split(' ').next().and_then(Digest::parse) == Some(program.digest);
                }
                Some((access, name)) if !only_root_writes(access) => {
                    exposed = exposed.or(Some((access, name)))
                }
                _ => {}
            }
        }
        match exposed {
            None if whole => Ok(Found::Whole),
            None => Ok(Found::Otherwise),
            Some((_, name)) if name == path => Ok(Found::Otherwise),
            Some((access, name)) => {
                let detail =
                    format!("others than root may write to {} ({}) on the host", quote(name), quote(access));
                Err(Cause::new(CauseKind::DeliveryFailed, detail))
            }
        }
    }

    /// Sends the program into a file of its own and renames that once it is whole and on the disk.
    async fn deliver(
        &mut self,
        survey: &Survey,
        programs: &Programs,
        program: &Program,
    ) -> Result<(), Cause> {
        let (directory, path, digest) = (programs.directory(), programs.path(program), program.digest);
        let script = format!(
            "set -e; umask 022; mkdir -p {directory}; \
             find {directory} -name \".delivery.*\" -mtime +0 -exec rm -f {{}} + 2>/dev/null || true; \
             t=$(mktemp {directory}/.delivery.XXXXXX); trap \"rm -f $t\" EXIT; cat > $t; \
             [ \"$(sha256sum < $t)\" = \"{digest}  -\" ] || exit {DAMAGED}; \
             chmod 0755 $t; sync $t 2>/dev/null || sync; mv -f $t {path}; sync {directory} 2>/dev/null || sync"
        );
        let binary = program.binary().map_err(|error| {
            let detail = format!("the host program cannot be read where the operator runs: {error}");
            Cause::new(CauseKind::DeliveryFailed, detail)
        })?;
        let (_, ended) = self.run(&survey.as_root(&script), &binary).await?;
        match ended.exit {
            Exit::Code(0) => Ok(()),
            Exit::Code(DAMAGED) => {
                let detail = "the host program did not arrive whole";
                Err(Cause::new(CauseKind::DeliveryFailed, with_words(detail, &ended.stderr)))
            }
            Exit::Code(_) | Exit::Signal(_) | Exit::Untold
                if ended.stderr.contains("No space left on device") =>
            {
                let detail = format!("no room for the host program in {directory}");
                Err(Cause::new(CauseKind::NoSpace, detail))
            }
            Exit::Code(_) | Exit::Signal(_) | Exit::Untold => {
                let detail = format!("the host program could not be written ({})", ended.describe());
                Err(Cause::new(CauseKind::DeliveryFailed, detail))
            }
        }
    }
}

/// The cause for a command that did not run to its end, before the request.
pub(crate) fn not_run(session: &Session, broken: &Broken) -> Cause {
    match broken.why {
        Why::NotStarted => {
            Cause::new(CauseKind::ConnectionFailed, "logged in, but the host starts no command in time")
        }
        Why::Refused => {
            Cause::new(CauseKind::DeliveryFailed, "logged in, but the host refuses to run commands")
        }
        Why::Lost => Cause::new(CauseKind::ConnectionFailed, session.loss()),
        Why::Deadline => Cause::new(
            CauseKind::ConnectionFailed,
            "logged in, but a command did not end in time on the host",
        ),
    }
}

/// The lines of `output` that are meant for us, without the mark.
pub(crate) fn marked(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter_map(|line| line.strip_prefix(MARK)).map(str::trim)
}

/// `directory` and all above it but the root directory.
pub(crate) fn ancestors(directory: &str) -> Vec<&str> {
    let ends = directory.match_indices('/').map(|(at, _)| at).skip(1).chain([directory.len()]);
    ends.map(|end| &directory[..end]).collect()
}

/// Whether `access`, an owner and permission bits such as `0:755`, lets only root change the file or directory that it
/// belongs to.
fn only_root_writes(access: &str) -> bool {
    let Some((owner, bits)) = access.split_once(':') else { return false };
    u32::from_str_radix(bits, 8).is_ok_and(|bits| owner == "0" && bits & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_of_others_is_recognized() {
        for good in ["0:755", "0:700", "0:0"] {
            assert!(only_root_writes(good), "{good}");
        }
        for bad in ["1000:755", "0:775", "0:757", "0:777", "0:1777", "", "0:", "0:9", "root:755"] {
            assert!(!only_root_writes(bad), "{bad}");
        }
    }

    #[test]
    fn everything_above_the_program_is_looked_at() {
        assert_eq!(ancestors("/opt/seaworthy/bin"), ["/opt", "/opt/seaworthy", "/opt/seaworthy/bin"]);
        assert_eq!(ancestors("/opt"), ["/opt"]);
    }

    #[test]
    fn noise_of_login_shells_is_passed_over() {
        let output = "Welcome!\nseaworthy: 0 x86_64\nseaworthy is great\n";
        assert_eq!(marked(output).collect::<Vec<_>>(), ["0 x86_64"]);
    }
}
