# Packages: how they get into the environment that the code runs in. Looked at only where a module is missing, or where
# code that cannot be compiled was to install something; no process is started.

OLD_STDLIB = ("tkinter", "_tkinter", "curses", "_curses", "_sqlite3", "_ctypes", "_bz2", "_lzma", "_ssl", "readline")  # before 3.10 there is no list


def missing_package(error, source):
    """What the host is told of a missing module; None if no package can bring it."""
    if isinstance(error, SyntaxError):
        return installer() if "install" in source or " add " in source else None
    if isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__  # some libraries say in an error of their own which module they need
    if not isinstance(error, ModuleNotFoundError):
        return None
    try:
        return missing_module(error)
    finally:
        forget_directories()  # done last, because looking for pip has read them


def missing_module(error):
    name = error.name
    if type(name) is not str or not name or "is not a package" in str(error):  # a file of the user's hides the package
        return None
    top = name.partition(".")[0]
    if "." in name and getattr(modules.get(top), "__file__", None):
        return None  # the package is there, and has no such part
    facts = installer()
    facts["module"] = name
    facts["of_language"] = top in getattr(sys, "stdlib_module_names", OLD_STDLIB)
    return facts


def forget_directories():
    """What is installed now is found by the next import, however soon that comes."""
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            sys.path_importer_cache.pop(path, None)
        elif hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


def installer():
    python, prefix = shell_word(sys.executable), sys.prefix
    in_venv = prefix != sys.base_prefix
    if exists(prefix + "/conda-meta"):
        tool = program("conda") or program("mamba") or program("micromamba") or "conda"
        return {"install": "%s install -p %s -c conda-forge" % (tool, shell_word(prefix))}
    uv, above = program("uv"), folders_above()
    if in_venv:
        for folder in above:
            if uv and exists(folder + "/uv.lock") and exists(folder + "/pyproject.toml") and is_of_uv(prefix, folder):
                return {"install": uv + " add"}
            if program("poetry") and uses_poetry(folder) and is_of_poetry(prefix, folder):
                return {"install": program("poetry") + " add"}
            if program("pdm") and exists(folder + "/pdm.lock") and is_of_pdm(prefix, folder):
                return {"install": program("pdm") + " add"}
            if program("pipenv") and exists(folder + "/Pipfile") and is_of_pipenv(prefix, folder):
                return {"install": program("pipenv") + " install"}
    has_pip = modules["_frozen_importlib_external"].PathFinder.find_spec("pip") is not None
    if uv and in_venv and (not has_pip or "\nuv =" in "\n" + file_text(prefix + "/pyvenv.cfg")):
        return {"install": "%s pip install --python %s" % (uv, python)}
    if not in_venv and any([exists(folder + "/EXTERNALLY-MANAGED") for folder in STDLIB]):
        return {"install": "python3 -m venv .venv && .venv/bin/pip install", "makes_environment": True}
    if not has_pip:
        return {"install": "%s -m ensurepip && %s -m pip install" % (python, python)}
    return {"install": python + " -m pip install"}


def uses_poetry(folder):
    text = file_text(folder + "/pyproject.toml")
    return exists(folder + "/poetry.lock") or "[tool.poetry" in text or "poetry.core" in text


# ---- whose an environment is: these tools install into that of their project, whatever Python runs ------------------

def is_in_project(prefix, folder):
    """Whether an environment is the one that lies in a project where all of them put it."""
    return is_same(prefix, folder.rstrip("/") + "/.venv")


def is_of_uv(prefix, folder):
    named = variable("UV_PROJECT_ENVIRONMENT")
    if named:
        return is_same(prefix, named if named[0] == "/" else folder.rstrip("/") + "/" + named)
    return is_in_project(prefix, folder)


def is_of_poetry(prefix, folder):
    """Elsewhere than in the project, the name of an environment of poetry has a digest of the project's path in it."""
    if is_in_project(prefix, folder):
        return True
    digest = attempt(lambda: import_stdlib("hashlib").sha256(realpath(folder).encode("utf-8", "surrogateescape")).digest())
    return digest is not None and "-%s-py" % base64(digest)[:8].replace("+", "-").replace("/", "_") in prefix.rpartition("/")[2]


def is_of_pdm(prefix, folder):
    """pdm notes the Python that a project uses."""
    if is_in_project(prefix, folder):
        return True
    noted = file_text(folder + "/.pdm-python").strip()
    return noted.count("/") > 1 and is_same(prefix, noted.rpartition("/")[0].rpartition("/")[0])


def is_of_pipenv(prefix, folder):
    """pipenv notes in an environment the project that it is of."""
    noted = file_text(prefix + "/.project").strip()
    return is_in_project(prefix, folder) or (noted != "" and is_same(noted, folder))


def is_same(path, other):
    """Whether two paths lead to the same directory."""
    try:
        one, two = stat(path), stat(other)
        return (one.st_ino, one.st_dev) == (two.st_ino, two.st_dev)
    except (OSError, ValueError):
        return False


def folders_above():
    """The current directory and those above it, up to home."""
    folder, found, home = getcwd(), [], variable("HOME")
    while folder:
        found.append(folder)
        if folder == home:
            break
        folder = folder.rpartition("/")[0]
    return found


def program(name):
    """How a program is called: its name if it is on the PATH, its path if it lies where installers put it."""
    for folder in variable("PATH").split(":"):
        if folder and runnable(folder + "/" + name):
            return name
    home = variable("HOME")
    for folder in (home + "/.local/bin/", home + "/.cargo/bin/"):
        if home and runnable(folder + name):
            return shell_word(folder + name)
    return None


def runnable(path):
    try:
        return access(path, 1) and stat(path).st_mode & 0o170000 == 0o100000
    except (OSError, ValueError):
        return False


def file_text(path):
    try:
        with _io.open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 16)
    except (OSError, ValueError):
        return ""


def shell_word(text):
    plain = text and all([c.isalnum() or c in "/._-+@%:," for c in text])
    return text if plain else "'" + text.replace("'", "'\\''") + "'"
