//! One file per subcommand, each with its arguments and its `run`.

mod clear;
mod completions;
mod doctor;
mod eval;
mod evals;
mod gc;
mod input;
mod inspect;
mod interrupt;
mod launch;
mod logs;
mod ls;
mod mcp;
mod output;
mod pause;
mod restart;
mod resume;
mod rm;
mod run;
mod shell;
mod status;
mod stop;
mod vars;

use crate::context::Context;
use crate::print::CommandResult;

/// What can be asked for.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Launch(launch::LaunchArgs),
    Eval(eval::EvalArgs),
    Shell(shell::ShellArgs),
    Run(run::RunArgs),
    Input(input::InputArgs),
    Interrupt(interrupt::InterruptArgs),
    Pause(pause::PauseArgs),
    Resume(resume::ResumeArgs),
    Output(output::OutputArgs),
    Evals(evals::EvalsArgs),
    Ls(ls::LsArgs),
    Status(status::StatusArgs),
    Restart(restart::RestartArgs),
    Clear(clear::ClearArgs),
    Stop(stop::StopArgs),
    Rm(rm::RmArgs),
    Gc(gc::GcArgs),
    Logs(logs::LogsArgs),
    Vars(vars::VarsArgs),
    Inspect(inspect::InspectArgs),
    Mcp(mcp::McpArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// The command's name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::Launch(_) => "launch",
            Command::Eval(_) => "eval",
            Command::Shell(_) => "shell",
            Command::Run(_) => "run",
            Command::Input(_) => "input",
            Command::Interrupt(_) => "interrupt",
            Command::Pause(_) => "pause",
            Command::Resume(_) => "resume",
            Command::Output(_) => "output",
            Command::Evals(_) => "evals",
            Command::Ls(_) => "ls",
            Command::Status(_) => "status",
            Command::Restart(_) => "restart",
            Command::Clear(_) => "clear",
            Command::Stop(_) => "stop",
            Command::Rm(_) => "rm",
            Command::Gc(_) => "gc",
            Command::Logs(_) => "logs",
            Command::Vars(_) => "vars",
            Command::Inspect(_) => "inspect",
            Command::Mcp(_) => "mcp",
            Command::Doctor(_) => "doctor",
            Command::Completions(_) => "completions",
        }
    }

    /// Whether its arguments may be code, input or values of variables.
    pub(crate) fn may_hold_secrets(&self) -> bool {
        matches!(
            self,
            Command::Launch(_)
                | Command::Eval(_)
                | Command::Shell(_)
                | Command::Run(_)
                | Command::Input(_)
                | Command::Inspect(_)
        )
    }

    /// Carries the command out; returns the exit code.
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        match self {
            Command::Launch(args) => args.run(context),
            Command::Eval(args) => args.run(context),
            Command::Shell(args) => args.run(context),
            Command::Run(args) => args.run(context),
            Command::Input(args) => args.run(context),
            Command::Interrupt(args) => args.run(context),
            Command::Pause(args) => args.run(context),
            Command::Resume(args) => args.run(context),
            Command::Output(args) => args.run(context),
            Command::Evals(args) => args.run(context),
            Command::Ls(args) => args.run(context),
            Command::Status(args) => args.run(context),
            Command::Restart(args) => args.run(context),
            Command::Clear(args) => args.run(context),
            Command::Stop(args) => args.run(context),
            Command::Rm(args) => args.run(context),
            Command::Gc(args) => args.run(context),
            Command::Logs(args) => args.run(context),
            Command::Vars(args) => args.run(context),
            Command::Inspect(args) => args.run(context),
            Command::Mcp(args) => args.run(context),
            Command::Doctor(args) => args.run(context),
            Command::Completions(args) => args.run(context),
        }
    }
}
