# Queries: what the session knows of names and values, and `clear`, which forgets it.

def do_query(seq, what, argument):
    if what == "code":
        # The host asks this for its own cache. An eval may already wait behind it, and an interrupt that comes now is for that eval.
        transmit('{"ev":"reply","seq":%d,"data":%s}\n' % (int(seq), dump({"code": attempt(compiled_bridge)})))
        return
    S.pending = False
    forget_interrupt()
    repair_streams()
    S.phase = Phase.ASKED
    try:
        answer = {"seq": int(seq), "data": run_user(ask, what, argument)}
    except KeyboardInterrupt:
        answer = {"seq": int(seq), "error": "interrupted"}
    except BaseException as error:
        leave_child(error)
        answer = {"seq": int(seq), "error": guarded(safe_str, error) or type_name(error)}
    guarded(flush_all)  # what a `__repr__` left in a buffer does not belong to the next eval
    S.phase = Phase.IDLE
    reclaim_sigint()
    answer = dump(answer)
    transmit('{"ev":"reply",' + answer[1:] + "\n")


def ask(what, argument):
    if what == "vars":
        names = [name for name in list(SPACE) if is_user_name(name)]
        return {"vars": list_values(names[:VARS_LISTED]), "more": max(len(names) - VARS_LISTED, 0)}
    if what == "inspect":
        return inspect_name(argument)
    if what == "complete":
        return complete(argument)
    if what == "definitions":
        need_part("definitions")
        return definitions(argument)
    raise ValueError("unknown query `%s`" % what)


def compiled_bridge():
    """This bridge as `code` for boot.py: compiling it costs more than all the rest of the start. Its parts that run later are
    compiled too, each to one constant that is packed, since every page that a start has to touch costs it something."""
    magic, dumps = modules["_frozen_importlib_external"].MAGIC_NUMBER, import_stdlib("marshal").dumps
    texts, zlib = {part for part in PARTS.values() if type(part) is str}, attempt(import_stdlib, "zlib")  # not every Python has zlib
    code = CODE
    if texts and zlib is not None:
        code = CODE.replace(co_consts=tuple([
            zlib.compress(dumps(compile(one, BRIDGE_FILE, "exec", 0, True))) if type(one) is str and one in texts else one for one in CODE.co_consts]))
    return (magic + dumps(code)).hex()


def do_clear(seq):
    S.pending = False
    forget_interrupt()
    old = dict(SPACE)
    SPACE.clear()
    SPACE.update(vars(ModuleType("__main__")))
    SPACE["__builtins__"] = builtins
    modules["__main__"] = MODULE
    S.flags, S.names, S.final = 0, len(SPACE), None
    KNOWN.clear()
    BOUND.clear()
    GIVEN.clear()
    SOURCES.pop(STDLIB_FILE, None)
    MARKS.clear()
    GLOBALS.clear()
    forget_figures()
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    repair_builtins()
    S.phase = Phase.ASKED
    guarded(old.clear)  # finalizers of the user's run here
    del old
    guarded(flush_all)
    S.phase = Phase.IDLE
    reclaim_sigint()
    S.user_sigint = S.traced = None
    signal(SIGINT, on_sigint)
    sys.stdin, sys.stdout, sys.stderr = IN, OUT, ERR
    repair_streams()
    transmit('{"ev":"reply","seq":%d,"data":%s}\n' % (int(seq), dump({"notice": attempt(what_goes_on)})))


def repair_builtins():
    """Gives back the builtins that the user replaced or deleted. What libraries have added stays."""
    for name, value in OWN_BUILTINS.items():
        if BUILTINS.get(name) is not value:
            BUILTINS[name] = value
    BUILTINS.pop("_", None)
    reset_builtins()


def what_goes_on():
    """What a clear leaves running, in words."""
    tasks = [task for task in S.all_tasks(S.loop) if not task.done()] if S.loop is not None and not S.loop.is_closed() else []
    parts = [many(number, word, others) for number, word, others in (
        (len(BORN), "thread", None), (len(tasks), "task", None), (len(attempt(live_children) or ()), "child process", "child processes")) if number]
    if not parts:
        return None
    listed = parts[-1] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    return "%s of earlier evals %s on" % (listed, "goes" if listed[:2] == "1 " and len(parts) == 1 else "go")


def live_children():
    """Processes that were started here and have not ended, without copies of this one."""
    children = []
    for task in posix.listdir("/proc/self/task"):
        children += file_text("/proc/self/task/%s/children" % task).split()
    return [child for child in children if int(child) not in FROZEN and file_text("/proc/%s/stat" % child).rpartition(")")[2][1:2] not in ("Z", "X", "")]
