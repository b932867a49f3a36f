//! Enters stead into one client's file or takes it out: by the client's own command where there is one, else by an edit.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::backup::{BackupDir, BeforeInstall};
use crate::clients::{ConfigScope, McpClient, OwnCommand, UserPlaces};
use crate::diff::diff;
use crate::edit::{EditKind, EditResult};
use crate::entry::{KnownEntry, ServerEntry};
use crate::file::{ClientFile, FileTrouble};
use crate::own::run_own;
use crate::trouble::EditTrouble;

/// What is to be done for a client.
#[derive(Debug, Clone, Copy)]
pub struct InstallOrder<'a> {
    /// The client.
    pub client: &'static McpClient,
    /// Whose file.
    pub scope: ConfigScope,
    /// What is entered; `None` takes it out.
    pub entry: Option<&'a ServerEntry>,
    /// Where the user's files are.
    pub places: &'a UserPlaces,
    /// The project.
    pub workspace: &'a Path,
    /// Where copies are kept.
    pub state: &'a Path,
    /// Whether only to say what would be done.
    pub dry_run: bool,
}

/// What was done, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallAction {
    /// The entry is new.
    Added,
    /// The entry was there and starts this stead now.
    Changed,
    /// The entry is gone.
    Removed,
    /// The entry is again the one that was there before the install.
    Restored,
    /// The entry was there as it should be.
    Unchanged,
    /// There was nothing to take out.
    Absent,
}

/// How a file is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallMeans {
    /// By the client's own command.
    OwnCommand(OwnCommand),
    /// By stead.
    Edit,
    /// By giving back what was there before the install.
    Restore,
}

/// What is about to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallPlan {
    /// What.
    pub action: InstallAction,
    /// How; `None` if there is nothing to do.
    pub means: Option<InstallMeans>,
    /// The file, as the client names it.
    pub path: PathBuf,
    /// The entry that the file has afterwards.
    pub entry: Option<KnownEntry>,
    /// What changes in it. A client's own command may write it in another way.
    pub diff: String,
    /// What the user should know.
    pub note: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct InstallDone {
    /// What was planned and done.
    pub plan: InstallPlan,
    /// A copy of the file as it was.
    pub backup: Option<PathBuf>,
}

/// Why nothing was done for a client. Its file is as it was.
#[derive(Debug, Error)]
pub enum InstallTrouble {
    /// The file could not be read or replaced.
    #[error(transparent)]
    File(#[from] FileTrouble),
    /// The file cannot be edited.
    #[error("`{}`, {trouble}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// Why.
        trouble: EditTrouble,
    },
    /// The file has an entry of our name that is the user's own.
    #[error("`{}` has an entry `stead` that is not of this program: {does}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What that entry does.
        does: String,
    },
    /// The client has no file of this scope.
    #[error("{title} has no {scope} file", scope = scope.word())]
    NoFile {
        /// What people call the client.
        title: &'static str,
        /// Whose file was asked for.
        scope: ConfigScope,
    },
}

