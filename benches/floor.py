"""The floor of a Python eval: nothing between the client and the interpreter but two pipes.

Wire:  {"id", "code"} a line on descriptor 0, {"id", "value"} a line on descriptor 3; stdout is the code's own.
Does:  what any such thing must: parse, compile the whole, run it, evaluate the last expression, render it, flush.
"""
import ast
import json
import os
import sys

names = {"__name__": "__main__"}
for line in sys.stdin.buffer:
    request = json.loads(line)
    value = None
    try:
        tree = ast.parse(request["code"])
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        body = compile(tree, "<eval>", "exec")
        tail = compile(ast.Expression(last.value), "<eval>", "eval") if last else None
        exec(body, names)
        value = repr(eval(tail, names)) if tail else None
    except BaseException as error:
        value = repr(error)
    sys.stdout.flush()
    os.write(3, json.dumps({"id": request["id"], "value": value}).encode() + b"\n")
