# Evals: compiles and runs one, with top-level await, and reports how it ended.

def file_name():
    return "<%s>" % (S.eval,)


STATEMENTS = {"assert", "async", "break", "class", "continue", "def", "del", "for", "from", "global", "if", "import",
              "nonlocal", "pass", "raise", "return", "try", "while", "with"}


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


def compile_all(source, name):
    """The whole code, before any of it runs; whether it ends with an expression, whose value is then shown."""
    flags = S.flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    mode = None if MARKS and may_store(source) else mode_of(source)
    if mode == "eval":
        try:
            return [compile(source, name, "eval", flags, True)], True
        except Exception:  # compiled below as statements, which succeeds or tells what is wrong
            pass
    elif mode == "exec":
        return [compile(source, name, "exec", flags, True)], False
    tree = compile(source, name, "exec", flags | _ast.PyCF_ONLY_AST, True)
    body = tree.body
    last = body[-1] if body and isinstance(body[-1], _ast.Expr) else None
    if MARKS:
        S.tree = tree
    if "global" in source:
        find_globals(tree)
    if last is not None and len(body) == 1:
        code = compile(_ast.Expression(last.value), name, "eval", flags, True)
    else:
        if last is not None:
            # One code object for all statements, so that a debugger steps from each line to the next. VALUE is no identifier.
            body[-1] = _ast.Assign([_ast.Name(VALUE, _ast.Store(), **place(last))], last.value, **place(last))
        code = compile(tree, name, "exec", flags, True)
        if "__future__" in source:
            future = import_stdlib("__future__")
            for feature in future.all_feature_names:
                flags |= code.co_flags & getattr(future, feature).compiler_flag
    S.flags = flags & ~_ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return [code], last is not None


def place(node):
    return {"lineno": node.lineno, "col_offset": node.col_offset, "end_lineno": node.end_lineno, "end_col_offset": node.end_col_offset}


def run_codes(codes):
    """Runs compiled code and takes its value; if there is a top-level await anywhere, on the session's loop."""
    value = None
    for code in codes:
        is_coroutine = code.co_flags & 0x80  # CO_COROUTINE
        value = run_user(run_async, code) if is_coroutine else run_user(eval, code, SPACE)
    return SPACE.pop(VALUE) if VALUE in SPACE else value


def calls_nothing(codes):
    """Whether the code called nothing of the user's, and nothing else can have done so meanwhile: no thread, no SIGINT handler."""
    return (S.user_sigint is None and len(codes) == 1 and not codes[0].co_names and is_flat(codes[0])
            and not BORN and not QUICK and S.last is OUT)


def is_aimed_at(eval_id):
    """Whether an interrupt that came before the code could run was meant for it, and not for the last eval."""
    if ioctl(CONTROL, FIONREAD, EMPTY) != EMPTY:
        fill()
    return INBOX.startswith(b"interrupt " + eval_id.encode("ascii") + b" 0\n")


def do_eval(eval_id, payload):
    before = begin_eval(eval_id)
    events, codes, source = [], [], ""
    try:
        source = payload.decode("utf-8", "replace")
        if source[:1] == "\ufeff":
            source = source[1:]
        name = file_name()
        remember_source(name, source)
        codes, has_value = compile_all(source, name)
        if MARKS:
            take_samples(codes)
        value = run_codes(codes)
        if has_value:
            if not shown_at_once(value):
                run_user(show_last, value)
                ask_figure(value)
            elif before == Since.CALM and calls_nothing(codes):
                S.since = Since.CALM
        value = None
    except BaseException as caught:
        S.failed, S.since = caught, Since.RAN
        SPACE.pop(VALUE, None)
    if S.ends and S.interrupt == Interrupt.NONE and not isinstance(S.failed, Leave):
        end_all()
    conclude(codes, source, events)


def end_all():
    """Does what an interpreter does at its end, as part of the last eval: waits for threads, and calls exit handlers. Python
    itself finds nothing left to do."""
    try:
        S.since = Since.RAN
        for module, call in (("threading", "_shutdown"), ("atexit", "_run_exitfuncs")):
            if module in modules:
                run_user(getattr(modules[module], call))
        if S.interrupt != Interrupt.NONE:  # since 3.13 Python keeps it to itself while it waits for threads
            raise KeyboardInterrupt
    except BaseException as caught:
        if S.failed is None or isinstance(caught, KeyboardInterrupt):
            S.failed = caught


def conclude(codes, source, events):
    """Puts an end to what begin_eval began, and tells how it ended. Nobody else holds what it failed with, so that this and
    all that hangs on it is gone before the end is told."""
    status, code, error = "ok", None, S.failed
    if error is not None:
        S.failed = None
    if S.since != Since.CALM:
        if getpid() != PID:
            leave_child(error)
        if S.user_sigint is not None or getsignal(SIGINT) is not on_sigint:
            reclaim_sigint()
    if CHANGED or ASKED or DUE:
        S.since = Since.RAN
        error = end_figures(error)
    if error is not None:
        status, code = end_with(error, events, source)
        error = None
    elif S.final is not None:
        events.append(S.final)
    end_output()
    finish_eval(status, code, codes, source, events)


