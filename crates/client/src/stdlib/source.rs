//! The text of a standard library: what is added takes the place of what had its name, and all that a person wrote
//! stays as it is and where it is. No IO here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use stead_protocol::{Definition, DefinitionKind};

/// Lines that belong together: those of one statement, or of several that share a line.
#[derive(Debug)]
struct SourcePiece<'a> {
    /// Indexes of its lines, without the comment above.
    lines: Range<usize>,
    comment: Option<usize>,
    names: BTreeSet<&'a str>,
    is_module: bool,
    is_head: bool,
    goes_first: bool,
}

impl SourcePiece<'_> {
    /// Its lines with the comment above, or without.
    fn with_comment(&self) -> Range<usize> {
        self.comment.unwrap_or(self.lines.start)..self.lines.end
    }
}

fn pieces(definitions: &[Definition]) -> Vec<SourcePiece<'_>> {
    let mut all: Vec<SourcePiece<'_>> = Vec::new();
    for one in definitions {
        let lines = one.from.saturating_sub(1)..one.to;
        let is_module = one.kind == DefinitionKind::Module;
        let is_head = one.kind == DefinitionKind::Head;
        let name = Some(one.name.as_str()).filter(|name| !name.is_empty());
        match all.last_mut().filter(|last| lines.start < last.lines.end) {
            Some(last) => {
                last.lines.end = last.lines.end.max(lines.end);
                last.names.extend(name);
                last.is_module &= is_module;
                last.is_head &= is_head;
            }
            None => all.push(SourcePiece {
                lines,
                comment: one.comment.map(|line| line.saturating_sub(1)),
                names: name.into_iter().collect(),
                is_module,
                is_head,
                goes_first: one.head == Some(true),
            }),
        }
    }
    all
}

/// A source text as lines, each with its own end.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The lines without white space at their ends, so that two texts compare equal whatever their line ends.
fn same(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// What came of an addition.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Merged {
    /// The whole text.
    pub(crate) text: String,
    /// Names that are new.
    pub(crate) added: Vec<String>,
    /// Names that were there already and are defined anew.
    pub(crate) replaced: Vec<String>,
    /// How many statements were added that define no name.
    pub(crate) statements: usize,
}

/// Where a part of the new text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// In the place of this piece of the old text.
    Instead(usize),
    /// Before all code.
    First,
    /// Behind the imports at the top.
    Imports,
    /// Before the next part that has a place, else at the end.
    Along,
    /// It is there already.
    Nowhere,
}

/// Adds `new`, whose lines end with line feeds, to `old`. Lines of `old` keep their ends; added lines end like
/// the first line of `old`.
pub(crate) fn add(
    old: &str,
    old_definitions: &[Definition],
    new: &str,
    new_definitions: &[Definition],
) -> Merged {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let (old_pieces, new_pieces) = (pieces(old_definitions), pieces(new_definitions));
    let goals = goals(&old_lines, &old_pieces, &new_lines, &new_pieces);
    let end =
        if old_lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };

    let mut edit = Edit::default();
    let mut merged = Merged::default();
    let taken: BTreeSet<usize> = goals
        .iter()
        .filter_map(|goal| if let Goal::Instead(at) = goal { Some(*at) } else { None })
        .collect();
    let offered: BTreeSet<&str> =
        new_pieces.iter().flat_map(|piece| &piece.names).copied().collect();
    let known: BTreeSet<&str> = old_pieces.iter().flat_map(|piece| &piece.names).copied().collect();
    for (at, piece) in old_pieces.iter().enumerate() {
        // An old definition of a name that `new` defines goes: if it stood below the new one, it would win.
        let outdated = !piece.names.is_empty() && piece.names.is_subset(&offered);
        if outdated && !taken.contains(&at) && !piece.is_module {
            edit.remove(piece.with_comment());
        }
    }
    let mut waiting: Vec<usize> = Vec::new();
    let mut done: BTreeMap<usize, usize> = BTreeMap::new();
    for (number, (piece, goal)) in new_pieces.iter().zip(&goals).enumerate() {
        if *goal == Goal::Nowhere {
            continue;
        }
        for name in &piece.names {
            let names = if known.contains(name) { &mut merged.replaced } else { &mut merged.added };
            if !names.iter().any(|known| known == name) {
                names.push((*name).to_owned());
            }
        }
        merged.statements += usize::from(piece.names.is_empty() && !piece.is_head);
        match goal {
            Goal::Nowhere => {}
            Goal::Along => waiting.push(number),
            Goal::First => {
                edit.insert(first_place(&old_pieces), &new_lines[piece.lines.clone()], end)
            }
            Goal::Imports => match imports_place(&old_pieces) {
                Some(at) => edit.insert(at, &new_lines[piece.lines.clone()], end),
                None => waiting.push(number),
            },
            Goal::Instead(at) => {
                let old_piece = &old_pieces[*at];
                let own = &new_lines[piece.with_comment()];
                let lines = if piece.comment.is_some() {
                    old_piece.with_comment()
                } else {
                    old_piece.lines.clone()
                };
                // A second definition of the same name stands behind the first.
                if done.insert(*at, number).is_none() {
                    let before =
                        segments(&new_lines, &new_pieces, &std::mem::take(&mut waiting), false);
                    if !before.is_empty() {
                        edit.insert(old_piece.with_comment().start, &before, end);
                        edit.insert(old_piece.with_comment().start, &["\n"], end);
                    }
                    edit.remove(lines.clone());
                    edit.insert(lines.end, own, end);
                } else {
                    edit.insert(lines.end, &["\n"], end);
                    edit.insert(lines.end, own, end);
                }
            }
        }
    }
    let rest = segments(&new_lines, &new_pieces, &waiting, true);
    merged.text = edit.carried_out(&old_lines, &rest, end);
    merged
}