impl InstallOrder<'_> {
    /// Does it. `before_writing` is told what is about to happen.
    pub fn carry_out(
        &self,
        before_writing: &mut dyn FnMut(&InstallPlan),
    ) -> Result<InstallDone, InstallTrouble> {
        let path = self.client.file(self.scope, self.places, self.workspace);
        let (title, scope) = (self.client.title, self.scope);
        let path = path.ok_or(InstallTrouble::NoFile { title, scope })?;
        let mut file = ClientFile::open(&path, !self.dry_run)?;
        let (mut plan, text) = self.plan(&path, &file)?;
        let Some(text) = text else {
            before_writing(&plan);
            return Ok(InstallDone { plan, backup: None });
        };
        file.check_writable()?;
        if self.dry_run {
            before_writing(&plan);
            return Ok(InstallDone { plan, backup: None });
        }
        before_writing(&plan);
        let backups = BackupDir::new(self.state, self.client.id, &file.real);
        let backup = match self.entry {
            Some(_) => self.install(&mut file, &backups, &mut plan, &text),
            None => self.remove(&mut file, &backups, &mut plan, &text),
        }?;
        Ok(InstallDone { plan, backup })
    }

    fn trouble(&self, path: &Path) -> impl FnOnce(EditTrouble) -> InstallTrouble {
        let path = path.to_owned();
        move |trouble| InstallTrouble::Edit { path, trouble }
    }

    /// What has to be done, and what the file should be afterwards; `None` if it can stay as it is.
    fn plan(
        &self,
        path: &Path,
        file: &ClientFile,
    ) -> Result<(InstallPlan, Option<FileAfter>), InstallTrouble> {
        let now = file.text.as_deref().unwrap_or_default();
        let format = self.client.format;
        let plan = |action, means, entry, diff, note| InstallPlan {
            action,
            means,
            path: path.to_owned(),
            entry,
            diff,
            note,
        };
        let nothing = |action, entry, note| (plan(action, None, entry, String::new(), note), None);
        let known = format.look(now).map_err(self.trouble(path))?;
        let foreign = known.as_ref().filter(|known| !self.is_ours(known, file, now));
        let Some(entry) = self.entry else {
            if let Some(foreign) = foreign {
                let does = foreign.does();
                let note = format!("the entry `stead` there is not of this program: {does}");
                return Ok(nothing(InstallAction::Absent, None, Some(note)));
            }
            let removed = format.remove(now).map_err(self.trouble(path))?;
            let EditResult::To { text, .. } = removed else {
                return Ok(nothing(InstallAction::Absent, None, None));
            };
            let undo = self.undo(file, now, text);
            let after = undo.after.text().unwrap_or_default();
            let entry = format.look(after).map_err(self.trouble(path))?;
            let action = match entry {
                Some(_) => InstallAction::Restored,
                None => InstallAction::Removed,
            };
            let plan = plan(action, Some(undo.means), entry, diff(now, after), undo.note);
            return Ok((plan, Some(undo.after)));
        };
        if let Some((other, has)) = format.other_name(now).map_err(self.trouble(path))?
            && (known.is_none() || foreign.is_some())
        {
            let note = Some(format!("it starts stead already, as `{other}`"));
            return Ok(nothing(InstallAction::Unchanged, Some(has), note));
        }
        if let Some(foreign) = foreign {
            return Err(InstallTrouble::Foreign { path: path.to_owned(), does: foreign.does() });
        }
        let (did, text) = match format.add(now, entry).map_err(self.trouble(path))? {
            EditResult::To { did, text } => (did, text),
            EditResult::Same => {
                let off = known.as_ref().is_some_and(|known| known.off);
                let note = off.then(|| "the entry is switched off in this client".to_owned());
                return Ok(nothing(InstallAction::Unchanged, known, note));
            }
        };
        let action = match did {
            EditKind::Changed => InstallAction::Changed,
            EditKind::Added | EditKind::Removed => InstallAction::Added,
        };
        // A client's own command can only add an entry; an existing one is edited in place and keeps its other fields.
        let own = self.client.own_add(self.scope, entry).filter(|_| did == EditKind::Added);
        let own = own.filter(|own| self.places.program(own.program).is_some());
        let means = own.map_or(InstallMeans::Edit, InstallMeans::OwnCommand);
        let after = format.look(&text).map_err(self.trouble(path))?;
        let plan = plan(action, Some(means), after, diff(now, &text), None);
        Ok((plan, Some(FileAfter::Text(text))))
    }

    /// Whether an entry of our name is ours to change: it starts stead, or is exactly what an install has left.
    fn is_ours(&self, known: &KnownEntry, file: &ClientFile, now: &str) -> bool {
        let backups = || BackupDir::new(self.state, self.client.id, &file.real);
        known.is_ours()
            || self.entry.is_some_and(|entry| known.starts(entry))
            || backups().before(&file.real, now).is_some_and(|before| before.untouched)
    }

    /// How the entry goes: as it came, if nobody was at the file since.
    fn undo(&self, file: &ClientFile, now: &str, removed: String) -> UndoPlan {
        let format = self.client.format;
        let backups = BackupDir::new(self.state, self.client.id, &file.real);
        let own = self.client.own_remove(self.scope);
        let own = own.filter(|own| self.places.program(own.program).is_some());
        let edit = own.map_or(InstallMeans::Edit, InstallMeans::OwnCommand);
        let Some(before) = backups.before(&file.real, now) else {
            return UndoPlan { means: edit, after: FileAfter::Text(removed), note: None };
        };
        let text = before.text.as_deref().unwrap_or_default();
        let had_entry = format.look(text).is_ok_and(|known| known.is_some());
        // A client's own command may have written more than the entry, which is not ours to take back. Settings that it
        // has lost are to come back.
        let is_all = before.untouched
            && (format.same_beside_entry(now, text) || !format.lost(text, now).is_empty());
        if is_all && !(had_entry && before.renewed) {
            let again = "the entry that was there before the install is back; the same command takes that out, too";
            let note = had_entry.then(|| again.to_owned());
            let after = before.text.map_or(FileAfter::NoFile, FileAfter::Text);
            return UndoPlan { means: InstallMeans::Restore, after, note };
        }
        let note = (had_entry && !before.renewed).then(|| {
            format!(
                "the entry that was there before the install is not given back, since the file was changed meanwhile; it is in `{}`",
                backups.copy().display()
            )
        });
        let after = FileAfter::Text(format.prune(removed, text));
        UndoPlan { means: edit, after, note }
    }

    fn install(
        &self,
        file: &mut ClientFile,
        backups: &BackupDir,
        plan: &mut InstallPlan,
        after: &FileAfter,
    ) -> Result<Option<PathBuf>, InstallTrouble> {
        let now = file.text.clone();
        let text = now.as_deref().unwrap_or_default();
        let entered = self.entry.map(|entry| entry.command.clone()).unwrap_or_default();
        let (backup, mut before) = match backups.before(&file.real, text) {
            // Of two installs in a row, the file before the first one is what a remove gives back.
            Some(earlier) if earlier.untouched => (None, BeforeInstall { entered, ..earlier }),
            earlier => {
                let known = self.client.format.look(text).ok().flatten();
                let command = known.and_then(|known| known.command);
                let renewed =
                    earlier.is_some_and(|earlier| command.as_ref() == Some(&earlier.entered));
                let backup = backups.keep_before_install(now.as_deref())?;
                let (untouched, made) = (true, Vec::new());
                (backup, BeforeInstall { text: now, untouched, made, renewed, entered })
            }
        };
        before.made.extend(self.change(file, plan, after)?);
        backups.note(&file.real, file.text.as_deref().unwrap_or_default(), before)?;
        Ok(backup)
    }

    fn remove(
        &self,
        file: &mut ClientFile,
        backups: &BackupDir,
        plan: &mut InstallPlan,
        after: &FileAfter,
    ) -> Result<Option<PathBuf>, InstallTrouble> {
        let now = file.text.clone().unwrap_or_default();
        let made = backups.before(&file.real, &now).map(|before| before.made).unwrap_or_default();
        let backup = backups.keep_before_remove(&now)?;
        self.change(file, plan, after)?;
        if file.text.is_none() {
            // Directories that the install made go with the file, unless somebody uses them by now.
            for dir in made.iter().rev() {
                let _ = std::fs::remove_dir(dir);
            }
        }
        backups.forget_install();
        // Unless the whole file is restored, the copy may be the only place that has what an install replaced.
        if matches!(plan.means, Some(InstallMeans::Restore)) {
            backups.forget_copy();
        }
        Ok(Some(backup))
    }

    /// Changes the file by the means that were planned. Where the client's own command fails, the file is edited and the
    /// plan says so. Returns the directories that had to be made.
    fn change(
        &self,
        file: &mut ClientFile,
        plan: &mut InstallPlan,
        after: &FileAfter,
    ) -> Result<Vec<PathBuf>, InstallTrouble> {
        let Some(InstallMeans::OwnCommand(own)) = plan.means.clone() else {
            return Ok(self.replace(file, after)?);
        };
        let now = file.text.clone();
        let mut notes: Vec<String> = plan.note.take().into_iter().collect();
        let mut made = Vec::new();
        if let Err(why) = self.run_and_look(file, &own) {
            notes.push(format!("{why}; so the file was edited"));
            plan.means = Some(InstallMeans::Edit);
            made = self.edit_after_all(file, &plan.path, now.as_deref(), after)?;
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let lost = self.client.format.lost(&text(&now), &text(&file.text));
        notes.extend((!lost.is_empty()).then(|| lost_by(&own, &lost)));
        plan.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(made)
    }

    /// Edits a file whose client's own command has not done it.
    fn edit_after_all(
        &self,
        file: &mut ClientFile,
        path: &Path,
        before: Option<&str>,
        after: &FileAfter,
    ) -> Result<Vec<PathBuf>, InstallTrouble> {
        if file.text.as_deref() == before {
            return Ok(self.replace(file, after)?);
        }
        // The command changed the file after all, so the file is edited as it is now, unless it cannot be read.
        match self.plan(path, file) {
            Ok((_, Some(after))) => Ok(self.replace(file, &after)?),
            Ok((_, None)) => Ok(Vec::new()),
            Err(InstallTrouble::Edit { .. }) => Ok(self.replace(file, after)?),
            Err(other) => Err(other),
        }
    }

    /// Runs a client's own command and believes what is in the file afterwards, not what the command says.
    fn run_and_look(&self, file: &mut ClientFile, own: &OwnCommand) -> Result<(), String> {
        let ran = match self.places.program(own.program) {
            Some(program) => run_own(&program, own, self.workspace),
            None => Err(format!("`{}` is gone", own.program)),
        };
        file.read().map_err(|error| error.to_string())?;
        ran?;
        let known = self.client.format.look(file.text.as_deref().unwrap_or_default());
        match known {
            Ok(known) if known.is_some() == self.entry.is_some() => Ok(()),
            Ok(_) => Err(format!(
                "`{}` said yes and did not change `{}`",
                own.shown(),
                file.real.display()
            )),
            Err(trouble) => Err(format!("`{}` left a broken file: {trouble}", own.shown())),
        }
    }

    fn replace(
        &self,
        file: &mut ClientFile,
        after: &FileAfter,
    ) -> Result<Vec<PathBuf>, FileTrouble> {
        // A project's file is for everyone who may read the project, the user's may come to hold keys.
        let mode = match self.scope {
            ConfigScope::User => 0o600,
            ConfigScope::Project => 0o666,
        };
        match after {
            FileAfter::Text(text) => file.replace(text, mode),
            FileAfter::NoFile => file.delete().map(|()| Vec::new()),
        }
    }
}

/// What is to be said of a command that took out more than it should.
fn lost_by(own: &OwnCommand, lost: &[String]) -> String {
    let names: Vec<String> = lost.iter().take(5).map(|name| format!("`{name}`")).collect();
    let more = match lost.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "`{}` also took out or changed {}{more}: compare the file with the copy of how it was",
        own.shown(),
        names.join(", ")
    )
}

/// How an install is undone.
#[derive(Debug)]
struct UndoPlan {
    means: InstallMeans,
    after: FileAfter,
    note: Option<String>,
}

/// What a file should be.
#[derive(Debug)]
enum FileAfter {
    Text(String),
    NoFile,
}

impl FileAfter {
    fn text(&self) -> Option<&str> {
        match self {
            FileAfter::Text(text) => Some(text),
            FileAfter::NoFile => None,
        }
    }
}
