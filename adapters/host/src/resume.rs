//! The systemd unit that finishes or undoes, after a reboot, the operation that the reboot interrupted. It does not wait
//! for an operator.

use std::path::Path;

use crate::disk;
use crate::failure::Result;
use crate::site::Site;

const UNIT: &str = "/etc/systemd/system/seaworthy-resume.service";
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants/seaworthy-resume.service";

/// Makes sure that the unit is there. systemd reads it at the next boot, which is when it is of use.
pub(crate) fn arm(site: &Site<'_>) -> Result<()> {
    let Some(program) = plain(site.program) else { return Ok(()) };
    let (Some(root), Some(prefix)) = (plain(site.layout.root()), plain(site.layout.prefix())) else {
        return Ok(());
    };
    let text = format!(
        "[Unit]\n\
         Description=Seaworthy: finish or undo an operation that was interrupted\n\
         ConditionPathExists={program}\n\
         After=dbus.service\n\n\
         [Service]\n\
         Type=exec\n\
         Restart=on-failure\n\
         RestartSec=3\n\
         ExecStart={program} --root {root} --prefix {prefix} resume\n\n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    );
    let unit = site.layout.on_host(UNIT);
    site.disk().remove_temporary(&unit)?;
    if disk::read(&unit, 1 << 16).ok().flatten().as_deref() != Some(text.as_bytes()) {
        if let Some(parent) = unit.parent() {
            site.disk().make_dir(parent, 0o755)?;
        }
        site.disk().replace(&unit, text.as_bytes(), 0o644)?;
    }
    let wanted = site.layout.on_host(WANTED);
    site.disk().remove_temporary(&wanted)?;
    if disk::target(&wanted).as_deref() != Some(Path::new("../seaworthy-resume.service")) {
        if let Some(parent) = wanted.parent() {
            site.disk().make_dir(parent, 0o755)?;
        }
        site.disk().point(&wanted, Path::new("../seaworthy-resume.service"))?;
    }
    Ok(())
}

/// Removes the unit.
pub(crate) fn disarm(site: &Site<'_>) -> Result<()> {
    site.disk().remove(&site.layout.on_host(WANTED))?;
    site.disk().remove(&site.layout.on_host(UNIT))
}

/// A path that means the same in a unit file, where spaces, quotes, `%` and `$` mean something else. For any other path
/// there is no such unit, and the next call resumes.
fn plain(path: &Path) -> Option<&str> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'+');
    path.to_str().filter(|text| text.starts_with('/') && text.bytes().all(fine))
}
