//! The commands that hints about failed code name (SPEC E-18).

use stead_client::{EvalView, HintCalls};
use stead_protocol::SessionName;

/// The hint for an eval whose code failed, if there is one.
pub(crate) fn hint(view: &EvalView) -> Option<String> {
    Some(view.hint.as_deref()?.text(&view.session, &CommandCalls))
}

struct CommandCalls;

impl HintCalls for CommandCalls {
    fn shell(&self, command: &str) -> String {
        format!("`stead shell {}`", quoted(command))
    }

    fn eval(&self, language: &str) -> String {
        let name = stead_config::language(language).map_or(language, |language| language.alias);
        format!("`stead eval -n {name} …`")
    }

    fn inspect(&self, session: &SessionName, name: &str) -> String {
        format!("`stead inspect -n {session} {name}`")
    }

    fn names(&self, session: &SessionName) -> String {
        format!("`stead vars -n {session}`")
    }

    fn clear(&self, session: &SessionName) -> String {
        format!("`stead clear -n {session}`")
    }

    fn restart(&self, session: &SessionName) -> String {
        format!("`stead restart -n {session}`")
    }
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use stead_client::{EvalStatus, Hint};
    use stead_protocol::EvalSeq;

    use super::*;

    #[test]
    fn e18_hints_name_commands() {
        let mut view = EvalView::new(&"py".parse().unwrap(), Some(EvalSeq(1)), EvalStatus::Error);
        assert_eq!(hint(&view), None);
        let command = "echo 'a'".to_owned();
        view.hint = Some(Box::new(Hint::Shell { mark: None, command }));
        let said = hint(&view).unwrap();
        assert!(said.ends_with(r"`stead shell 'echo '\''a'\'''`"), "{said}");
        let node = Hint::OtherLanguage { title: "JavaScript", session: Some("node") };
        view.hint = Some(Box::new(node));
        assert_eq!(hint(&view).unwrap(), "this looks like JavaScript: `stead eval -n js …`");
    }
}
