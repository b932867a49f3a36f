# Hooks: what the bridge does to modules of others when user code imports them; until then nothing is done.

HOOKS = {"_posixsubprocess": hook_fork_exec, "bdb": hook_bdb, "threading": hook_threading, "traceback": hook_traceback,
         "matplotlib": choose_agg, "matplotlib.figure": hook_figure, "matplotlib._pylab_helpers": hook_registry,
         "matplotlib.pyplot": hook_pyplot, "matplotlib.animation": hook_animation, "mpl_toolkits.mplot3d.axes3d": hook_axes3d}


def meet_modules():
    for name, hook in HOOKS.items():
        if name in modules:
            attempt(hook, modules[name])
    sys.meta_path.insert(0, HookFinder)


class HookFinder:
    """Finds the modules of HOOKS as Python would, and calls the hook when one has run."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hook = HOOKS.get(name)
        if hook is None:
            return None
        try:
            for finder in list(sys.meta_path):
                spec = None if finder is cls else finder.find_spec(name, path, target)
                if spec is not None:
                    break
            loader = spec.loader
            execute = loader.exec_module

            def exec_module(module):
                del loader.exec_module
                execute(module)
                attempt(hook, module)

            loader.exec_module = exec_module
            return spec
        except Exception:
            return None


class StandIn:
    """Stands for a builtin function, and is no function either: one that is an attribute of a class would become a method."""

    def __init__(self, call, original):
        self.__wrapped__, self.call = original, call
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(original, name, None))

    def __call__(self, /, *args, **kwargs):
        __tracebackhide__ = True  # pytest shows no such frame of an error
        return self.call(*args, **kwargs)

    def __repr__(self):
        return repr(self.__wrapped__)

    def __reduce__(self):
        """Pickled by its name, as the original is: a pool may be given `os.system`."""
        return self.__qualname__


def alike(function, original):
    """Makes a function look like the one that it stands for."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(function, name, getattr(original, name))
    vars(function).update(vars(original))
    function.__wrapped__ = original
    return function
