//! O-1, O-2, O-3: no byte is lost or lands elsewhere, whoever writes it.

use stead_client::EvalStatus;
use stead_protocol::ChunkKind;

use crate::rig::{Random, Rig, number};

/// Text that every piece is cut from; the session builds the same.
const BASE: usize = 1 << 19;

/// Functions that write a piece in one way each. Raw writers flush first, as any program must. A fork while the
/// last thread is on its way out makes Python 3.12 and later write a warning, once.
const PRELUDE: &str = r#"
import os, subprocess, sys, threading, warnings
warnings.simplefilter('ignore', DeprecationWarning)
def _base(n):
    state, out = 1, bytearray()
    while len(out) < n:
        state = (state * 1103515245 + 12345) & 0x7fffffff
        c = (state >> 16) % 95
        out.append(10 if c > 92 else 32 + c)
    return out.decode()
BASE = _base(1 << 19)
def cut(at, size): return BASE[at:at + size]
def p1(at, size): print(cut(at, size), end='')
def p2(at, size): print(cut(at, size), end='', file=sys.stderr)
def raw(fd, at, size):
    (sys.stdout, sys.stderr)[fd - 1].flush()
    data = cut(at, size).encode()
    while data: data = data[os.write(fd, data):]
def w1(at, size): raw(1, at, size)
def w2(at, size): raw(2, at, size)
def c1(at, size):
    sys.stdout.flush()
    subprocess.run(['cat'], input=cut(at, size).encode(), check=True)
def c2(at, size):
    sys.stderr.flush()
    subprocess.run(['sh', '-c', 'cat >&2'], input=cut(at, size).encode(), check=True)
def forked(fd, at, size):
    (sys.stdout, sys.stderr)[fd - 1].flush()
    pid = os.fork()
    if pid == 0:
        raw(fd, at, size)
        os._exit(0)
    os.waitpid(pid, 0)
def f1(at, size): forked(1, at, size)
def f2(at, size): forked(2, at, size)
def threaded(call, at, size):
    thread = threading.Thread(target=call, args=(at, size))
    thread.start()
    thread.join()
def t1(at, size): threaded(p1, at, size)
def t2(at, size): threaded(p2, at, size)
def both(at, size):
    threads = [threading.Thread(target=call, args=(at, size)) for call in (p1, p2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"#;

/// What one eval does and what must be read back.
#[derive(Default)]
struct Script {
    code: String,
    out: Vec<u8>,
    err: Vec<u8>,
    /// Runs of bytes by stream, in order; only if the interpreter's own streams are all it uses.
    order: Option<Vec<(ChunkKind, Vec<u8>)>>,
}

#[test]
fn o1_no_byte_is_lost_or_misplaced() {
    let rig = Rig::new();
    rig.value(PRELUDE);
    let base = base();
    assert_eq!(rig.value("len(BASE)"), BASE.to_string());
    let mut random = Random::new();
    let evals = number("STEAD_STRESS_EVALS", 5_000);
    let mut total = 0;
    for n in 0..evals {
        let script = script(&mut random, &base);
        total += script.out.len() + script.err.len();
        let view = rig.eval(&script.code);
        let shown: String = script.code.chars().take(300).collect();
        assert_eq!(view.status, EvalStatus::Complete, "eval {n}: {shown}: {:?}", view.error());
        assert!(view.content.left_out.is_none());
        let (mut out, mut err, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for chunk in view.content.chunks() {
            match chunk.kind {
                ChunkKind::Out => out.extend_from_slice(&chunk.bytes),
                ChunkKind::Err => err.extend_from_slice(&chunk.bytes),
                other => panic!("eval {n}: {shown}: a chunk of kind {other:?}"),
            }
            order.push((chunk.kind, chunk.bytes.clone()));
        }
        compare(n, &shown, "stdout", &out, &script.out);
        compare(n, &shown, "stderr", &err, &script.err);
        if let Some(expected) = &script.order {
            assert!(order == *expected, "eval {n}: {shown}: {}", runs(&order, expected));
        }
    }
    eprintln!("{evals} evals, {} MB", total / 1_000_000);
}

fn compare(n: u64, code: &str, stream: &str, read: &[u8], written: &[u8]) {
    if read == written {
        return;
    }
    let same = read.iter().zip(written).take_while(|(a, b)| a == b).count();
    panic!(
        "eval {n}: {code}: {stream} has {} bytes, {} were written, first difference at {same}",
        read.len(),
        written.len()
    );
}

fn runs(read: &[(ChunkKind, Vec<u8>)], expected: &[(ChunkKind, Vec<u8>)]) -> String {
    let lengths = |list: &[(ChunkKind, Vec<u8>)]| -> Vec<(ChunkKind, usize)> {
        list.iter().map(|(kind, bytes)| (*kind, bytes.len())).collect()
    };
    format!("read {:?}, written {:?}", lengths(read), lengths(expected))
}

fn script(random: &mut Random, base: &[u8]) -> Script {
    let mut script = Script::default();
    let plain = random.below(3) == 0;
    if plain {
        script.order = Some(Vec::new());
    }
    for _ in 0..random.below(7) {
        let size = match random.below(20) {
            0 => random.below(200_000),
            1..=3 => random.below(30_000),
            4 => 0,
            _ => random.below(600),
        } as usize;
        let at = random.below((BASE - size) as u64) as usize;
        // Processes cost a thousand times a print.
        let way = match random.below(40) {
            _ if plain => ["p1", "p2"][random.below(2) as usize],
            0 => "c1",
            1 => "c2",
            2 => "f1",
            3 => "f2",
            4..=6 => "t1",
            7..=9 => "t2",
            10..=12 => "both",
            13..=18 => "w1",
            19..=24 => "w2",
            25..=32 => "p1",
            _ => "p2",
        };
        script.code += &format!("{way}({at}, {size})\n");
        let piece = &base[at..at + size];
        if way.ends_with('1') || way == "both" {
            script.out.extend_from_slice(piece);
        }
        if way.ends_with('2') || way == "both" {
            script.err.extend_from_slice(piece);
        }
        if let Some(order) = &mut script.order
            && !piece.is_empty()
        {
            let kind = if way == "p1" { ChunkKind::Out } else { ChunkKind::Err };
            match order.last_mut() {
                Some((last, bytes)) if *last == kind => bytes.extend_from_slice(piece),
                _ => order.push((kind, piece.to_vec())),
            }
        }
    }
    script
}

fn base() -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = (state * 1_103_515_245 + 12345) & 0x7fff_ffff;
        let c = ((state >> 16) % 95) as u8;
        if c > 92 { b'\n' } else { 32 + c }
    };
    std::iter::repeat_with(next).take(BASE).collect()
}
