//! What is known of kernels beyond what they say of themselves. Measured with real kernels; the protocol has no words for it.

use serde_json::Value;

/// How the code of a kernel is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptWay {
    /// By SIGINT to the kernel's main thread. Processes that the eval started get theirs from the host.
    Signal,
    /// By SIGINT to the processes that the kernel started: one of them runs the code.
    Children,
    /// By the message `interrupt_request`.
    Message,
    /// Not at all: the kernel would die of a signal and takes no notice of a message.
    Never,
}

/// What differs from kernel to kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelQuirks {
    /// How its code is interrupted.
    pub interrupt: InterruptWay,
    /// It sends the value of code as `display_data`.
    pub displays_values: bool,
    /// Text that the kernel's process writes to its own streams is no output of the code: the kernel
    /// publishes the output as well, or the text is only its log.
    pub echoes: bool,
    /// How lines begin that its process writes to its own stderr about an interrupt.
    pub grumbles: Option<&'static str>,
    /// Code in this kernel has no standard input: code that reads it hangs, and the kernel sends no request for input.
    pub no_stdin: bool,
    /// The kernel publishes each piece of a line by itself, so that its reader cannot take much output in
    /// time. Messages that are thrown away then are not noticed, because they have no numbers.
    pub loses_output: bool,
    /// The kernel runs its own code for a while before the first code of the user, and an interrupt would end it then.
    pub warms_up: bool,
    /// While it asks the user, it acts on an interrupt only once it has an answer.
    pub asks_on: bool,
    /// It says that it is idle before all output of the code is published.
    pub idle_early: bool,
}

/// A kernel by the name of its implementation.
struct KnownKernel {
    /// What the name begins with, in lower case.
    implementation: &'static str,
    quirks: KernelQuirks,
}

const PLAIN: KernelQuirks = KernelQuirks {
    interrupt: InterruptWay::Signal,
    displays_values: false,
    echoes: false,
    grumbles: None,
    no_stdin: false,
    loses_output: false,
    warms_up: false,
    asks_on: false,
    idle_early: false,
};

const KNOWN: [KnownKernel; 6] = [
    // ipykernel reads the output of children from a pipe, publishes it, and writes it to its own former streams, too.
    KnownKernel { implementation: "ipython", quirks: KernelQuirks { echoes: true, ..PLAIN } },
    // SIGINT ends a xeus kernel, and an `interrupt_request` has no effect on code that runs.
    KnownKernel {
        implementation: "xeus",
        quirks: KernelQuirks { interrupt: InterruptWay::Never, loses_output: true, ..PLAIN },
    },
    KnownKernel {
        implementation: "xpython",
        quirks: KernelQuirks { interrupt: InterruptWay::Never, loses_output: true, ..PLAIN },
    },
    // SIGINT ends Deno; its kernelspec does not say that it takes interrupts as messages.
    KnownKernel {
        implementation: "deno",
        quirks: KernelQuirks {
            interrupt: InterruptWay::Message,
            asks_on: true,
            idle_early: true,
            grumbles: Some("CDP response has null result"),
            ..PLAIN
        },
    },
    KnownKernel {
        implementation: "irkernel",
        quirks: KernelQuirks { displays_values: true, warms_up: true, ..PLAIN },
    },
    KnownKernel {
        implementation: "bash_kernel",
        // If SIGINT went to the kernel's own process, too, the reply would be lost when the command that it
        // waits for ends of the signal. Output of the code goes to a terminal that the kernel reads.
        quirks: KernelQuirks {
            interrupt: InterruptWay::Children,
            no_stdin: true,
            echoes: true,
            ..PLAIN
        },
    },
];

/// What is known of the kernel that sent this `kernel_info_reply`. `by_message` is what its kernelspec says of interrupts;
/// a kernel that is not our child can only be sent messages.
pub fn quirks(info: &Value, by_message: bool, is_child: bool) -> KernelQuirks {
    let name = info["implementation"].as_str().unwrap_or_default().to_ascii_lowercase();
    let known = KNOWN.iter().find(|known| name.starts_with(known.implementation));
    let mut quirks = known.map_or(PLAIN, |known| known.quirks);
    let by_signal = matches!(quirks.interrupt, InterruptWay::Signal | InterruptWay::Children);
    if by_signal && (by_message || !is_child) {
        quirks.interrupt = InterruptWay::Message;
    }
    quirks
}

/// Whether the kernel that a command starts listens on TCP ports only, so that sockets in a directory need not be tried.
pub(crate) fn wants_tcp(argv: &[String]) -> bool {
    let program = argv.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    matches!(program, "deno" | "tslab")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn k1_the_table_says_who_dies_of_a_signal() {
        let way = |name: &str, by_message, is_child| {
            quirks(&json!({"implementation": name}), by_message, is_child).interrupt
        };
        assert_eq!(way("ipython", false, true), InterruptWay::Signal);
        assert_eq!(way("ipython", true, true), InterruptWay::Message);
        assert_eq!(way("ipython", false, false), InterruptWay::Message);
        assert_eq!(way("xeus-python", false, true), InterruptWay::Never);
        assert_eq!(way("Deno kernel", false, true), InterruptWay::Message);
        assert_eq!(way("", false, true), InterruptWay::Signal);
        assert!(quirks(&json!({"implementation": "IRkernel"}), false, true).displays_values);
    }
}
