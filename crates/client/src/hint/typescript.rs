//! TypeScript in a session that runs JavaScript.

use super::Hint;
use super::line::{Failed, FailedLine, matches_pattern};

/// Types are no JavaScript, so code that has them cannot be compiled, and the line of the error shows them.
pub(super) fn habit(failed: &Failed<'_>, line: &str, failure: FailedLine<'_>) -> Option<Hint> {
    if failed.language != "node" || failure != FailedLine::Syntax {
        return None;
    }
    let found = matches_pattern!(
        line,
        r#"(?x)
        ^(export\s+)?(declare\s+)?interface\s+\w+(<.*>)?(\s+extends\s+.+)?\s*\{?
        | ^(export\s+)?(declare\s+)?type\s+\w+(<.*>)?\s*=
        | ^(export\s+)?(const\s+)?enum\s+\w+\s*\{?
        | ^(export\s+)?(declare|namespace|abstract\s+class)\s+\w
        | ^(import|export)\s+type\s
        | ^(export\s+)?(const|let|var)\s+(\w+|[\[{][^=:]*[\]}])\s*:\s*[\w{(\[<"'].*=
        | ^(export\s+)?(const|let|var)\s+\w+\s*[:!]:?\s*[\w<>\[\]|\s]+;?$
        | \sas\s+(const|any|unknown|never|string|number|boolean|[A-Z]\w*)\b
        | \ssatisfies\s+[A-Z]
        | \bfunction\s*\w*\s*<[\w\s,]+(\s+extends\s+.+)?>\s*\(
        | [(,]\s*(\.\.\.)?\w+\??\s*:\s*(string|number|boolean|any|unknown|void|object|never|null|bigint|[A-Z]\w*|\(|\{|\[|"|')
        | \)\s*:\s*[\w<>\[\]|\s{}.:;,]+\s*(=>|\{)
        | [(,]\s*(public|private|protected|readonly)\s+\w+
        | ^(public|private|protected|readonly|static\s+readonly)\s+\w+
        | \bnew\s+\w+<[\w\s,|\[\]]+>\(
        | ^\w+[?!]?\s*:\s*(string|number|boolean|any|unknown)(\[\])?\s*[;,=]?$
        | \w+!\.\w
        | \bclass\s+\w+(<.*>)?.*\simplements\s+\w
        "#
    );
    found.then_some(Hint::TypeScript)
}
