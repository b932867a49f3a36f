//! Which copies are kept, which are gone back to, and what that undoes.

use stead_protocol::{EvalSeq, EvalSet, Outcome, UndoTrouble, WorkKind};

use crate::session::copies::*;

fn ended(seq: u64, kind: WorkKind) -> EndedEval {
    EndedEval { seq: EvalSeq(seq), kind, of_start: false }
}

fn run(copies: &mut Copies, evals: impl IntoIterator<Item = u64>) {
    for eval in evals {
        assert!(copies.note(ended(eval, WorkKind::Code), &Outcome::Complete));
    }
}

fn made(number: u32) -> MadeCopy {
    MadeCopy { number, text: None }
}

/// A copy that nobody asked for is taken.
fn idle(copies: &mut Copies, number: u32) -> Vec<u32> {
    let holds = copies.holds().clone();
    copies.keep_for_undo(made(number), holds, 0, RING).iter().map(|copy| copy.number).collect()
}

fn seqs(evals: &[u64]) -> Vec<EvalSeq> {
    evals.iter().copied().map(EvalSeq).collect()
}

fn undo(copies: &Copies, eval: Option<u64>) -> Result<(u64, u32), UndoTrouble> {
    let found = copies.before(eval.map(EvalSeq), None);
    found.map(|(eval, copy)| (eval.0, copy.number))
}

#[test]
fn st5_what_is_gone_after_a_rollback_is_undone_and_what_comes_back_is_not() {
    let mut copies = Copies::default();
    run(&mut copies, [1]);
    assert_eq!(copies.keep(made(1), "a".to_owned(), EvalSeq(2), 0), None);
    run(&mut copies, [3, 4]);
    assert_eq!(copies.keep(made(2), "b".to_owned(), EvalSeq(5), 0), None);
    run(&mut copies, [6]);
    let effects = copies.restored(1);
    assert_eq!(effects, Effects { undone: seqs(&[3, 4, 6]), back: vec![] });
    run(&mut copies, [8]);
    // The other branch is gone to again: what it holds is there, what came since is not.
    let effects = copies.restored(2);
    assert_eq!(effects, Effects { undone: seqs(&[8]), back: seqs(&[3, 4]) });
    assert_eq!(copies.undone().iter().collect::<Vec<_>>(), seqs(&[6, 8]));
    assert_eq!(copies.restored(2), Effects::default());
}

#[test]
fn st3_a_label_that_is_used_again_takes_the_place_of_the_earlier_one() {
    let mut copies = Copies::default();
    copies.keep(made(1), "a".to_owned(), EvalSeq(1), 0);
    copies.keep(made(2), "b".to_owned(), EvalSeq(2), 0);
    let before = copies.keep(made(3), "a".to_owned(), EvalSeq(3), 0);
    assert_eq!(before.map(|copy| copy.number), Some(1));
    assert_eq!(copies.labels(), ["b", "a"]);
    // One that nobody asked for is none that a rollback means.
    idle(&mut copies, 4);
    assert_eq!(copies.find(None).map(|copy| copy.number), Some(3));
    assert_eq!(copies.find(Some("b")).map(|copy| copy.number), Some(2));
    assert_eq!(copies.take("b").map(|copy| copy.number), Some(2));
    assert_eq!((copies.take("b"), copies.find(Some("b"))), (None, None));
    assert_eq!(copies.lose(3).map(|copy| copy.number), Some(3));
    assert!(copies.list().is_empty() && copies.has(4));
}

#[test]
fn st3_evals_that_ended_their_interpreter_and_work_that_changes_nothing_are_not_held() {
    let mut copies = Copies::default();
    assert!(!copies.note(ended(1, WorkKind::Save), &Outcome::Complete));
    assert!(!copies.note(ended(2, WorkKind::Code), &Outcome::HostDied));
    assert!(copies.note(ended(3, WorkKind::Code), &Outcome::Interrupted));
    copies.keep(made(1), "a".to_owned(), EvalSeq(4), 0);
    assert_eq!(copies.list()[0].after, Some(EvalSeq(3)));
    copies.begin_anew();
    assert!(copies.list().is_empty());
    assert!((0..MOST_CHECKPOINTS as u32).all(|number| {
        let label = number.to_string();
        !copies.is_full_for(&label) && copies.keep(made(number), label, EvalSeq(9), 0).is_none()
    }));
    assert!(copies.is_full_for("one more") && !copies.is_full_for("7"));
}

