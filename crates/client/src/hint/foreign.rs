//! Code of another language than the session's.

use super::Hint;
use super::ipython::other;
use super::line::{Failed, FailedLine, matches_pattern};

pub(super) fn habit(failed: &Failed<'_>, line: &str, failure: FailedLine<'_>) -> Option<Hint> {
    if is_sql(line) {
        return Some(Hint::Sql);
    }
    let name = match failure {
        FailedLine::Name(name) => Some(name),
        _ => None,
    };
    // A shell has a `let` of its own, without spaces.
    let own = failed.is_shell() && matches_pattern!(line, r"^let\s+\w+[-+*/]?=");
    if failed.language != "node" && !own && is_javascript(line, failed.code, name) {
        return Some(other("JavaScript", "node"));
    }
    if failed.language != "python" && is_python(failed, line, name) {
        return Some(other("Python", "python"));
    }
    if failed.is_shell() && failure == FailedLine::Command {
        return None;
    }
    elsewhere(line, name).map(|title| Hint::OtherLanguage { title, session: None })
}

fn is_sql(line: &str) -> bool {
    matches_pattern!(
        line,
        r"^(SELECT\s.+\sFROM\s|SELECT\s+[\w*(].*;$|INSERT INTO\s|UPDATE\s+\S+\s+SET\s|DELETE FROM\s|CREATE (OR REPLACE )?(TEMP |TEMPORARY )?(TABLE|VIEW|INDEX|DATABASE|SCHEMA)\s|ALTER TABLE\s|DROP (TABLE|VIEW|INDEX|DATABASE)\s|WITH\s+\w+\s+AS\s*\()"
    ) || matches_pattern!(
        line,
        r"^(select\s+\*\s+from\s+\w|select\s.+\sfrom\s+\w+(\.\w+)*\s*(;$|where\s|limit\s|order by\s|group by\s|join\s)|insert into\s+\w+.*\bvalues\b|update\s+\w+\s+set\s+\w+\s*=|delete from\s+\w+\s*(;$|where\s)|create table\s+\w+\s*\()"
    )
}

