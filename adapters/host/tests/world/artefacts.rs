//! A daemon in two editions, and the server that it is fetched from.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use seaworthy_api::host::wire::{Change, Operation, Release};
use seaworthy_model::component::{
    Architecture, Artefact, ArtefactFormat, ConfigFile, Confirm, Content, Disruption, Fact, Link, Probe,
    ProbeCheck, Recipe, Rollback, Unit,
};
use seaworthy_model::digest::Digest;
use seaworthy_model::invocation::Invocation;
use seaworthy_model::removal::Removal;
use tar::{Builder, EntryType, Header};

use super::operation_id;

/// What is said of a file that is served, and the file.
#[derive(Clone)]
pub struct Served {
    /// Lines of the header, each with its end.
    pub head: String,
    pub body: Vec<u8>,
    /// Whether the body is repeated until nobody listens.
    pub endless: bool,
}

/// What is served.
#[derive(Default)]
struct Shelf {
    files: Mutex<BTreeMap<String, Served>>,
    held: Mutex<BTreeSet<String>>,
    released: Condvar,
}

/// Serves files over HTTP on loopback as long as the test runs.
pub struct Artefacts {
    address: String,
    shelf: Arc<Shelf>,
}

impl Artefacts {
    pub fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shelf = Arc::<Shelf>::default();
        let shared = Arc::clone(&shelf);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that goes away in the middle is the client's business.
                thread::spawn(move || drop(respond(&stream, &shared)));
            }
        });
        Self { address, shelf }
    }

    /// Puts a file there, and gives its URL.
    pub fn put(&self, name: &str, bytes: &[u8]) -> String {
        let head = format!("Content-Length: {}\r\n", bytes.len());
        self.put_as(name, Served { head, body: bytes.to_vec(), endless: false })
    }

    /// Puts a file there of which anything is said, and gives its URL.
    pub fn put_as(&self, name: &str, served: Served) -> String {
        self.shelf.files.lock().unwrap().insert(format!("/{name}"), served);
        format!("http://{}/{name}", self.address)
    }

    /// Takes a file away.
    pub fn take(&self, name: &str) {
        self.shelf.files.lock().unwrap().remove(&format!("/{name}"));
    }

    /// From now on, who asks for this file waits until it is released.
    pub fn hold(&self, name: &str) {
        self.shelf.held.lock().unwrap().insert(format!("/{name}"));
    }

    pub fn release(&self, name: &str) {
        self.shelf.held.lock().unwrap().remove(&format!("/{name}"));
        self.shelf.released.notify_all();
    }

    /// The recipe of an edition whose artefact is served here.
    pub fn recipe(&self, edition: Edition) -> Recipe {
        let archive = edition.archive();
        let url = self.put(&format!("webd-{}.tar.gz", edition.version), &archive);
        edition.recipe(url, Digest::of(&archive))
    }

    pub fn install(&self, sequence: u64, edition: Edition) -> Operation {
        install(sequence, self.recipe(edition))
    }
}

fn respond(mut stream: &TcpStream, shelf: &Shelf) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let held = shelf.held.lock().unwrap();
    drop(shelf.released.wait_while(held, |held| held.contains(&path)).unwrap());
    let found = shelf.files.lock().unwrap().get(&path).cloned();
    let Some(Served { head, body, endless }) = found else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    write!(stream, "HTTP/1.1 200 OK\r\n{head}Connection: close\r\n\r\n")?;
    loop {
        stream.write_all(&body)?;
        if !endless {
            return Ok(());
        }
    }
}

/// An edition of the daemon.
#[derive(Clone, Copy, Debug)]
pub struct Edition {
    pub version: &'static str,
    /// Whether its probe succeeds.
    pub healthy: bool,
    /// The link that only this edition has.
    pub link: &'static str,
    pub rollback: Rollback,
    /// Whether its preflight succeeds.
    pub fit: bool,
    /// Whether it has no artefact and no process, only what is rendered and a unit that does its work once.
    pub bare: bool,
    /// Whether the host is started anew when it comes.
    pub reboot: bool,
    /// Whether it has to be confirmed.
    pub confirm: bool,
    /// Of an edition that asks for a reload: what names its binary and its unit, which others of the line have as well.
    pub line: Option<&'static str>,
}