#[test]
fn st5_an_eval_is_undone_with_the_copy_from_right_before_it_and_no_other() {
    let mut copies = Copies::default();
    assert_eq!(undo(&copies, None), Err(UndoTrouble::Nothing));
    idle(&mut copies, 1);
    run(&mut copies, [1]);
    idle(&mut copies, 2);
    // Two in quick succession: there is no copy between them.
    run(&mut copies, [2, 3]);
    idle(&mut copies, 3);
    run(&mut copies, [5]);
    assert_eq!(undo(&copies, None), Ok((5, 3)));
    assert_eq!(undo(&copies, Some(2)), Ok((2, 2)));
    assert_eq!(undo(&copies, Some(1)), Ok((1, 1)));
    let can = seqs(&[1, 2, 5]);
    let none = UndoTrouble::NoCopy { eval: EvalSeq(3), off: None, can: can.clone() };
    assert_eq!(undo(&copies, Some(3)), Err(none));
    assert_eq!(copies.undoable(), can);
    // A number that is no eval's, or that of work without an effect.
    assert_eq!(undo(&copies, Some(4)), Err(UndoTrouble::NoEffect { eval: EvalSeq(4) }));
    assert_eq!(copies.restored(2), Effects { undone: seqs(&[2, 3, 5]), back: vec![] });
    assert_eq!(copies.forget_other_branches().len(), 1);
    assert_eq!(undo(&copies, Some(3)), Err(UndoTrouble::Undone { eval: EvalSeq(3) }));
    assert_eq!(undo(&copies, None), Ok((1, 1)));
    // After other code, that is what is undone.
    run(&mut copies, [7]);
    assert_eq!(undo(&copies, None), Ok((7, 2)));
}

#[test]
fn st5_undo_without_an_id_means_code_of_a_clients_and_first_of_all_what_runs() {
    let mut copies = Copies::default();
    let init = EndedEval { seq: EvalSeq(1), kind: WorkKind::Code, of_start: true };
    copies.note(init, &Outcome::Complete);
    idle(&mut copies, 1);
    assert_eq!(undo(&copies, None), Err(UndoTrouble::Nothing));
    run(&mut copies, [2]);
    idle(&mut copies, 2);
    copies.note(ended(3, WorkKind::Load), &Outcome::Complete);
    idle(&mut copies, 3);
    assert_eq!(undo(&copies, None), Ok((2, 1)));
    let found = copies.before(None, Some(ended(4, WorkKind::Code))).unwrap();
    assert_eq!((found.0, found.1.number), (EvalSeq(4), 3));
    // Other work that runs is not what is meant.
    let found = copies.before(None, Some(ended(4, WorkKind::Save))).unwrap();
    assert_eq!(found.0, EvalSeq(2));
    let found = copies.before(Some(EvalSeq(4)), Some(ended(4, WorkKind::Load))).unwrap();
    assert_eq!((found.0, found.1.number), (EvalSeq(4), 3));
}

#[test]
fn st5_five_copies_stay_and_the_one_that_has_most_is_fallen_back_to() {
    let mut copies = Copies::default();
    assert_eq!(copies.fallback(), None);
    copies.keep(made(100), "begin".to_owned(), EvalSeq(1), 0);
    for eval in 2..=8 {
        run(&mut copies, [eval]);
        let dropped = idle(&mut copies, eval as u32);
        let expected = if eval < 7 { vec![] } else { vec![eval as u32 - RING as u32] };
        assert_eq!(dropped, expected, "{eval}");
    }
    assert!(copies.has_this_state());
    run(&mut copies, [9]);
    assert!(!copies.has_this_state());
    assert_eq!(copies.fallback().map(|copy| copy.number), Some(8));
    // After ten idle minutes the newest is left, and checkpoints.
    let dropped: Vec<u32> = copies.shrink(1).iter().map(|copy| copy.number).collect();
    assert_eq!((dropped, copies.for_undo()), (vec![4, 5, 6, 7], 1));
    copies.restored(100);
    // The other one has what is undone now.
    assert_eq!(copies.fallback().map(|copy| copy.number), Some(100));
    assert_eq!(copies.undoable(), seqs(&[]));
    assert_eq!(copies.holds(), &EvalSet::default());
}