/// JavaScript needs one sure sign, or two that each may be something else.
fn is_javascript(line: &str, code: &str, name: Option<&str>) -> bool {
    if let Some(name) = name {
        // The line compiles in this language, so it is JavaScript only if the unknown name is one of JavaScript's.
        return match name {
            "console" => matches_pattern!(line, r"\bconsole\.(log|error|warn|info|table|dir)\("),
            "require" => matches_pattern!(line, r#"\brequire\(["']"#),
            "process" => matches_pattern!(line, r"\bprocess\.(env|argv|cwd|exit|stdout)\b"),
            "document" => matches_pattern!(line, r"\bdocument\.(getElement|querySelector)"),
            "JSON" => matches_pattern!(line, r"\bJSON\.(stringify|parse)\("),
            _ => false,
        };
    }
    let sure = matches_pattern!(
        line,
        r#"(?x)
        ^(export\s+)?(const|let|var)\s+(\w+|[\[{][^=]*[\]}])\s*(:[^=]+)?=[^=]
        | ^(export\s+)?(default\s+)?(async\s+)?function\s*\*?\s*\w*\s*\(
        | ^export\s+(default|const|let|function|class|async|interface|type|\{)
        | ^import\s+(\w+|\{[^}]*\}|\*\s+as\s+\w+)\s+from\s+["']
        | ^import\s+["']
        | \bconsole\.(log|error|warn|info|table|dir)\(
        | \brequire\(["']
        | \w\)?\s*[!=]==\s*[\w'"(\[]
        | \)\s*=>\s*[\w{(\[]
        | ^(export\s+)?interface\s+\w+(\s+extends\s+[\w,\s]+)?\s*\{
        | ^for\s*\(\s*(const|let|var)\s
        | ^(\}\s*)?catch\s*\(\w*\)\s*\{
        "#
    );
    if sure {
        return true;
    }
    let signs = [
        matches_pattern!(line, r";$"),
        matches_pattern!(line, r"\{$|^\}"),
        matches_pattern!(line, r"^(if|while|for|switch|else if)\s*\("),
        matches_pattern!(line, r"&&|\|\|"),
        matches_pattern!(line, r"(^|\s)//"),
        matches_pattern!(line, r"\$\{\w"),
        matches_pattern!(line, r"\b(null|undefined|typeof|new [A-Z]\w*\()"),
        matches_pattern!(line, r"\w\s*=>\s*[\w{(\[]"),
        matches_pattern!(line, r"\w(\+\+|--)"),
        matches_pattern!(line, r"^(const|let|var)\s+\w+;?$"),
    ];
    let others = ["console.log(", "const ", "===", "=> {"];
    let found = signs.iter().filter(|sign| **sign).count();
    found >= 2 || found == 1 && others.iter().any(|sign| code.contains(sign))
}

/// One sure sign of Python.
fn is_python(failed: &Failed<'_>, line: &str, name: Option<&str>) -> bool {
    if let Some(name) = name {
        return match name {
            "print" => matches_pattern!(line, r"^print\("),
            "len" | "range" | "str" | "int" | "dict" | "sorted" | "enumerate" | "isinstance" => {
                matches_pattern!(failed.code, r"(?m)^\s*(def|import|from|class)\s.*[:\w]$|print\(")
            }
            _ => false,
        };
    }
    matches_pattern!(
        line,
        r#"(?x)
        ^(async\s+)?def\s+\w+\s*\(.*
        | ^class\s+\w+(\([\w.,\s=]*\))?:$
        | ^from\s+[\w.]+\s+import\s+[\w(*]
        | ^import\s+[a-z_]\w*(\.\w+)*(\s+as\s+\w+)?(\s*,\s*[a-z_]\w*(\.\w+)*)*$
        | ^print\(.*\)$
        | ^(for\s+[\w,\s()]+\s+in\s+.+|while\s+.+|if\s+.+|elif\s+.+|with\s+.+|except(\s+.+)?|try|else|finally):$
        | ^@\w+(\.\w+)*(\(.*\))?$
        | ^(print|raise|assert|del|yield|lambda|pass)\s+[\w"']
        | ^\w+\s*=\s*(\[.*\bfor\s+\w+\s+in\s.*\]|lambda\s.*|f["'].*|None|True|False)$
        | ^(raise|return)\s+\w+(Error|Exception)\(
        "#
    ) && !matches_pattern!(line, r"(\{|\}|;\s*(do|then))$")
}

/// The word of JavaScript for one of Python's.
pub(super) fn node_word(name: &str) -> Option<Hint> {
    let right = match name {
        "None" => "null",
        "True" => "true",
        "False" => "false",
        _ => return None,
    };
    Some(Hint::Word { wrote: name.to_owned(), right, title: "JavaScript" })
}

/// A language that no session is in.
fn elsewhere(line: &str, name: Option<&str>) -> Option<&'static str> {
    if matches_pattern!(line, r"^[A-Za-z.][\w.]*\s<-\s(\S|function\()")
        || name == Some("library") && matches_pattern!(line, r"^library\(\w+\)$")
    {
        return Some("R");
    }
    if name.is_some() {
        return None;
    }
    let table: [(&str, bool); 7] = [
        (
            "Go",
            matches_pattern!(
                line,
                r"^(package\s+\w+$|func\s+(\(\w+\s+\*?\w+\)\s*)?\w+\(.*\)\s*[\w*()\[\], ]*\{$)|^fmt\.Print"
            ),
        ),
        (
            "Rust",
            matches_pattern!(
                line,
                r"^(pub\s+)?fn\s+\w+(<.*>)?\(.*\).*\{$|^let\s+mut\s|^println!\(|^use\s+(std|crate)::"
            ),
        ),
        (
            "Java",
            matches_pattern!(
                line,
                r"^(public|private|protected)\s+(static\s+|final\s+|abstract\s+)*(class|interface|void|int|String|boolean)\s|\bSystem\.out\.print"
            ),
        ),
        (
            "C",
            matches_pattern!(
                line,
                r"^(int|void|char|double|float)\s+\**\w+\s*\(.*\)\s*\{?$|^(int|char|double|float)\s+\*?\w+(\[\d*\])?\s*=.*;$"
            ),
        ),
        ("C++", matches_pattern!(line, r"^(using namespace\s|std::|template\s*<)")),
        ("PHP", matches_pattern!(line, r"^<\?php|^\$\w+\s*=.*;$")),
        (
            "HTML",
            matches_pattern!(line, r"^<(!DOCTYPE|html|head|body|div|script|p|span|table)\b.*>"),
        ),
    ];
    table.into_iter().find(|(_, found)| *found).map(|(title, _)| title)
}
