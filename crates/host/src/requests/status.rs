//! What the session tells about itself, whatever its interpreter does.

use stead_interpreter::{Figures, Order};
use stead_protocol::client::Reply;
use stead_protocol::{Activity, PROGRAM, Status};

use crate::host::Host;
use crate::session::state::{Input, Listening, Phase, Question, Ticket};

impl Host {
    pub(super) fn ask_status(&mut self, ticket: Ticket) {
        self.asked.statuses.push(ticket);
        self.orders.push_back(Order::Figures);
    }

    /// Answers the requests for status.
    pub(crate) fn figures(&mut self, figures: &Figures) {
        for ticket in std::mem::take(&mut self.asked.statuses) {
            let status = Box::new(self.status(figures));
            self.reply(ticket, Reply::Status(status));
        }
        if std::mem::take(&mut self.asked.whether_it_serves) {
            self.step(Input::Tick { attached: figures.usage.processes > 1 });
        }
    }

    fn status(&self, figures: &Figures) -> Status {
        let settings = &self.meta.settings;
        let found = self.meta.found.clone();
        let idle = matches!(self.state.phase, Phase::Idle { .. });
        Status {
            name: self.meta.name.clone(),
            workspace: self.meta.workspace.clone(),
            language: settings.engine.spoken().to_owned(),
            version: self.facts.version.clone(),
            interpreter: found.as_ref().map(|found| found.path.clone()).unwrap_or_default(),
            why: found.map(|found| found.reason()).unwrap_or_default(),
            activity: self.activity(),
            paused: figures.stopped,
            background_waiting: figures.reads && self.state.running().is_none(),
            generation: self.ledger.generation(),
            pid: figures.pid,
            host_pid: Some(std::process::id()),
            program: Some(PROGRAM.to_owned()),
            cwd: figures.cwd.clone().unwrap_or_else(|| settings.place.cwd.clone()),
            created_ms: Some(self.meta.created_ms),
            started_ms: self.facts.started_ms,
            last_used_ms: self.facts.last_used_ms,
            evals: self.ledger.codes(),
            by: self.state.running().and_then(|run| self.sent_by(run.eval)),
            queued: self.state.queue.iter().map(|eval| eval.seq).collect(),
            usage: figures.usage,
            background: if idle { figures.background.clone() } else { Vec::new() },
            variables: self.facts.variables,
            stdlib: self.library.status.clone(),
            undo: self.undo_status(figures.copies.bytes),
            runs_at: settings.engine.runs_at().map(str::to_owned),
            cannot: self.facts.cannot.clone(),
            sandbox: "off".to_owned(),
            idle_timeout_ms: settings.policy.idle_timeout_ms,
            spool_end: self.ledger.end(),
            unrecorded: self.ledger.unsaved().told(),
            // The client that asks is not counted.
            clients: self.clients.connections.len().saturating_sub(1) as u32,
        }
    }

    fn activity(&self) -> Activity {
        let elapsed_ms = self.ledger.began_ms().map_or(0, |began| self.clock.now() - began);
        match &self.state.phase {
            Phase::Starting { .. } => Activity::Starting,
            Phase::Idle { .. } => Activity::Idle,
            Phase::Querying { .. } => Activity::Querying,
            Phase::Running(run) => match &run.listening {
                Listening::Waits(Question { prompt, .. }) => {
                    Activity::WaitingInput { eval: run.eval, elapsed_ms, prompt: prompt.clone() }
                }
                listening @ (Listening::No | Listening::May { .. }) => Activity::Running {
                    eval: run.eval,
                    elapsed_ms,
                    last_line: self.ledger.last_line(),
                    listens: *listening != Listening::No,
                },
            },
            Phase::RollingBack(rolling) => Activity::Running {
                eval: rolling.work.eval,
                elapsed_ms,
                last_line: String::new(),
                listens: false,
            },
            Phase::Ending { .. } => Activity::Ending,
            Phase::Ended { reason } => Activity::Ended { reason: reason.clone() },
        }
    }
}