fn goals(
    old_lines: &[&str],
    old: &[SourcePiece<'_>],
    new_lines: &[&str],
    new: &[SourcePiece<'_>],
) -> Vec<Goal> {
    let offered: BTreeSet<&str> = new.iter().flat_map(|piece| &piece.names).copied().collect();
    // Names whose definition can be replaced as a whole, with the first piece that has each.
    let mut places: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for (at, piece) in old.iter().enumerate().filter(|(_, piece)| piece.names.is_subset(&offered)) {
        for name in &piece.names {
            places.entry((name, piece.is_module)).or_insert(at);
        }
    }
    let has_head = old.iter().any(|there| there.is_head);
    let unnamed = |piece: &&SourcePiece<'_>| piece.is_module || piece.names.is_empty();
    let there: BTreeSet<Vec<String>> =
        old.iter().filter(unnamed).map(|piece| same(&old_lines[piece.lines.clone()])).collect();
    new.iter()
        .map(|piece| {
            let is_there = || there.contains(&same(&new_lines[piece.lines.clone()]));
            let at =
                piece.names.iter().filter_map(|name| places.get(&(*name, piece.is_module))).min();
            match at {
                _ if piece.is_head && has_head => Goal::Nowhere,
                _ if unnamed(&piece) && is_there() => Goal::Nowhere,
                Some(at) => Goal::Instead(*at),
                None if piece.goes_first || piece.is_head => Goal::First,
                None if piece.is_module => Goal::Imports,
                None => Goal::Along,
            }
        })
        .collect()
}

/// Where code goes that must stand before all other.
fn first_place(old: &[SourcePiece<'_>]) -> usize {
    let head = old.iter().take_while(|piece| piece.is_head || piece.goes_first).last();
    match (head, old.first()) {
        (Some(head), _) => head.lines.end,
        (None, Some(first)) => first.with_comment().start,
        (None, None) => 0,
    }
}

/// Where an import goes: behind those at the top; if there are none, with the rest of the new code.
fn imports_place(old: &[SourcePiece<'_>]) -> Option<usize> {
    let top = old.iter().take_while(|piece| piece.is_head || piece.is_module);
    top.filter(|piece| piece.is_module).last().map(|piece| piece.lines.end)
}

/// The lines of the wanted pieces, each with the lines between it and the piece before it.
fn segments<'a>(
    lines: &[&'a str],
    all: &[SourcePiece<'_>],
    wanted: &[usize],
    last: bool,
) -> Vec<&'a str> {
    let mut taken: Vec<&str> = Vec::new();
    let mut before = None;
    for &number in wanted {
        let from = if number == 0 { 0 } else { all[number - 1].lines.end };
        let mut part = &lines[from..all[number].lines.end];
        if before.is_none_or(|before| before + 1 != number) {
            let blank = part.iter().take_while(|line| line.trim().is_empty()).count();
            part = &part[blank..];
            if !taken.is_empty() {
                taken.push("\n");
            }
        }
        taken.extend(part);
        before = Some(number);
    }
    // A comment below the last statement goes with it.
    if last && before.is_some_and(|before| before + 1 == all.len()) {
        taken.extend(&lines[all[all.len() - 1].lines.end..]);
    }
    taken
}

/// Changes to lines, by their indexes in the old text.
#[derive(Debug, Default)]
struct Edit {
    removed: Vec<Range<usize>>,
    inserted: BTreeMap<usize, String>,
}

impl Edit {
    fn remove(&mut self, lines: Range<usize>) {
        self.removed.push(lines);
    }

    /// Inserts lines before the one at this index.
    fn insert(&mut self, at: usize, lines: &[&str], end: &str) {
        let text = self.inserted.entry(at).or_default();
        lines.iter().for_each(|line| push_line(text, line, end));
    }

    fn carried_out(&self, old: &[&str], appended: &[&str], end: &str) -> String {
        let mut text = String::new();
        let mut removed = vec![false; old.len()];
        self.removed.iter().for_each(|lines| removed[lines.clone()].fill(true));
        for (at, line) in old.iter().enumerate() {
            text.push_str(self.inserted.get(&at).map(String::as_str).unwrap_or_default());
            if removed[at] {
                continue;
            }
            text.push_str(line);
            if !line.ends_with('\n')
                && (!appended.is_empty() || self.inserted.keys().any(|key| *key > at))
            {
                text.push_str(end);
            }
        }
        for (_, inserted) in self.inserted.range(old.len()..) {
            text.push_str(inserted);
        }
        if text.trim().is_empty() {
            text.clear();
        }
        if !text.is_empty() && !appended.is_empty() && !text.ends_with(&format!("{end}{end}")) {
            text.push_str(end);
        }
        appended.iter().for_each(|line| push_line(&mut text, line, end));
        text
    }
}

fn push_line(text: &mut String, line: &str, end: &str) {
    text.push_str(line.trim_end_matches(['\n', '\r']));
    text.push_str(end);
}

/// Why a name cannot be taken out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotRemoved {
    /// There is no such name.
    Missing,
    /// These are defined by the same statement, or on the same line.
    With(Vec<String>),
}

/// Takes names out of a text, each with the comment above it.
pub(crate) fn remove(
    text: &str,
    definitions: &[Definition],
    names: &[String],
) -> Result<String, (String, NotRemoved)> {
    let (all_lines, all) = (lines(text), pieces(definitions));
    let wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let mut gone = vec![false; all_lines.len()];
    for name in names {
        let mut found = false;
        for piece in all.iter().filter(|piece| piece.names.contains(name.as_str())) {
            found = true;
            let others: Vec<String> =
                piece.names.difference(&wanted).map(|other| (*other).to_owned()).collect();
            if !others.is_empty() {
                return Err((name.clone(), NotRemoved::With(others)));
            }
            gone[piece.with_comment()].fill(true);
        }
        if !found {
            return Err((name.clone(), NotRemoved::Missing));
        }
    }
    let mut kept = String::new();
    let (mut blank, mut cut) = (true, false);
    for (line, gone) in all_lines.iter().zip(gone) {
        // Where something was taken out between two empty lines, one of them is enough.
        let is_blank = line.trim().is_empty();
        if gone {
            cut = true;
        } else if !(cut && blank && is_blank) {
            kept.push_str(line);
            (blank, cut) = (is_blank, false);
        }
    }
    Ok(if kept.trim().is_empty() { String::new() } else { kept })
}

/// The text of the statements that define a name.
pub(crate) fn text_of(text: &str, definitions: &[Definition], name: &str) -> Option<String> {
    let (all_lines, all) = (lines(text), pieces(definitions));
    let mut found = all.iter().filter(|piece| piece.names.contains(name)).peekable();
    found.peek()?;
    let parts = found.map(|piece| all_lines[piece.with_comment()].concat());
    Some(parts.collect::<Vec<_>>().join("\n"))
}