pub const OLD: Edition = Edition {
    version: "1.0.0",
    healthy: true,
    link: "/usr/local/bin/webold",
    rollback: Rollback::Safe,
    fit: true,
    bare: false,
    reboot: false,
    confirm: false,
    line: None,
};
pub const NEW: Edition = Edition { version: "1.1.0", link: "/usr/local/bin/webnew", ..OLD };
pub const SICK: Edition = Edition { version: "1.2.0", healthy: false, link: "/usr/local/bin/websick", ..OLD };
pub const UNFIT: Edition = Edition { version: "1.3.0", fit: false, link: "/usr/local/bin/webunfit", ..OLD };
pub const BARE: Edition = Edition { version: "1.4.0", bare: true, link: "/usr/local/bin/webbare", ..OLD };
pub const ANEW: Edition = Edition { version: "1.5.0", reboot: true, link: "/usr/local/bin/webanew", ..OLD };
pub const SICK_ANEW: Edition =
    Edition { version: "1.6.0", reboot: true, link: "/usr/local/bin/websickanew", ..SICK };
pub const GUARDED: Edition =
    Edition { version: "1.7.0", confirm: true, link: "/usr/local/bin/webguarded", ..OLD };
pub const GUARDED_ANEW: Edition =
    Edition { version: "1.8.0", reboot: true, link: "/usr/local/bin/webguardedanew", ..GUARDED };
pub const LIVE: Edition =
    Edition { version: "2.0.0", line: Some("first line"), link: "/usr/local/bin/weblive", ..OLD };
pub const LIVE_NEXT: Edition = Edition { version: "2.1.0", link: "/usr/local/bin/weblivenext", ..LIVE };
pub const LIVE_SICK: Edition =
    Edition { version: "2.2.0", healthy: false, link: "/usr/local/bin/weblivesick", ..LIVE };
pub const LIVE_GUARDED: Edition =
    Edition { version: "2.3.0", confirm: true, link: "/usr/local/bin/webliveguarded", ..LIVE };
pub const LIVE_OTHER: Edition =
    Edition { version: "2.4.0", line: Some("other line"), link: "/usr/local/bin/webliveother", ..LIVE };

/// Every edition.
pub const ALL: [Edition; 14] = [
    OLD,
    NEW,
    SICK,
    UNFIT,
    BARE,
    ANEW,
    SICK_ANEW,
    GUARDED,
    GUARDED_ANEW,
    LIVE,
    LIVE_NEXT,
    LIVE_SICK,
    LIVE_GUARDED,
    LIVE_OTHER,
];

/// Within so many seconds an edition has to be confirmed.
pub const WITHIN: u32 = 60;

/// What the daemon leaves behind on a host where it ran, with something mounted in it.
pub const LEFT: &str = "/var/lib/webd";

/// What the daemon does to read its configuration.
const READ: &str = "#!/bin/sh\ncat \"${0%/*}/../share/doc/README\"\n";

