//! Options that name an interpreter: one for all languages, and one for each language that has its own in the
//! table.

use clap::{Arg, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches};
use stead_config::Language;

/// The group of these options, of which one may be given.
pub(crate) const GROUP: &str = "named_interpreter";
const ANY: &str = "interpreter";

/// The interpreter that the user named.
#[derive(Debug)]
pub(crate) struct InterpreterArgs {
    /// The language whose option it was.
    pub(crate) language: Option<&'static Language>,
    /// An executable, or another kind of name that the language takes.
    pub(crate) path: Option<String>,
}

fn with_option() -> impl Iterator<Item = (&'static Language, &'static str)> {
    stead_config::offered().filter_map(|language| Some((language, language.option?)))
}

impl Args for InterpreterArgs {
    fn augment_args(command: Command) -> Command {
        let option = |name| Arg::new(name).long(name).value_name("PATH");
        let any = "Interpreter to use, of any language: an executable or a name on the PATH";
        command
            .args(with_option().map(|(language, help)| option(language.name).help(help)))
            .arg(option(ANY).help(any))
            .group(
                ArgGroup::new(GROUP)
                    .args(with_option().map(|(language, _)| language.name))
                    .arg(ANY),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for InterpreterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |name| matches.get_one::<String>(name).cloned();
        let own = with_option()
            .find_map(|(language, _)| given(language.name).map(|path| (language, path)));
        Ok(match own {
            Some((language, path)) => {
                InterpreterArgs { language: Some(language), path: Some(path) }
            }
            None => InterpreterArgs { language: None, path: given(ANY) },
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
