//! Which evals a wait is for.

use stead_protocol::{EvalId, EvalSeq, SessionName};

use crate::{Client, ClientError};

/// An eval that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WakeTarget {
    pub(crate) session: SessionName,
    pub(crate) eval: TargetEval,
}

/// How the eval is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetEval {
    /// By its number.
    Seq(EvalSeq),
    /// By an id from a reply that came before it had a number: `py:~…`.
    Sent(String),
}

impl WakeTarget {
    pub(crate) fn seq(&self) -> Option<EvalSeq> {
        match self.eval {
            TargetEval::Seq(seq) => Some(seq),
            TargetEval::Sent(_) => None,
        }
    }

    pub(crate) fn id(&self) -> Option<EvalId> {
        self.seq().map(|seq| EvalId { session: self.session.clone(), seq })
    }

    /// Its id in words.
    pub(crate) fn text(&self) -> String {
        match &self.eval {
            TargetEval::Seq(seq) => format!("{}:{}", self.session, seq.0),
            TargetEval::Sent(given) => given.clone(),
        }
    }

    /// Its number is known now.
    pub(crate) fn name(&mut self, id: EvalId) {
        *self = WakeTarget { session: id.session, eval: TargetEval::Seq(id.seq) };
    }
}

/// The targets of each session, with their places in the list.
pub(crate) fn by_session(targets: &[WakeTarget]) -> Vec<(SessionName, Vec<(usize, TargetEval)>)> {
    let mut sessions: Vec<(SessionName, Vec<(usize, TargetEval)>)> = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        let one = (at, target.eval.clone());
        match sessions.iter_mut().find(|(name, _)| *name == target.session) {
            Some((_, evals)) => evals.push(one),
            None => sessions.push((target.session.clone(), vec![one])),
        }
    }
    sessions
}

impl Client {
    /// The evals that a user's words name, each once. Evals that do not exist are refused before the wait begins.
    pub(crate) fn targets(&self, given: &[String]) -> Result<Vec<WakeTarget>, ClientError> {
        let mut targets = Vec::new();
        for word in given {
            let target = self.wait_target(word)?;
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Ok(targets)
    }

    fn wait_target(&self, given: &str) -> Result<WakeTarget, ClientError> {
        let Some((name, number)) = given.split_once(':') else {
            let session = self.session(given)?;
            let Some(seq) = self.current(&session)? else {
                let known = format!("session `{session}` has had no evals");
                return Err(ClientError::NoEval { id: given.to_owned(), known });
            };
            return Ok(WakeTarget { session, eval: TargetEval::Seq(seq) });
        };
        if number.starts_with('~') {
            // The host may be silent, so the eval's number is looked for while the wait goes on.
            number.parse::<stead_protocol::Token>()?;
            let session = self.session(name)?;
            self.require(&session, true)?;
            return Ok(WakeTarget { session, eval: TargetEval::Sent(given.to_owned()) });
        }
        let id = self.resolve_eval(given.parse()?);
        self.entry(&id)?;
        Ok(WakeTarget { session: id.session, eval: TargetEval::Seq(id.seq) })
    }
}
