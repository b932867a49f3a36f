// Incomplete code: whether a text that V8 refuses ends too early, or is wrong however it goes on.

const END = "Unexpected end of input";

/** What V8 says of a text as the beginning or the whole of an async function; null if it takes it. */
function refusal(text, suffix) {
  try {
    new Script("(async () => {\n" + text + "\n" + suffix, { filename: fileName() });
    return null;
  } catch (error) {
    return stringOf(error.message, "");
  }
}

/** Whether V8 comes to the end of the text and nothing before that is wrong. */
function comesToEnd(text) {
  return refusal(text, "") === END;
}

/** Whether more text could make the code right, which V8 has refused. A string has to be closed on its line. */
function isIncomplete(source) {
  const line = source.replace(/[\r\n]+$/, "");
  return couldGoOn(source) || (line !== source && couldGoOn(line));
}

function couldGoOn(source) {
  const end = { rest: null };
  const tokens = scan(source, end);
  // Something before the end is no token, or a bracket is closed that is not open.
  if (tokens === null && end.rest === null) return false;
  const rest = end.rest ?? "";
  let closed, text;
  try {
    text = withoutHash(rewrite(source).text);
    closed = withoutHash(rewrite(source + rest).text);
  } catch (error) {
    return error instanceof Refused && error.early;
  }
  // The code is refused only for where it stands: a `return` at top level.
  if (refusal(text, "})") === null) return false;
  if (comesToEnd(text)) return true;
  if (rest !== "" && comesToEnd(closed)) return true;
  return (refusal(closed, "") ?? "").startsWith("Missing catch or finally") && comesToEnd(closed + " finally {}");
}