def begin_eval(eval_id):
    """Puts everything in order for an eval, which from here on runs; what may have run before it."""
    if S.pending:  # not set to False without this check: an interrupt that comes at this very moment must not be lost
        S.pending = False
        if is_aimed_at(eval_id):
            S.pending = True
    forget_interrupt()
    S.eval, S.final, S.stopped, S.tree = eval_id, None, None, None
    SPACE["__builtins__"] = builtins  # without them no code could even import
    if CHANGED:
        attempt(set_aside)
    before, S.since = S.since, Since.RAN
    if before < Since.SETTLED or S.children:
        repair_streams()
    if S.stdin_used or READERS:
        drop_input()
    S.last = OUT
    S.phase = Phase.RUNNING
    return before


def end_with(error, events, source):
    """Reports how the eval failed: its status, and the code if it was an exit."""
    if isinstance(error, Trouble):
        events.append(dump({"ev": "error", "name": type_name(error), "message": safe_str(error)}))
        return "error", None
    if isinstance(error, Leave):
        leave_session(error)
    S.phase = Phase.REPORTING
    S.stopped = attempt(line_of, error, file_name())
    if S.stopped is not None:
        STOPPED[file_name()] = S.stopped
    if isinstance(error, SystemExit) and not S.hung_up:
        status, code = end_with_exit(error, events)
    else:
        interrupted = S.interrupt != Interrupt.NONE or S.user_sigint is not None
        # A prompt that was hung up on is left by bdb.BdbQuit, or by sys.exit() in 3.14.
        is_interrupt = interrupted if isinstance(error, KeyboardInterrupt) else S.hung_up
        report_error(error, events, source)
        status, code = "interrupted" if is_interrupt else "error", None
    S.phase = Phase.RUNNING
    reclaim_sigint()
    return status, code


def end_with_exit(error, events):
    code, message = exit_code(error)
    if code == 0:
        return "ok", 0
    events.append(dump({"ev": "error", "name": "SystemExit", "message": message or str(code)}))
    return "error", code


def end_output():
    """Flushes what the eval wrote, and from then on it can write no more."""
    calm = S.since == Since.CALM
    ours = calm or are_ours()
    if not ours:
        guarded(flush_all)
        reclaim_sigint()
    if S.stdin_used or READERS:
        drop_input()
    if calm:
        end_writes()
    elif end_writes_flushed() and ours:  # flushed only now, since what a thread wrote until here belongs to this eval too
        S.since = Since.FLUSHED


def finish_eval(status, code, codes, source, events):
    calm = S.since == Since.CALM
    more, changed, notice = "", None, None
    try:
        if not calm or S.names != len(SPACE):
            changed = changes(codes, source)
    except BaseException:  # a namespace with strange keys
        pass
    try:
        if not calm or WATCHED:
            notice = changed_modules(calm)
    except Exception:
        pass
    if S.nothing_ran if codes is None else not codes:  # the code could not be compiled
        more, S.nothing_ran = ',"nothing_ran":true', False
    if code is not None:
        more += ',"exit_code":%d' % code
    if changed:
        more += ',"changed":' + dump(changed)
    if notice:
        more += ',"notice":' + quote(notice)
    events.append('{"ev":"done","eval":%s,"status":"%s"%s,"variables":%s}\n' % (quote(S.eval), status, more, len(KNOWN)))
    if S.life != Life.CHILD:  # getpid() has been compared since the code ran, so this is enough
        transmit_own("\n".join(events))
    # The host has its answer: what follows makes nobody wait.
    LOOK.at = clock_gettime_ns(CLOCK_OF_FILES)
    if len(SOURCES) > SOURCES_KEPT or S.source_size > SOURCE_BYTES_KEPT:
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
    __tracebackhide__ = True  # pytest shows no such frame of an error, which its own stdin raises here
    # This replaces the builtin input(), which drops an interrupt that comes while it flushes its prompt.
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
INPUT = StandIn(read_line, OWN_BUILTINS["input"])


def guarded_flush(stream):
    try:
        stream.flush()
    except Exception:
        pass


def reset_builtins():
    builtins.input = INPUT
    builtins.exit, builtins.quit = Quitter("exit"), Quitter("quit")
    sys.displayhook, sys.excepthook, sys.unraisablehook = displayhook, sys.__excepthook__, on_unraisable


# ---- await -----------------------------------------------------------------------------------

def session_loop():
    """Critical: half a loop is of no use."""
    asyncio = import_stdlib("asyncio")
    S.all_tasks = asyncio.all_tasks
    if S.loop is None or S.loop.is_closed():
        S.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(S.loop)
    return S.loop


CRITICAL.add(session_loop.__code__)


