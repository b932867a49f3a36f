# Evals: compiles and runs one, with top-level await, and reports how it ended.

def file_name():
    return "<" + S.eval + ">"


STATEMENTS = ("assert", "async", "break", "class", "continue", "def", "del", "for", "from", "global", "if", "import",
              "nonlocal", "pass", "raise", "return", "try", "while", "with")


def mode_of(source):
    """How code can be compiled as it stands, which costs less than to take a tree apart: "eval" if it looks as if it
    were one expression, "exec" if it is one line with one statement, whether right or wrong, that has no value."""
    if len(source) > 1000 or "\n" in source or "\r" in source or ";" in source or source[:1] in " \t\f":
        return None
    if source.partition(" ")[0] in STATEMENTS:
        return None if "global" in source or "__future__" in source else "exec"
    head, sign, tail = source.partition("=")
    if not sign:
        return "eval"
    # An expression has a quote, a bracket or a colon before its first `=`, or another sign of a comparison beside it.
    target = head.rstrip(" +-*/%&|^@").replace(".", "")
    return "exec" if tail[:1] != "=" and target.isidentifier() and "global" not in source else None


def compile_all(source):
    """The whole code, before any of it runs: statements, and the last expression by itself."""
    flags = S.flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    mode = mode_of(source)
    if mode == "eval":
        try:
            return None, compile(source, file_name(), "eval", flags, True)
        except Exception:  # told by the other way, which knows statements too
            pass
    elif mode == "exec":
        return compile(source, file_name(), "exec", flags, True), None
    tree = compile(source, file_name(), "exec", flags | _ast.PyCF_ONLY_AST, True)
    body, last = tree.body, None
    if body and isinstance(body[-1], _ast.Expr):
        last = _ast.Expression(body.pop().value)
    if "global" in source:
        find_globals(tree)
    code = None
    if body:
        code = compile(tree, file_name(), "exec", flags, True)
        if "__future__" in source:
            future = import_stdlib("__future__")
            for name in future.all_feature_names:
                flags |= code.co_flags & getattr(future, name).compiler_flag
    if last is not None:
        last = compile(last, file_name(), "eval", flags, True)
    S.flags = flags & ~_ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return code, last


def run_codes(codes):
    """Runs compiled code; if there is a top-level await anywhere, all of it on the session's loop."""
    value = None
    for code in codes:
        if code.co_flags & 0x80:  # CO_COROUTINE
            return run_user(run_async, codes)
    for code in codes:
        value = run_user(eval, code, SPACE)
    return value


def is_aimed_at(eval_id):
    """Whether an interrupt that came before the code could run was meant for it, and not for the last eval."""
    if ioctl(CONTROL, FIONREAD, EMPTY) != EMPTY:
        fill()
    return INBOX.startswith(b"interrupt " + eval_id.encode("ascii") + b" 0\n")


def do_eval(eval_id, payload):
    if S.pending:  # else nothing is stored: one may come right here
        S.pending = False
        if is_aimed_at(eval_id):
            S.pending = True
    S.fired = S.cancelled = S.delivered = S.swallowed = S.hung_up = False
    S.eval, S.final = eval_id, None
    SPACE["__builtins__"] = builtins  # without them no code could even import
    if not S.settled:
        repair_streams()
    if S.stdin_used or READERS:
        drop_input()
    S.last = OUT
    S.running = True
    events, codes, source, error = [], [], "", None
    status, code = "ok", None
    calm = False  # nothing of the user's was called
    try:
        source = payload.decode("utf-8", "replace")
        if source[:1] == "\ufeff":
            source = source[1:]
        remember_source(file_name(), source)
        body, last = compile_all(source)
        codes = [part for part in (body, last) if part is not None]
        value = run_codes(codes)
        if last is not None:
            if shown_at_once(value):
                calm = body is None and not last.co_names and is_flat(last)
            else:
                run_user(show_last, value)
                ask_figure(value)
        value = None
    except BaseException as caught:
        error = caught
    leave_child(error)
    reclaim_sigint()
    if CHANGED or ASKED or S.passed:
        error = end_figures(error)
    if error is not None:
        if isinstance(error, Leave):
            leave_session(error)
        S.reporting = True
        status, code = end_with(error, events, source)
        S.reporting, error, calm = False, None, False
        reclaim_sigint()
    elif S.final is not None:
        events.append(S.final)
    if not are_ours():
        calm = False
        guarded(flush_all)
        reclaim_sigint()
    if S.stdin_used or READERS:
        drop_input()
    with WRITING:
        S.running = False
        S.last = None
        if QUICK:
            make_knowing()
    flush_last()  # now, since what a thread wrote until here is this eval's too
    finish_eval(status, code, codes, source, events, calm)