impl Edition {
    /// What names its binary and its unit.
    pub const fn build(self) -> &'static str {
        match self.line {
            Some(line) => line,
            None => self.version,
        }
    }

    pub fn archive(self) -> Vec<u8> {
        let mut binary = std::fs::read("/bin/sleep").unwrap();
        // What follows an ELF file's own contents does not matter to it, but to its digest.
        binary.extend(self.build().as_bytes());
        let check = format!("#!/bin/sh\nexit {}\n", i32::from(!self.healthy));
        Archive::new()
            .directory("bin/")
            .file("./bin/webd", 0o755, &binary)
            .file("bin/check", 0o755, check.as_bytes())
            .file("bin/read", 0o755, READ.as_bytes())
            .file("etc/webd.conf", 0o644, b"the default")
            .file("share/doc/README", 0o644, self.version.as_bytes())
            .link("share/README", "doc/README")
            .finish()
    }

    pub fn recipe(self, url: String, sha256: Digest) -> Recipe {
        let kind = if self.bare { "Type=oneshot\nRemainAfterExit=yes\n" } else { "" };
        let unit = format!(
            "[Service]\n# {}\n{kind}ExecStart={{{{ current }}}}/bin/webd infinity\nExecReload={{{{ current }}}}/bin/read\n",
            self.line.unwrap_or("{{ version }}")
        );
        let artefact =
            Artefact { architecture: Architecture::Amd64, url, sha256, format: ArtefactFormat::TarGz };
        let file = |path: &str, template: &str, mode| ConfigFile {
            path: path.into(),
            template: template.into(),
            mode,
        };
        let mut files = vec![file(
            "etc/webd.conf",
            "greeting = {{ parameters.greeting }}\nmachine = {{ facts.machineName }} in {{ machineParameters.zone }}\n",
            0o640,
        )];
        if self.bare {
            files.extend([file("bin/webd", "#!/bin/sh\n", 0o755), file("bin/check", "#!/bin/sh\n", 0o755)]);
        }
        let shell = |script: &str| Invocation {
            command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            timeout_seconds: 60,
        };
        let link = |path: &str, target: &str| Link { path: path.into(), target: target.into() };
        Recipe {
            version: self.version.into(),
            artefact: (!self.bare).then_some(artefact),
            content: Content {
                files,
                links: vec![link("/usr/local/bin/webd", "bin/webd"), link(self.link, "bin/check")],
                unit: Some(Unit {
                    name: "webd.service".into(),
                    template: unit,
                    executable: (!self.bare).then(|| "bin/webd".into()),
                }),
                probe: Some(Probe {
                    check: ProbeCheck::Exec { command: vec!["bin/check".into()] },
                    period_seconds: 1,
                    timeout_seconds: 60,
                    success_threshold: 2,
                    deadline_seconds: if self.healthy { 300 } else { 2 },
                }),
                facts: vec![Fact::MachineName],
                rollback: self.rollback,
                reboot: self.reboot,
                less_than_restart: self.line.map(|_| Disruption::Reload),
                confirm: self.confirm.then_some(Confirm { within_seconds: WITHIN }),
                preflight: Some(shell(if self.fit { "test -x bin/webd" } else { "echo unfit >&2; exit 7" })),
                removal: Some(Removal {
                    before_stop: vec![shell("test -x bin/webd"), shell("test -e etc/webd.conf")],
                    after_stop: vec![shell("test -x bin/webd")],
                    paths: vec![LEFT.to_owned(), "/run/webd/sockets".to_owned()],
                }),
            },
            parameters: Arc::new([("greeting".to_owned(), "hello".to_owned())].into()),
            machine_parameters: [("zone".to_owned(), "z1".to_owned())].into(),
            facts: [(Fact::MachineName, "m1".to_owned())].into(),
        }
    }
}

pub fn install(sequence: u64, recipe: Recipe) -> Operation {
    let version_name = format!("webd-{}", recipe.version);
    let release = Release { id: recipe.release_id(), version_name, recipe };
    Operation {
        id: operation_id(sequence),
        generation: 1,
        component: "webd".into(),
        change: Change::Install(Box::new(release)),
    }
}

pub fn remove(sequence: u64) -> Operation {
    Operation { id: operation_id(sequence), generation: 1, component: "webd".into(), change: Change::Remove }
}

/// A gzipped tar that holds whatever one wants, acceptable or not.
pub struct Archive {
    builder: Builder<GzEncoder<Vec<u8>>>,
}

impl Archive {
    pub fn new() -> Self {
        Self { builder: Builder::new(GzEncoder::new(Vec::new(), Compression::fast())) }
    }

    pub fn file(self, path: &str, mode: u32, contents: &[u8]) -> Self {
        self.entry(EntryType::Regular, (path, ""), mode, contents)
    }

    pub fn directory(self, path: &str) -> Self {
        self.entry(EntryType::Directory, (path, ""), 0o755, b"")
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, (path, target), 0o777, b"")
    }

    /// Anything, with a path and a target. The names go into the header as they are: the library's own way of setting them refuses what is to be tested.
    pub fn entry(self, kind: EntryType, names: (&str, &str), mode: u32, contents: &[u8]) -> Self {
        let size = contents.len() as u64;
        self.claim((kind, size), names, mode, contents)
    }

    /// Anything of any size, whatever there is of it.
    pub fn claim(
        mut self,
        kind_and_size: (EntryType, u64),
        names: (&str, &str),
        mode: u32,
        contents: &[u8],
    ) -> Self {
        let ((kind, size), (path, target)) = (kind_and_size, names);
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        self.builder.append(&header, contents).unwrap();
        self
    }

    pub fn finish(self) -> Vec<u8> {
        self.builder.into_inner().unwrap().finish().unwrap()
    }
}
