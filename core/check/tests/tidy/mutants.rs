//! Every mutant still fits the code that it breaks.

use seaworthy_mutants::mutant::{self, Edit, Mutant};

use crate::tree::{self, File, Offence};

/// What is wrong with the mutants among `files`.
fn unfit(files: &[File]) -> Vec<Offence> {
    let name = |file: &File| {
        let name = file.path.strip_prefix(mutant::FOLDER)?.strip_prefix('/')?.strip_suffix(".yaml")?;
        Some(name.to_owned())
    };
    let mutants = files.iter().filter_map(|file| Some((file, name(file)?)));
    mutants.flat_map(|(file, name)| judge(files, file, &name)).collect()
}

fn judge(files: &[File], file: &File, name: &str) -> Vec<Offence> {
    let mut offences = Vec::new();
    if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        offences.push(file.offence(1, "names of mutants are lower-case words with hyphens between them"));
    }
    match Mutant::read(name, &file.text) {
        Err(error) => offences.push(file.offence(1, error)),
        Ok(mutant) => {
            let lines = file.text.lines().zip(1..).filter(|(line, _)| line.starts_with("  - file:"));
            let edits = mutant.edits.iter().zip(lines.map(|(_, line)| line).chain(std::iter::repeat(1)));
            let wrong = |(edit, line): (&Edit, usize)| Some(file.offence(line, objection(files, edit)?));
            offences.extend(edits.filter_map(wrong));
        }
    }
    offences
}

/// Why an edit cannot be made; `None` if it can.
fn objection(files: &[File], edit: &Edit) -> Option<String> {
    let error = match tree::file(files, &edit.file) {
        Some(target) => edit.place(&target.text).err()?,
        None => format!("there is no file {}", edit.file),
    };
    let is_there = |file: &&File| file.path != edit.file && edit.place(&file.text).is_ok();
    let elsewhere: Vec<&str> =
        files.iter().filter(|file| file.is_rust()).filter(is_there).map(|file| &*file.path).collect();
    Some(if elsewhere.is_empty() {
        error
    } else {
        format!("{error}; it would match in {}", elsewhere.join(", "))
    })
}

#[test]
fn every_mutant_fits() {
    assert!(tree::files().iter().filter(|file| file.path.starts_with(mutant::FOLDER)).count() > 60);
    tree::assert_none(&unfit(tree::files()));
}

#[test]
fn a_mutant_that_does_not_fit_is_found() {
    let document = |file: &str| {
        format!("breaks: It is off.\nedits:\n  - file: {file}\n    find: a()\n    replace: b()\n")
    };
    let mutant =
        |name: &str, file: &str| File::new(&format!("{}/{name}.yaml", mutant::FOLDER), &document(file));
    let code = [
        File::new("once.rs", "fn x() { a(); }"),
        File::new("twice.rs", "fn x() { a(); a(); }"),
        File::new("moved.rs", "fn x() { }"),
    ];
    let offences = |name: &str, file: &str| {
        let mut files = vec![mutant(name, file)];
        files.extend(code.iter().map(|file| File::new(&file.path, &file.text)));
        unfit(&files)
    };
    assert_eq!(offences("fits", "once.rs"), []);
    assert_eq!(offences("Fits_not", "once.rs").len(), 1);
    let [twice] = &offences("fits", "twice.rs")[..] else { panic!("one offence") };
    assert_eq!((&*twice.path, twice.line), ("scenarios/mutants/fits.yaml", 3));
    assert!(twice.what.contains("matches at 2"), "{twice}");
    for gone in ["moved.rs", "nowhere.rs"] {
        let [offence] = &offences("fits", gone)[..] else { panic!("one offence") };
        assert!(offence.what.ends_with("it would match in once.rs"), "{offence}");
    }
}
