//! The standard libraries, the user's and the project's: run at each start and after each `clear`, and never a reason not to
//! start (SPEC ST-4).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

use stead_interpreter::Order;
use stead_protocol::bridge::DoneStatus;
use stead_protocol::{By, EvalSeq, MAX_STDLIB, Outcome, Work, WorkKind, stdlib_source};
use stead_spool::SpoolError;

use crate::host::Host;
use crate::record::ledger::Taken;
use crate::session::library::{LibraryOwner, LibraryText, LibraryTurn, Loading, STDLIB_LIMIT};
use crate::session::state::{Eval, EvalRole, Input};
use crate::session::work::Pending;

impl Host {
    /// Records that the libraries are run, those that there are.
    pub(crate) fn accept_stdlib(&mut self) -> Result<Vec<Eval>, SpoolError> {
        // The status of a library that ended the last interpreter is kept, so that clients still see it.
        self.library.status.take_if(|_| self.library.deadly.is_empty());
        self.library.loading.clear();
        let mut accepted = Vec::new();
        for LibraryText { owner, text, hash } in self.read_stdlib() {
            let (kind, by) = (WorkKind::Stdlib, By::init());
            let work = Work::Stdlib { text };
            let taken = Taken { kind, code: &work.code(), by: &by, key: None, token: None };
            let eval = self.ledger.accept(taken, None)?;
            self.pending.insert(eval, Pending { kind, by, work: Some(work), ..Pending::default() });
            self.introduce(eval);
            let loading = Loading::new(eval, owner, hash, LibraryTurn::Start);
            self.library.loading.push_back(loading);
            let hard_timeout = Some(STDLIB_LIMIT);
            accepted.push(Eval { seq: eval, hard_timeout, role: EvalRole::Stdlib });
        }
        Ok(accepted)
    }

    /// Runs the libraries as further parts of the `clear` that runs; whether there is anything to run.
    pub(crate) fn load_stdlib_again(&mut self) -> bool {
        let Some(eval) = self.state.running().map(|run| run.eval) else { return false };
        self.library.status = None;
        let again = |LibraryText { owner, text, hash }| {
            Loading::new(eval, owner, hash, LibraryTurn::ClearWaits { text })
        };
        self.library.loading = self.read_stdlib().into_iter().map(again).collect();
        if !self.order_stdlib_part() {
            return false;
        }
        self.step(Input::LoadsStdlib);
        true
    }

    /// Orders the library that is next as a part of the `clear` that runs.
    fn order_stdlib_part(&mut self) -> bool {
        let Some((eval, text)) = self.library.send_next() else { return false };
        self.orders.push_back(Order::Work {
            eval: self.eval_id(eval),
            what: WorkKind::Stdlib.as_str().to_owned(),
            argument: text,
            limit_ms: Some(STDLIB_LIMIT),
        });
        true
    }

    /// Goes on with the next library, if the `clear` that runs has another one to load; whether it has.
    pub(crate) fn goes_on_loading(&mut self, status: DoneStatus) -> bool {
        let Some(loading) = self.library.end_part(status) else { return false };
        self.note_loaded(loading, &Outcome::Complete);
        self.order_stdlib_part()
    }

    /// The texts of the libraries that there are and that are not known to end interpreters.
    fn read_stdlib(&mut self) -> Vec<LibraryText> {
        if self.cannot_work(WorkKind::Stdlib).is_some() {
            return Vec::new();
        }
        let startup = &self.meta.settings.startup;
        let (users, projects) = (startup.stdlib.clone(), startup.project_stdlib.clone());
        let users = users.and_then(|path| {
            match stead_files::read_users_text(Path::new(&path), MAX_STDLIB as u64) {
                Ok(text) => Some(text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => {
                    let error = format!("could not read `{path}`: {error}");
                    self.library.fail(LibraryOwner::User, None, error, false);
                    None
                }
            }
        });
        let texts = [(LibraryOwner::User, users), (LibraryOwner::Project, projects)];
        let texts = texts.into_iter().filter_map(|(owner, text)| {
            let text = stdlib_source(&text?);
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let hash = hasher.finish();
            let runs = !text.trim().is_empty() && !self.library.deadly.contains(&hash);
            runs.then_some(LibraryText { owner, text, hash })
        });
        texts.collect()
    }

    /// Notes how the library ended, if this eval ran it; what its reply is to say of that.
    pub(crate) fn stdlib_ended(&mut self, eval: EvalSeq, outcome: &Outcome) -> Option<String> {
        let at = self.library.loading.iter().position(|loading| loading.eval == eval)?;
        let loading = self.library.loading.remove(at)?;
        let again = loading.is_part_of_clear();
        self.note_loaded(loading, outcome);
        // Libraries of this eval that are left belong to a `clear` that was cut short.
        self.library.loading.retain(|loading| loading.eval != eval);
        self.library.notice.take_if(|_| again)
    }

    /// Notes how one library ended.
    fn note_loaded(&mut self, loading: Loading, outcome: &Outcome) {
        let id = self.eval_id(loading.eval);
        self.library.note_loaded(loading, outcome, &id);
    }

    /// The next interpreter is asked for by a client, who may have mended the library.
    pub(crate) fn retry_stdlib(&mut self) {
        self.library.deadly.clear();
    }
}
