//! The host program on its way to a host with a real shell.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Architecture;
use seaworthy_model::digest::Digest;
use seaworthy_ssh::{Hosts, Programs};

use crate::fake_host::{FakeHost, Net};
use crate::setting::{OneKey, Setting, address, after, ask, before, patient};
use crate::shell::Shell;

/// A host program that answers with what it was asked.
const ECHO: &str = "#!/bin/sh\n[ \"$*\" = serve ] && exec cat\n";

/// A host with a disk: a folder that is removed in the end.
struct Disk {
    root: PathBuf,
    setting: Setting,
    host: Arc<FakeHost>,
}

impl Disk {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("host-{}-{}", std::process::id(), NUMBER.fetch_add(1, SeqCst));
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(root.join("path")).unwrap();
        let setting = Setting::new();
        let host = setting.net.put(&address(1), setting.host(Shell::Real(root.join("path"))));
        let disk = Self { root, setting, host };
        disk.be("x86_64", "0:755");
        disk
    }

    /// Has the host report this machine, and this access to whatever lies outside of its disk.
    fn be(&self, machine: &str, outside: &str) {
        self.command("uname", &format!("echo {machine}"));
        self.command("id", "echo 0");
        let inside = self.root.join("opt");
        // Who runs the tests need not be root, and the folder for temporary files need not be root's.
        let own = "stat -L -c 0:%a \"$f\" || exit 1";
        self.command(
            "stat",
            &format!(
                "PATH=/usr/bin:/bin; shift 3; for f; do case $f in {}*) {own};; *) echo {outside};; esac; done",
                inside.display()
            ),
        );
    }

    /// Puts a command before all others of that name. Another process writes the file: were it open for writing here
    /// while another test forks, it could not be executed for a moment.
    fn command(&self, name: &str, script: &str) {
        let path = self.root.join("path").join(name);
        let write = "printf '%s\\n' '#!/bin/sh' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let status = Command::new("/bin/sh").args(["-c", write]).arg(&path).arg(script).status().unwrap();
        assert!(status.success(), "{} was not written", path.display());
    }

    fn hosts(&self, program: &str) -> Hosts<OneKey, Net> {
        let directory = self.root.join("opt/bin");
        let programs = Programs::new().in_directory(directory.to_str().unwrap()).unwrap();
        let programs = programs.with(Architecture::Amd64, program.as_bytes().to_vec());
        let keys = OneKey::from(&self.setting.operator_key);
        Hosts::through(self.setting.net.clone(), keys, programs, patient())
    }

    /// Where the program belongs.
    fn place(&self, program: &str) -> PathBuf {
        let name = format!("seaworthy-host-{}", Digest::of(program.as_bytes()).short());
        self.root.join("opt/bin").join(name)
    }

    /// What is in the program's folder.
    fn files(&self) -> usize {
        fs::read_dir(self.root.join("opt/bin")).map_or(0, Iterator::count)
    }

    fn deliveries(&self) -> usize {
        self.host.commands_with("mktemp")
    }

    async fn ask(
        &self,
        hosts: &Hosts<OneKey, Net>,
    ) -> Result<seaworthy_ssh::Exchange, seaworthy_ssh::Failure> {
        ask(hosts, &self.setting.connection(1)).await
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[tokio::test]
async fn the_program_is_delivered_once_and_then_found() {
    let disk = Disk::new();
    let hosts = disk.hosts(ECHO);
    for _ in 0..3 {
        assert_eq!(disk.ask(&hosts).await.unwrap().body, b"request");
    }
    assert_eq!(disk.ask(&disk.hosts(ECHO)).await.unwrap().body, b"request", "another operator");
    assert_eq!(disk.deliveries(), 1);
    assert_eq!(disk.files(), 1, "nothing temporary stays behind");
    let place = disk.place(ECHO);
    assert_eq!(fs::read_to_string(&place).unwrap(), ECHO);
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o7777, 0o755);
}

#[tokio::test]
async fn a_program_that_is_there_is_looked_at_and_called_in_one_command() {
    let disk = Disk::new();
    disk.ask(&disk.hosts(ECHO)).await.unwrap();
    let before = disk.host.commands_with("");
    assert_eq!(disk.ask(&disk.hosts(ECHO)).await.unwrap().body, b"request");
    assert_eq!(disk.host.commands_with("") - before, 1);
}

#[tokio::test]
async fn a_program_of_megabytes_arrives_whole() {
    let disk = Disk::new();
    let program = format!("{ECHO}exit\n{}", "# padding of no meaning\n".repeat(200_000));
    assert_eq!(disk.ask(&disk.hosts(&program)).await.unwrap().body, b"request");
    assert_eq!(fs::metadata(disk.place(&program)).unwrap().len(), program.len() as u64);
}

