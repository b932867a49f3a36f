# Serve: the command loop and the start; what runs last stands last.

def settle():
    """Puts the streams in order between two evals, when nobody waits for it. Done only if nothing of the user's can run until
    the next eval comes: there is no thread, no asyncio loop and no signal handler."""
    if not BORN and S.loop is None and not ("signal" in modules and has_handlers()):
        # A thread may have closed the streams after the eval's last flush and have ended since.
        repair_streams()
        may_have_children()
        S.since = Since.CALM if S.since == Since.FLUSHED and are_ours() else Since.SETTLED


def step():
    if FROZEN:
        reap()
    if S.since < Since.SETTLED:
        settle()
    if S.loop is not None:
        idle_loop()
    words, payload = receive()
    if words[0] == "eval":
        do_eval(words[1], payload)
        return
    if words[0] == "work":
        do_work(words[1], words[2], payload)
        return
    S.since = Since.RAN  # answering a question may call code of the user's too
    if words[0] == "query":
        do_query(words[1], words[2], payload.decode("utf-8", "replace"))
    elif words[0] == "clear":
        do_clear(words[1])
    elif words[0] == "copy":
        do_copy(words[1])
    elif words[0] == "last":
        S.ends = True
    elif words[0] == "exit":
        S.life = Life.FINISHING
        signal(SIGINT, default_int_handler)
        raise Finish(0)


HOPELESS = 50           # after so many failed steps in a row, the next one will fail too


def serve():
    failures = 0
    while True:
        try:
            step()
            failures = 0
        except Finish:
            raise
        except Restored:
            pass
        except BaseException as error:  # nothing of the user's should get here; go on all the same
            leave_child(error)
            reclaim_sigint()
            S.since = Since.RAN
            if S.phase == Phase.IDLE:
                waited, raised = frames_of(error)
                if waited or (raised and failures == 0):
                    tell_while_idle(error)
                if waited:
                    continue
            if S.phase == Phase.ASKED:
                S.phase = Phase.IDLE
            try:
                transmit(dump({"ev": "log", "text": "bridge: " + format_plainly(error)}) + "\n")
                if S.phase > Phase.ASKED:
                    end_writes()
                    transmit(dump({"ev": "error", "name": type_name(error), "message": safe_str(error)}) + "\n")
                    transmit(dump({"ev": "done", "eval": S.eval, "status": "error"}) + "\n")
            except BaseException:
                pass
            failures += 1
            if failures >= HOPELESS:
                leave_broken(error)


def frames_of(error):
    """Whether an error was raised while the bridge waited for a command, which only a signal handler does: a read that fails by
    itself ends the session. And whether it was raised in code of the user's."""
    traceback, last, raised = error.__traceback__, None, False
    while traceback is not None:
        raised = traceback.tb_frame.f_code.co_filename != BRIDGE_FILE
        if not raised:
            last = traceback.tb_frame.f_code
        traceback = traceback.tb_next
    return last is READ_CONTROL, raised


READ_CONTROL = read_control.__code__


def tell_while_idle(error):
    """Tells an error that code of the user's raised while no eval runs. Python would print it, and end."""
    clean(error)
    text = guarded(format_error, error) or format_plainly(error)
    reclaim_sigint()
    try:
        send_background(ERR, text, None)
    except BaseException:  # another signal, whose handler raises too
        pass


def leave_broken(error):
    """Ends the session where user code has broken what each step needs, such as by an audit hook, which nobody can take away."""
    S.life = Life.FINISHING
    try:
        reason = "the interpreter fails at what the session needs: " + type_name(error)
        transmit(dump({"ev": "exiting", "code": 1, "reason": reason}) + "\n")
    except BaseException:
        _exit(1)
    raise Finish(1)


def start():
    signal(SIGINT, on_sigint)
    signal(SIGURG, on_sigurg)
    signal(SIGWINCH, on_nudge)
    for name in ("STEAD_BRIDGE_FD", "STEAD_BRIDGE_OUT", "STEAD_NEST_FD", "STEAD_FIGURES"):
        if _os is not None:
            _os.environ.pop(name, None)
        else:
            posix.environ.pop(name.encode("ascii"), None)
            posix.unsetenv(name)
    open_streams()
    # A command may start Python with the boot code in a file: then that file's folder is first on the path.
    if sys.argv[0] not in ("", "-c") and sys.path[:1] == [sys.argv[0].rpartition("/")[0]]:
        del sys.path[0]
    sys.argv = [""]
    if "" not in sys.path[:1] and not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path.insert(0, "")
    if "linecache" in modules:
        attempt(forget_boot, modules["linecache"])
    else:
        sys.meta_path.insert(0, SourceFinder)
    watch_children()
    watch_copies()
    watch_tracing()
    meet_modules()
    patch_threads()
    reset_builtins()
    can = ["clear", "vars", "inspect", "complete", "changed", "code", "save", "load", "stdlib", "definitions", "last"]
    if can_copy():
        can.append("checkpoint")
    transmit(dump({
        "ev": "hello", "protocol": 1, "language": "python", "version": sys.version.split()[0],
        "executable": sys.executable or "", "pid": PID, "can": can}) + "\n")


MODULE = make_namespace()
SPACE = MODULE.__dict__
S.names = len(SPACE)
start()
try:
    serve()
except Finish as finish:
    code = finish.code
raise SystemExit(code)