def end_with(error, events, source):
    """Reports how the eval failed: its status, and the code if it was an exit."""
    if S.hung_up and not isinstance(error, KeyboardInterrupt):  # bdb.BdbQuit, or sys.exit of 3.14
        report_error(error, events, source)
        return "interrupted", None
    if isinstance(error, SystemExit):
        code, message = exit_code(error)
        if code == 0:
            return "ok", 0
        events.append(dump({"ev": "error", "name": "SystemExit", "message": message or str(code)}))
        return "error", code
    interrupted = isinstance(error, KeyboardInterrupt) and (S.fired or S.user_sigint is not None)
    report_error(error, events, source)
    return ("interrupted" if interrupted else "error"), None


def finish_eval(status, code, codes, source, events, calm):
    changed = None
    try:
        changed = changes(codes, source)
    except BaseException:  # a namespace with strange keys
        pass
    done = '{"ev":"done","eval":%s,"status":"%s"' % (quote(S.eval), status)
    if code is not None:
        done += ',"exit_code":%d' % code
    if changed:
        done += ',"changed":' + dump(changed)
    notice = attempt(changed_modules, calm)
    if notice:
        done += ',"notice":' + quote(notice)
    events.append(done + ',"variables":%d}\n' % len(KNOWN))
    transmit("\n".join(events))
    # What can wait, while the host is at work.
    LOOK.at = file_time()
    attempt(forget_sources)


def make_namespace():
    """A fresh __main__, as a script would find it but without __file__."""
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    modules["__main__"] = main
    return main


def read_line(prompt="", /):
    """Read a string from standard input.  The trailing newline is stripped.

    The prompt string, if given, is printed to standard output without a
    trailing newline before reading input.

    If the user hits EOF, raise EOFError."""
    # The builtin drops an interrupt that comes while it flushes its prompt.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name, None) is None:
            raise RuntimeError("input(): lost sys." + name)
    if CHANGED:
        show_changed()
    guarded_flush(sys.stderr)
    sys.stdout.write(str(prompt))
    guarded_flush(sys.stdout)
    line = sys.stdin.readline()
    if not isinstance(line, str):
        raise TypeError("object.readline() returned non-string")
    if not line:
        raise EOFError("EOF when reading a line")
    return line[:-1] if line[-1] == "\n" else line


read_line.__name__ = read_line.__qualname__ = "input"
read_line.__module__ = "builtins"


def guarded_flush(stream):
    try:
        stream.flush()
    except Exception:
        pass


def reset_builtins():
    builtins.input = read_line
    builtins.exit, builtins.quit = Quitter("exit"), Quitter("quit")
    sys.displayhook, sys.excepthook, sys.unraisablehook = displayhook, sys.__excepthook__, on_unraisable


# ---- await -----------------------------------------------------------------------------------

def session_loop():
    """Critical: half a loop is of no use."""
    asyncio = import_stdlib("asyncio")
    if S.loop is None or S.loop.is_closed():
        S.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(S.loop)
    return S.loop


CRITICAL.add(session_loop.__code__)


def run_async(codes):
    """Runs code to its end on the loop that all evals share."""
    loop = session_loop()
    if S.pending:
        raise_pending()
    kept, raised = [], None

    async def keep():
        value = None
        try:
            for code in codes:
                value = eval(code, SPACE)
                if code.co_flags & 0x80:
                    value = await value
            return value
        except BaseException as error:  # before the loop's frames are added to its traceback
            kept[:] = [error, error.__traceback__]
            raise

    task = begin_task(loop, keep())
    if S.pending:
        S.pending = False
        S.fired = S.cancelled = S.delivered = True
        task.cancel()
    while not task.done():
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            raised = error
            task.cancel()
    S.task = None
    if task.cancelled():
        error = raised or (KeyboardInterrupt() if S.cancelled else kept[0] if kept else task.exception())
        raise error.with_traceback(kept[1] if kept and raised is None else error.__traceback__)
    if task.exception() is not None:
        # An interrupt on its very first line comes before anything could be kept.
        raise kept[0].with_traceback(kept[1]) if kept else task.exception()
    if raised is not None:
        raise raised
    return task.result()


RUN_ASYNC = run_async.__code__


def begin_task(loop, coroutine):
    """Critical: a task that nobody knows of would run when the interrupt has long been reported."""
    S.task = loop.create_task(coroutine)
    S.task.add_done_callback(lambda _: loop.stop())
    return S.task


CRITICAL.add(begin_task.__code__)


def idle_loop():
    """Lets background tasks go on until the host has a command."""
    loop = S.loop
    try:
        asyncio = modules["asyncio"]
        arrived = list(INBOX[:1])
        while not arrived and not loop.is_closed() and (asyncio.all_tasks(loop) or loop._scheduled or loop._ready):
            loop.add_reader(CONTROL, lambda: (arrived.append(1), loop.stop()))
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt):  # of a task; the others go on
                pass
            finally:
                leave_child()
                loop.remove_reader(CONTROL)
    except BaseException:  # a broken loop: the command will come anyway
        pass


IDLE_LOOP = idle_loop.__code__
