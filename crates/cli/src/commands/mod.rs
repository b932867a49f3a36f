//! One file per subcommand, each with its arguments and its `run`.

mod allow;
mod checkpoint;
mod clear;
mod completions;
mod config;
mod doctor;
mod doctor_clients;
mod eval;
mod evals;
mod gc;
mod history;
mod input;
mod inspect;
mod install;
mod interrupt;
mod kill;
mod launch;
mod load;
mod logs;
mod ls;
mod man;
mod mcp;
mod output;
mod pause;
mod restart;
mod resume;
mod rm;
mod rollback;
mod run;
mod save;
mod shell;
mod skill;
mod start;
mod status;
mod stdlib;
mod stop;
mod toolchains;
mod undo;
mod vars;
mod wait;
mod watch;

use clap::Args;

use crate::context::{Context, WorkspaceNeed};
use crate::print::CommandResult;

/// Defines the commands by one list: variant, arguments and name.
macro_rules! commands {
    ($($variant:ident($module:ident::$args:ident) = $name:literal,)*) => {
        /// What can be asked for.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum CliCommand {
            $($variant($module::$args),)*
        }

        impl CliCommand {
            /// The command's name on the command line.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(CliCommand::$variant(_) => $name,)*
                }
            }

            /// How the words of this one command are read.
            pub(crate) fn definition(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some($module::$args::augment_args(clap::Command::new($name))),)*
                    _ => None,
                }
            }

            /// Carries the command out; returns the exit code.
            pub(crate) fn run(self, context: &Context) -> CommandResult {
                match self {
                    $(CliCommand::$variant(args) => args.run(context),)*
                }
            }
        }
    };
}

commands! {
    Launch(launch::LaunchArgs) = "launch",
    Start(start::StartArgs) = "start",
    Eval(eval::EvalArgs) = "eval",
    Shell(shell::ShellArgs) = "shell",
    Run(run::RunArgs) = "run",
    Input(input::InputArgs) = "input",
    Interrupt(interrupt::InterruptArgs) = "interrupt",
    Pause(pause::PauseArgs) = "pause",
    Resume(resume::ResumeArgs) = "resume",
    Output(output::OutputArgs) = "output",
    Evals(evals::EvalsArgs) = "evals",
    History(history::HistoryArgs) = "history",
    Wait(wait::WaitArgs) = "wait",
    Ls(ls::LsArgs) = "ls",
    Status(status::StatusArgs) = "status",
    Restart(restart::RestartArgs) = "restart",
    Clear(clear::ClearArgs) = "clear",
    Stop(stop::StopArgs) = "stop",
    Kill(kill::KillArgs) = "kill",
    Rm(rm::RmArgs) = "rm",
    Gc(gc::GcArgs) = "gc",
    Logs(logs::LogsArgs) = "logs",
    Watch(watch::WatchArgs) = "watch",
    Vars(vars::VarsArgs) = "vars",
    Inspect(inspect::InspectArgs) = "inspect",
    Save(save::SaveArgs) = "save",
    Load(load::LoadArgs) = "load",
    Checkpoint(checkpoint::CheckpointArgs) = "checkpoint",
    Rollback(rollback::RollbackArgs) = "rollback",
    Undo(undo::UndoArgs) = "undo",
    Stdlib(stdlib::StdlibArgs) = "stdlib",
    Config(config::ConfigArgs) = "config",
    Allow(allow::AllowArgs) = "allow",
    Toolchains(toolchains::ToolchainsArgs) = "toolchains",
    Mcp(mcp::McpArgs) = "mcp",
    Install(install::InstallArgs) = "install",
    Skill(skill::SkillArgs) = "skill",
    Doctor(doctor::DoctorArgs) = "doctor",
    Completions(completions::CompletionsArgs) = "completions",
    Man(man::ManArgs) = "man",
}

impl CliCommand {
    /// Whether the command can do nothing without knowing the project that it is for.
    pub(crate) fn workspace_need(&self) -> WorkspaceNeed {
        let needed = match self {
            CliCommand::Completions(_)
            | CliCommand::Doctor(_)
            | CliCommand::Gc(_)
            | CliCommand::Man(_)
            | CliCommand::Stdlib(_) => false,
            CliCommand::Config(args) => args.needs_workspace(),
            CliCommand::Install(args) => args.needs_workspace(),
            CliCommand::Ls(args) => args.needs_workspace(),
            CliCommand::Skill(args) => args.needs_workspace(),
            CliCommand::Watch(args) => args.needs_workspace(),
            _ => true,
        };
        if needed { WorkspaceNeed::Required } else { WorkspaceNeed::Optional }
    }

    /// Whether its arguments may be code, input or values of variables.
    pub(crate) fn may_hold_secrets(&self) -> bool {
        matches!(
            self,
            CliCommand::Launch(_)
                | CliCommand::Start(_)
                | CliCommand::Eval(_)
                | CliCommand::Shell(_)
                | CliCommand::Run(_)
                | CliCommand::Input(_)
                | CliCommand::Inspect(_)
                | CliCommand::Stdlib(_)
        )
    }
}
