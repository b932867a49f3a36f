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

use crate::context::Context;
use crate::print::CommandResult;

/// What can be asked for.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CliCommand {
    Launch(launch::LaunchArgs),
    Start(start::StartArgs),
    Eval(eval::EvalArgs),
    Shell(shell::ShellArgs),
    Run(run::RunArgs),
    Input(input::InputArgs),
    Interrupt(interrupt::InterruptArgs),
    Pause(pause::PauseArgs),
    Resume(resume::ResumeArgs),
    Output(output::OutputArgs),
    Evals(evals::EvalsArgs),
    History(history::HistoryArgs),
    Wait(wait::WaitArgs),
    Ls(ls::LsArgs),
    Status(status::StatusArgs),
    Restart(restart::RestartArgs),
    Clear(clear::ClearArgs),
    Stop(stop::StopArgs),
    Kill(kill::KillArgs),
    Rm(rm::RmArgs),
    Gc(gc::GcArgs),
    Logs(logs::LogsArgs),
    Watch(watch::WatchArgs),
    Vars(vars::VarsArgs),
    Inspect(inspect::InspectArgs),
    Save(save::SaveArgs),
    Load(load::LoadArgs),
    Checkpoint(checkpoint::CheckpointArgs),
    Rollback(rollback::RollbackArgs),
    Undo(undo::UndoArgs),
    Stdlib(stdlib::StdlibArgs),
    Config(config::ConfigArgs),
    Allow(allow::AllowArgs),
    Toolchains(toolchains::ToolchainsArgs),
    Mcp(mcp::McpArgs),
    Install(install::InstallArgs),
    Skill(skill::SkillArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl CliCommand {
    /// The command's name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            CliCommand::Launch(_) => "launch",
            CliCommand::Start(_) => "start",
            CliCommand::Eval(_) => "eval",
            CliCommand::Shell(_) => "shell",
            CliCommand::Run(_) => "run",
            CliCommand::Input(_) => "input",
            CliCommand::Interrupt(_) => "interrupt",
            CliCommand::Pause(_) => "pause",
            CliCommand::Resume(_) => "resume",
            CliCommand::Output(_) => "output",
            CliCommand::Evals(_) => "evals",
            CliCommand::History(_) => "history",
            CliCommand::Wait(_) => "wait",
            CliCommand::Ls(_) => "ls",
            CliCommand::Status(_) => "status",
            CliCommand::Restart(_) => "restart",
            CliCommand::Clear(_) => "clear",
            CliCommand::Stop(_) => "stop",
            CliCommand::Kill(_) => "kill",
            CliCommand::Rm(_) => "rm",
            CliCommand::Gc(_) => "gc",
            CliCommand::Logs(_) => "logs",
            CliCommand::Watch(_) => "watch",
            CliCommand::Vars(_) => "vars",
            CliCommand::Inspect(_) => "inspect",
            CliCommand::Save(_) => "save",
            CliCommand::Load(_) => "load",
            CliCommand::Checkpoint(_) => "checkpoint",
            CliCommand::Rollback(_) => "rollback",
            CliCommand::Undo(_) => "undo",
            CliCommand::Stdlib(_) => "stdlib",
            CliCommand::Config(_) => "config",
            CliCommand::Allow(_) => "allow",
            CliCommand::Toolchains(_) => "toolchains",
            CliCommand::Mcp(_) => "mcp",
            CliCommand::Install(_) => "install",
            CliCommand::Skill(_) => "skill",
            CliCommand::Doctor(_) => "doctor",
            CliCommand::Completions(_) => "completions",
            CliCommand::Man(_) => "man",
        }
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

    /// Carries the command out; returns the exit code.
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        match self {
            CliCommand::Launch(args) => args.run(context),
            CliCommand::Start(args) => args.run(context),
            CliCommand::Eval(args) => args.run(context),
            CliCommand::Shell(args) => args.run(context),
            CliCommand::Run(args) => args.run(context),
            CliCommand::Input(args) => args.run(context),
            CliCommand::Interrupt(args) => args.run(context),
            CliCommand::Pause(args) => args.run(context),
            CliCommand::Resume(args) => args.run(context),
            CliCommand::Output(args) => args.run(context),
            CliCommand::Evals(args) => args.run(context),
            CliCommand::History(args) => args.run(context),
            CliCommand::Wait(args) => args.run(context),
            CliCommand::Ls(args) => args.run(context),
            CliCommand::Status(args) => args.run(context),
            CliCommand::Restart(args) => args.run(context),
            CliCommand::Clear(args) => args.run(context),
            CliCommand::Stop(args) => args.run(context),
            CliCommand::Kill(args) => args.run(context),
            CliCommand::Rm(args) => args.run(context),
            CliCommand::Gc(args) => args.run(context),
            CliCommand::Logs(args) => args.run(context),
            CliCommand::Watch(args) => args.run(context),
            CliCommand::Vars(args) => args.run(context),
            CliCommand::Inspect(args) => args.run(context),
            CliCommand::Save(args) => args.run(context),
            CliCommand::Load(args) => args.run(context),
            CliCommand::Checkpoint(args) => args.run(context),
            CliCommand::Rollback(args) => args.run(context),
            CliCommand::Undo(args) => args.run(context),
            CliCommand::Stdlib(args) => args.run(context),
            CliCommand::Config(args) => args.run(context),
            CliCommand::Allow(args) => args.run(context),
            CliCommand::Toolchains(args) => args.run(context),
            CliCommand::Mcp(args) => args.run(context),
            CliCommand::Install(args) => args.run(context),
            CliCommand::Skill(args) => args.run(context),
            CliCommand::Doctor(args) => args.run(context),
            CliCommand::Completions(args) => args.run(context),
            CliCommand::Man(args) => args.run(context),
        }
    }
}
