//! What several engines cannot do: behaviours of the list that fall together, because one lack takes all of them.

/// Why an engine cannot do something, and the behaviours that it lacks therefore.
pub(crate) type Cannot = (&'static str, &'static [&'static str]);

/// All that needs a list of the user's names.
pub(crate) const LISTED_NAMES: &[&str] = &[
    "E-13 changes of names are told",
    "E-13 changes before an error are told",
    "ST-1 names are listed with their types",
    "ST-1 ten thousand names are listed within bounds, and counted",
    "ST-1 names are refused while code runs, and given after",
    "S-10 the number of names is told",
    "S-7 clear empties the namespace",
    "S-7 clear keeps the process",
    "S-7 clear says what goes on, and evals are numbered on",
];

/// All that needs the value, type and text of one name.
pub(crate) const DESCRIBED_NAMES: &[&str] = &[
    "ST-1 a name is described",
    "ST-1 a name that is not there is said to be none, with names near to it",
    "ST-1 a part of what is known of a name can be asked for",
];

/// Questions that the code itself puts to the user.
pub(crate) const QUESTIONS: &[&str] = &[
    "E-8 input is waited for and given",
    "E-8 two questions in a row are two waits",
    "E-8 that it waits, and for what, is told to all",
    "E-8 code is refused while input is waited for",
    "E-8 input is refused where nothing waits",
    "E-8 after an end of file the next eval can read",
    "E-8 input without a line end is no line yet",
    "E-9 input that nobody read is dropped",
    "E-4 a background eval that waits is answered by its id",
    "E-6 a wait for input is interrupted",
];

/// Children that read what the user is asked for.
pub(crate) const READING_CHILDREN: &[&str] = &[
    "E-8 a child that reads is found",
    "E-8 input of any text arrives as it is",
    "E-6 a child that reads is interrupted",
];

/// Standard input that is read as a file.
pub(crate) const READ_TO_THE_END: &[&str] = &["E-8 the end of input is an end of file"];

/// Code of the user's that is stopped where it stands, and its state stays.
pub(crate) const INTERRUPTS: &[&str] = &[
    "E-6 a busy loop is interrupted, state stays",
    "E-6 a sleep is interrupted",
    "E-6 a paused eval is interrupted",
    "E-6 code at the start of a session is interrupted",
    "E-6 background processes of earlier evals are spared",
    "PY-12 ten interrupts in a row hit no later eval",
    "E-3 a hard timeout interrupts, state stays",
];

/// State in files.
pub(crate) const SAVED: &[&str] = &[
    "ST-2 what was saved comes back over what there is",
    "ST-2 names that were asked for are saved, and others are named",
];