def hook_tasks(module):
    """A task that an eval makes without an await lives on the session's loop, which goes on between evals."""
    for name in ("create_task", "ensure_future"):
        setattr(module, name, alike(on_session_loop(getattr(module, name), name, module), getattr(module, name)))


HOOKS["asyncio.tasks"] = hook_tasks


def on_session_loop(make, name, tasks):
    def made(awaitable, *args, **kwargs):
        has_loop = kwargs.get("loop") is not None or tasks.events._get_running_loop() is not None
        if has_loop or get_ident() != MAIN or S.phase == Phase.IDLE or S.life == Life.CHILD:
            return make(awaitable, *args, **kwargs)
        loop = session_loop()
        if name == "ensure_future":
            return make(awaitable, *args, **dict(kwargs, loop=loop) if tasks.coroutines.iscoroutine(awaitable) else kwargs)
        task = loop.create_task(awaitable, **{key: kwargs[key] for key in kwargs if key != "name"})
        if kwargs.get("name") is not None:
            task.set_name(kwargs["name"])
        return task

    return made


def run_async(code):
    """Runs code to its end on the loop that all evals share."""
    loop = session_loop()
    if S.pending:
        raise_pending()
    kept, raised, contexts = [], None, []

    async def keep():
        try:
            return await eval(code, SPACE)
        except BaseException as error:  # kept before the loop's frames are added to the traceback
            kept[:] = [error, error.__traceback__]
            raise
        finally:
            note_context(contexts)

    task = begin_task(loop, keep())
    if S.pending:
        S.pending = False
        S.interrupt, S.cancel = Interrupt.RAISED, Cancel.DELIVERED
        task.cancel()
    while not task.done():
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            raised = error
            task.cancel()
    S.task = None
    take_context(contexts)
    if task.cancelled():
        error = raised or (KeyboardInterrupt() if S.cancel != Cancel.NOT_ASKED else kept[0] if kept else task.exception())
        raise error.with_traceback(kept[1] if kept and raised is None else error.__traceback__)
    if task.exception() is not None:
        # An interrupt on the very first line of the code comes before an error could be kept.
        raise kept[0].with_traceback(kept[1]) if kept else task.exception()
    if raised is not None:
        raise raised
    return task.result()


RUN_ASYNC = run_async.__code__
TRACED.update((eval, run_async, show_last))


def begin_task(loop, coroutine):
    """Critical: a task that nobody knows of would run when the interrupt has long been reported."""
    S.task = loop.create_task(coroutine)
    S.task.add_done_callback(lambda _: loop.stop())
    return S.task


def note_context(contexts):
    """Critical. The context variables of the task that calls this, which has a copy of the session's."""
    contexts.append(import_stdlib("_contextvars").copy_context())


def take_context(contexts):
    """Critical. What code with an await has set in context variables is set for the evals that follow, as without an await."""
    missing = object()
    for context in contexts:
        for variable, value in context.items():
            if variable.get(missing) is not value:
                variable.set(value)


CRITICAL.update((begin_task.__code__, note_context.__code__, take_context.__code__))


def idle_loop():
    """Lets the loop go on until the host has a command, if it has something to do or may yet be given some."""
    loop, failures = S.loop, 0
    try:
        arrived = list(INBOX[:1])
        while not arrived and not loop.is_closed() and failures < HOPELESS and serves(loop):
            loop.add_reader(CONTROL, lambda: (arrived.append(1), loop.stop()))
            try:
                loop.run_forever()
            except BaseException as error:
                leave_child(error)
                if not is_in_callback(error):  # a signal handler raised this, or the loop is broken
                    failures += 1
                    error.__traceback__ = below_loop(error.__traceback__)
                    tell_while_idle(error)
                elif not isinstance(error, (SystemExit, KeyboardInterrupt)):
                    raise
                # Else a task did, and the others go on.
            finally:
                leave_child()
                loop.remove_reader(CONTROL)
    except BaseException:  # a broken loop: the command will come anyway
        pass


def serves(loop):
    """Whether the loop may have something to do before the next eval: waiting inside it costs each eval a tenth of a
    millisecond. A server or reader is in its selector, beside the pipe that wakes it, and a thread may call it at any time. Loops
    of others do not tell."""
    try:
        own = loop._ready or loop._scheduled or loop._signal_handlers or len(loop._selector.get_map()) > 1
    except AttributeError:
        return True
    return bool(own or _thread._count() or S.all_tasks(loop))


def is_in_callback(error):
    """Whether an error that left the loop comes from one of its callbacks."""
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_name == "_run" and code.co_filename.endswith("asyncio/events.py"):
            return True
        traceback = traceback.tb_next
    return False


def below_loop(traceback):
    """A traceback from where code of the user's begins, if it comes to such code."""
    first = traceback
    while first is not None:
        name = first.tb_frame.f_code.co_filename
        if name != BRIDGE_FILE and "/asyncio/" not in name and not name.endswith("/selectors.py"):
            return first
        first = first.tb_next
    return traceback


IDLE_LOOP = idle_loop.__code__
