//! `stead stdlib`

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Serialize;
use stead_client::{Stdlib, StdlibChange, counted};
use stead_protocol::{Definition, DefinitionKind};

use super::eval::read_code;
use crate::context::Context;
use crate::print::CommandResult;
use crate::table::table;
use crate::text;

/// Most definitions that are listed.
const LISTED: usize = 500;

/// Keep functions of your own that every new session has
///
/// One file of plain source for each language, in ~/.config/stead/stdlib (or XDG_CONFIG_HOME), which you
/// may edit yourself. New sessions begin with it unless they are started with `--no-stdlib`; its names are not
/// listed as yours. One that is broken is reported and keeps no session from starting.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead stdlib add 'def double(x): return 2 * x'
  stead stdlib add -l bash --file helpers.sh
  stead stdlib list
  stead stdlib show double
  stead stdlib remove double")]
pub(crate) struct StdlibArgs {
    #[command(subcommand)]
    action: StdlibCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StdlibCommand {
    /// List what it defines: functions with their signature, classes, modules, and the rest
    List {
        #[command(flatten)]
        language: LanguageArg,
    },
    /// Add code: it must compile, and a definition replaces the one that has its name
    ///
    /// The code is the argument, or `--file`, or standard input. None of it is run.
    Add {
        /// Code to add; `-` reads it from standard input
        #[arg(value_name = "CODE")]
        code: Option<OsString>,
        /// Read the code from a file, `-` for standard input
        #[arg(short, long, value_name = "FILE", conflicts_with = "code")]
        file: Option<PathBuf>,
        #[command(flatten)]
        language: LanguageArg,
    },
    /// Show its source, or that of one name
    Show {
        /// Name to show
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        language: LanguageArg,
    },
    /// Remove definitions, with the comments right above them
    Remove {
        /// Names to remove
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        #[command(flatten)]
        language: LanguageArg,
    },
}

#[derive(Debug, clap::Args)]
struct LanguageArg {
    /// Language; python unless given
    #[arg(short, long, value_name = "LANGUAGE")]
    language: Option<String>,
}

#[derive(Debug, Serialize)]
struct StdlibListData<'a> {
    language: &'a str,
    path: String,
    functions: Vec<Entry<'a>>,
    classes: Vec<Entry<'a>>,
    modules: Vec<Entry<'a>>,
    others: Vec<Entry<'a>>,
    count: usize,
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
    /// The first line of a definition that is neither a function nor a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<&'a str>,
    line: usize,
}

#[derive(Debug, Serialize)]
struct ChangeData<'a> {
    language: &'a str,
    path: String,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    added: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    replaced: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    removed: &'a [String],
    /// Statements that define no name.
    #[serde(skip_serializing_if = "is_zero")]
    other: usize,
    count: usize,
}

#[derive(Debug, Serialize)]
struct ShowData<'a> {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    source: &'a str,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl StdlibArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let client = &context.client;
        match self.action {
            StdlibCommand::List { language } => {
                let stdlib = client.stdlib(language.language.as_deref())?;
                context.answer("complete", list_data(&stdlib), || listing(&stdlib))
            }
            StdlibCommand::Add { code, file, language } => {
                let code = read_code(code, file.as_deref(), context)?;
                changed(context, &client.add_to_stdlib(language.language.as_deref(), &code)?)
            }
            StdlibCommand::Remove { names, language } => {
                changed(context, &client.remove_from_stdlib(language.language.as_deref(), &names)?)
            }
            StdlibCommand::Show { name, language } => {
                let (path, source) =
                    client.stdlib_text(language.language.as_deref(), name.as_deref())?;
                let path = path.display().to_string();
                let data = ShowData { path, name: name.as_deref(), source: &source };
                let end = if source.is_empty() || source.ends_with('\n') { "" } else { "\n" };
                context.answer("complete", data, || format!("{source}{end}"))
            }
        }
    }
}

fn list_data(stdlib: &Stdlib) -> StdlibListData<'_> {
    let mut room = LISTED;
    let mut of = |kind: DefinitionKind| -> Vec<Entry<'_>> {
        let entries: Vec<_> = stdlib.of(kind).take(room).map(entry).collect();
        room -= entries.len();
        entries
    };
    let (functions, classes) = (of(DefinitionKind::Function), of(DefinitionKind::Class));
    let (modules, others) = (of(DefinitionKind::Module), of(DefinitionKind::Other));
    let count = stdlib.count();
    StdlibListData {
        language: stdlib.language.name,
        path: stdlib.path.display().to_string(),
        more: count.saturating_sub(LISTED),
        functions,
        classes,
        modules,
        others,
        count,
    }
}

fn entry(one: &Definition) -> Entry<'_> {
    let is_function = one.kind == DefinitionKind::Function;
    let text = one.signature.as_deref();
    Entry {
        name: &one.name,
        signature: text.filter(|_| is_function),
        code: text.filter(|_| !is_function),
        doc: one.doc.as_deref(),
        line: one.from,
    }
}

fn listing(stdlib: &Stdlib) -> String {
    let path = stdlib.path.display();
    let (language, count) = (stdlib.language.name, stdlib.count());
    if count == 0 {
        return format!("no standard library for {language}: {path} defines nothing\n");
    }
    let kinds = [
        (DefinitionKind::Function, "function"),
        (DefinitionKind::Class, "class"),
        (DefinitionKind::Module, "module"),
        (DefinitionKind::Other, "other"),
    ];
    let row = |word: &str, one: &Definition| {
        let signature = one.signature.as_deref().unwrap_or_default();
        let (name, about) = match one.kind {
            DefinitionKind::Function => (format!("{}{signature}", one.name), one.doc.as_deref()),
            DefinitionKind::Class => (one.name.clone(), one.doc.as_deref()),
            _ => (one.name.clone(), Some(signature)),
        };
        vec![
            word.to_owned(),
            text::first_line(&name, 60),
            text::first_line(about.unwrap_or_default(), 80),
        ]
    };
    let rows = kinds.iter().flat_map(|(kind, word)| stdlib.of(*kind).map(|one| row(word, one)));
    let rows: Vec<Vec<String>> = rows.take(LISTED).collect();
    let mut shown = table(&["KIND", "NAME", "WHAT"], &rows);
    if count > rows.len() {
        shown.push_str(&format!("and {} more\n", count - rows.len()));
    }
    shown + &format!("{} in {path}\n", counted(count as u64, "definition", "definitions"))
}

fn changed(context: &Context, change: &StdlibChange) -> CommandResult {
    let stdlib = &change.stdlib;
    let data = ChangeData {
        language: stdlib.language.name,
        path: stdlib.path.display().to_string(),
        added: &change.added,
        replaced: &change.replaced,
        removed: &change.removed,
        other: change.statements,
        count: stdlib.count(),
    };
    context.answer("complete", data, || {
        let path = stdlib.path.display();
        let count = counted(stdlib.count() as u64, "definition", "definitions");
        format!("{}: {count} in {path}\n", change.said())
    })
}