#[tokio::test]
async fn another_program_in_its_place_is_replaced_and_never_run() {
    let disk = Disk::new();
    disk.ask(&disk.hosts(ECHO)).await.unwrap();
    let (place, trap) = (disk.place(ECHO), disk.root.join("sprung"));
    fs::write(&place, format!("#!/bin/sh\ntouch {}\n", trap.display())).unwrap();
    assert_eq!(disk.ask(&disk.hosts(ECHO)).await.unwrap().body, b"request");
    assert!(!trap.exists());
    fs::set_permissions(&place, Permissions::from_mode(0o777)).unwrap();
    assert_eq!(disk.ask(&disk.hosts(ECHO)).await.unwrap().body, b"request");
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(disk.deliveries(), 3);
}

#[tokio::test]
async fn a_program_that_vanishes_under_a_kept_session_is_delivered_again() {
    let disk = Disk::new();
    let hosts = disk.hosts(ECHO);
    disk.ask(&hosts).await.unwrap();
    fs::remove_file(disk.place(ECHO)).unwrap();
    assert_eq!(disk.ask(&hosts).await.unwrap().body, b"request");
    assert_eq!(disk.deliveries(), 2);
}

#[tokio::test]
async fn a_folder_where_others_may_write_is_refused() {
    let disk = Disk::new();
    fs::create_dir_all(disk.root.join("opt/bin")).unwrap();
    fs::set_permissions(disk.root.join("opt/bin"), Permissions::from_mode(0o777)).unwrap();
    let detail = before(disk.ask(&disk.hosts(ECHO)).await, CauseKind::DeliveryFailed);
    assert!(detail.contains("opt/bin") && detail.contains("0:777"), "{detail}");
    assert_eq!(disk.deliveries(), 0);

    let disk = Disk::new();
    disk.be("x86_64", "1000:755");
    let detail = before(disk.ask(&disk.hosts(ECHO)).await, CauseKind::DeliveryFailed);
    assert!(detail.contains("1000:755"), "{detail}");
}

#[tokio::test]
async fn bytes_that_are_lost_on_the_way_leave_nothing_there() {
    let disk = Disk::new();
    disk.command("cat", "head -c 10; exec 0<&-");
    let detail = before(disk.ask(&disk.hosts(ECHO)).await, CauseKind::DeliveryFailed);
    assert!(detail.contains("whole"), "{detail}");
    assert_eq!(disk.files(), 0);
}

#[tokio::test]
async fn a_full_disk_is_called_one() {
    let disk = Disk::new();
    disk.command("cat", "echo 'cat: write error: No space left on device' >&2; exit 1");
    before(disk.ask(&disk.hosts(ECHO)).await, CauseKind::NoSpace);
    assert_eq!(disk.files(), 0);
}

#[tokio::test]
async fn a_host_of_another_architecture_is_told_so() {
    for machine in ["aarch64", "sparc64"] {
        let disk = Disk::new();
        disk.be(machine, "0:755");
        let detail = before(disk.ask(&disk.hosts(ECHO)).await, CauseKind::DeliveryFailed);
        assert!(detail.contains(if machine == "aarch64" { "arm64" } else { machine }), "{detail}");
    }
}

#[tokio::test]
async fn a_user_who_is_not_root_works_through_sudo() {
    let disk = Disk::new();
    disk.command("id", "echo ${PRETEND_ROOT:-1000}");
    disk.command("sudo", "[ \"$1\" = -n ] || exit 1; shift; PRETEND_ROOT=0 exec \"$@\"");
    assert_eq!(disk.ask(&disk.hosts(ECHO)).await.unwrap().body, b"request");
    assert_eq!(disk.host.commands_with("sudo -n /bin/sh"), 3, "look, deliver, look");
    assert_eq!(disk.ask(&disk.hosts(ECHO)).await.unwrap().body, b"request", "another operator");
    assert_eq!(disk.deliveries(), 1);
}

#[tokio::test]
async fn a_user_who_may_not_become_root_is_told_why() {
    let disk = Disk::new();
    disk.command("id", "echo 1000");
    disk.command("sudo", "echo 'sudo: a password is required' >&2; exit 1");
    let detail = before(disk.ask(&disk.hosts(ECHO)).await, CauseKind::PrivilegeDenied);
    assert!(detail.contains("a password is required"), "{detail}");
    assert_eq!(disk.files(), 0);
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_has_not_seen_the_order() {
    let disk = Disk::new();
    let detail = before(disk.ask(&disk.hosts("#!/no/such/interpreter\n")).await, CauseKind::DeliveryFailed);
    assert!(detail.contains("does not run there"), "{detail}");
    let broken = "#!/bin/sh\necho 'kernel too old' >&2; exit 9\n";
    let detail = after(disk.ask(&disk.hosts(broken)).await, CauseKind::DeliveryFailed);
    assert!(detail.contains("kernel too old"), "{detail}");
}
