"""Checkpoints and what a process has open: a copy shares no descriptor with the session that goes on."""
import os
import shutil
import tempfile

from nest import NestTest


class Files(NestTest):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    def begin(self, code):
        host = self.start(cwd=self.folder)
        self.ok(host, "import os, sys, tempfile, socket, subprocess, mmap\n" + code)
        return host

    def test_st3_offsets_come_back(self):
        self.path("in", "0123456789" * 2000)
        host = self.begin("f = open('in'); head = f.read(4)\nraw = os.open('in', os.O_RDONLY); _ = os.lseek(raw, 7, 0)\nd = os.open('.', os.O_RDONLY)\n"
                          "t = tempfile.TemporaryFile(); _ = t.write(b'abc'); t.flush()\nn = tempfile.NamedTemporaryFile(); null = open('/dev/null'); gone = open('in'); os.unlink('in'); tail = gone.read(2)")
        copy = host.checkpoint()
        self.assertEqual([text for text in copy.lost if "temporary" in text or "contents" in text], copy.lost)
        for _ in range(2):
            self.ok(host, "f.read(9) and os.read(raw, 3) and gone.read(5) and t.write(b'later') and t.flush()\nf.close(); os.close(raw); gone.close(); t.close()\nnull.close()")
            self.back(host, copy)
            self.ok(host, "f.tell(), f.read(3), os.read(raw, 2), t.tell(), gone.read(2), null.read()", "(4, '456', b'78', 3, '23', '')")
            self.ok(host, "os.get_inheritable(raw), os.fstat(d).st_ino == os.stat('.').st_ino", "(False, True)")

    def test_st3_what_is_buffered_is_not_written_twice(self):
        host = self.begin("w = open('w', 'w'); a = open('a', 'a'); b = open('b', 'ab')\nclass Holder: pass\nh = Holder(); h.log = open('deep', 'a')\n"
                          "_ = [x.write('one ') for x in (w, a, h.log)], b.write(b'one ')")
        copy = host.checkpoint()
        self.assertIn("the contents of w", copy.lost)
        self.ok(host, "for x in (w, a, h.log): _ = x.write('two '); x.flush()\n_ = b.write(b'two '); b.flush()")
        self.back(host, copy)
        self.assertEqual(host.idle.order, [])
        self.ok(host, "for x in (w, a, h.log): _ = x.write('three '); x.close()\n_ = b.write(b'three '); b.close()")
        self.assertEqual((self.read("w"), self.read("a"), self.read("b"), self.read("deep")), ("one three ", *["one two three "] * 3))

    def test_st3_a_pipe_to_a_child_ends_though_a_copy_exists(self):
        host = self.begin("p = subprocess.Popen(['cat'], stdin=-1, stdout=-1)")
        copy = host.checkpoint()
        self.assertEqual([text for text in copy.lost if "cat" in text or "pipe" in text], copy.lost)
        self.ok(host, "p.communicate(b'through')[0], p.returncode", "(b'through', 0)")
        self.back(host, copy)
        # Its process was ended with the session that had it, which is what it says then.
        self.ok(host, "p.poll(), p.wait(), p.returncode", "(-9, -9, -9)")
        self.fails(host, "p.stdin.write(b'x'); p.stdin.flush()", "BrokenPipeError")
        self.ok(host, "p.stdout.read()", "b''")
        self.ok(host, "subprocess.run(['cat'], input=b'new', stdout=-1).stdout", "b'new'")

    def test_st3_a_port_is_free_when_the_session_closes_it(self):
        host = self.begin("s = socket.create_server(('127.0.0.1', 0)); port = s.getsockname()[1]\nc = socket.create_connection(('127.0.0.1', port)); peer, _ = s.accept(); socket.setdefaulttimeout(5)")
        copy = host.checkpoint()
        self.assertEqual((len(copy.lost), sum("listens at 127.0.0.1:" in text for text in copy.lost)), (3, 1))
        self.ok(host, "c.getblocking(), c.sendall(b'x'), peer.recv(1)", "(True, None, b'x')")
        self.ok(host, "c.close(); peer.recv(1)", "b''")
        self.ok(host, "peer.close(); s.close(); again = socket.socket(); again.bind(('127.0.0.1', port)); again.listen(); again.close()")
        self.back(host, copy)
        self.fails(host, "c.sendall(b'x')", "BrokenPipeError")
        self.ok(host, "peer.recv(1), socket.getdefaulttimeout()", "(b'', 5.0)")
        self.ok(host, "new = socket.create_server(('127.0.0.1', 0)); new.getsockname()[1] > 0", "True")

    def test_st3_a_server_on_the_loop_does_not_spin_after_a_rollback(self):
        host = self.begin("import asyncio\nasync def answer(r, w):\n    w.write(await r.read(1)); w.close()\nserver = await asyncio.start_server(answer, '127.0.0.1', 0)\nport = server.sockets[0].getsockname()[1]")
        copy = host.checkpoint()
        self.ok(host, "r, w = await asyncio.open_connection('127.0.0.1', port); w.write(b'x'); await r.read()", "b'x'")
        self.back(host, copy)
        result = self.ok(host, "loop = asyncio.get_event_loop(); select, turns = loop._selector.select, []\n"
                               "loop._selector.select = lambda limit: (turns.append(1), select(limit))[1]\nawait asyncio.sleep(0.05)\nlen(turns) < 20", "True")
        self.assertEqual(result.err, "")

    def test_st3_pipes_within_the_process_work_again(self):
        host = self.begin("r, w = os.pipe(); os.set_blocking(r, False)\nimport selectors; sel = selectors.DefaultSelector(); key = sel.register(r, selectors.EVENT_READ)")
        copy = host.checkpoint()
        self.assertEqual(copy.lost, [])
        self.ok(host, "os.write(w, b'live'); os.close(w)")
        self.back(host, copy)
        self.ok(host, "sel.select(0), os.write(w, b'again'), len(sel.select(1)), os.read(r, 9), os.get_blocking(r), os.get_blocking(w)", "([], 5, 1, b'again', False, True)")

    def test_st3_what_is_in_a_pipe_within_the_process_is_told_as_lost(self):
        host = self.begin("r, w = os.pipe(); r2, w2 = os.pipe()\n_ = os.write(w, b'five!'), os.write(w2, b'more')")
        copy = host.checkpoint()
        self.assertEqual(copy.lost, ["9 bytes in pipes within the process"])
        self.ok(host, "os.read(r, 9), os.read(r2, 9)", "(b'five!', b'more')")
        self.assertEqual(host.checkpoint().lost, [])
        self.back(host, copy)
        self.ok(host, "os.set_blocking(r, False), os.write(w, b'new'), os.read(r, 9)", "(None, 3, b'new')")

    def test_st3_a_redirected_descriptor_stays_the_users(self):
        host = self.begin("saved = os.dup(1); out = os.open('out', os.O_CREAT | os.O_WRONLY); _ = os.dup2(out, 1); _ = os.write(1, b'one ')")
        copy = host.checkpoint()
        self.ok(host, "os.write(1, b'two ') and None")
        self.back(host, copy)
        self.ok(host, "os.write(1, b'three ') and None")
        self.ok(host, "os.write(saved, b'to the session') and None\n_ = os.dup2(saved, 1); print(' and on')", None, "to the session and on\n")
        self.assertEqual(self.read("out"), "one three ")

    def test_st3_locks_shared_memory_and_mappings_are_told(self):
        self.path("mapped", "x" * 5000)
        host = self.begin("import fcntl\nlock = open('lock', 'w'); fcntl.flock(lock, fcntl.LOCK_EX)\nfile = open('mapped', 'r+b'); m = mmap.mmap(file.fileno(), 0); anonymous = mmap.mmap(-1, 4096)")
        copy = host.checkpoint()
        for text in ("the lock on lock", "the contents of mapped", "what is in shared memory"):
            self.assertIn(text, copy.lost)
        # The session gives up its lock, though a copy exists.
        self.ok(host, "lock.close(); other = open('lock'); fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)")
        self.back(host, copy)
        self.ok(host, "fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB); m[:2]", "b'xx'")

    def test_st3_a_transaction_is_not_copied(self):
        host = self.begin("import sqlite3\nc = sqlite3.connect('app.db'); memory = sqlite3.connect(':memory:')\n"
                          "for x in (c, memory): _ = x.execute('create table t (x)'); x.commit()")
        copy = host.checkpoint()
        self.assertIn("the contents of app.db", copy.lost)
        self.ok(host, "for x in (c, memory): _ = x.execute('insert into t values (1)')")
        self.assertIn("a transaction is open in app.db (SQLite)", host.refused())
        self.assertIn("a transaction is open in app.db (SQLite)", host.copy())
        self.ok(host, "c.commit()")
        host.checkpoint()
        self.back(host, copy)
        self.ok(host, "c.execute('select count(*) from t').fetchall(), memory.execute('select count(*) from t').fetchall()", "([(1,)], [(0,)])")
        self.ok(host, "_ = c.execute('insert into t values (2)'); c.commit(); c.execute('pragma integrity_check').fetchall()", "[('ok',)]")
        self.ok(host, "_ = c.execute('pragma journal_mode=wal'); _ = c.execute('insert into t values (3)')")
        self.assertIn("a transaction is open in app.db (SQLite)", host.refused())
        self.ok(host, "c.commit(); c.execute('select count(*) from t').fetchall()", "[(3,)]")
        self.back(host, host.checkpoint())
        self.ok(host, "_ = c.execute('insert into t values (4)'); c.commit(); c.execute('pragma integrity_check').fetchall()", "[('ok',)]")

    def test_st3_a_file_that_a_library_keeps_in_memory_is_not_copied(self):
        with open(self.path("data.h5"), "wb") as file:
            file.write(b"\x89HDF\r\n\x1a\n" + bytes(100))
        with open(self.path("data.duckdb"), "wb") as file:
            file.write(bytes(8) + b"DUCK" + bytes(100))
        host = self.begin("f = open('data.h5', 'rb')")
        host.checkpoint()
        self.ok(host, "f = open('data.h5', 'r+b')")
        self.assertIn("data.h5 is open for writing (HDF5)", host.refused())
        self.ok(host, "f = open('data.duckdb', 'r+b')")
        self.assertIn("data.duckdb is open for writing (DuckDB)", host.refused())
        self.ok(host, "f.close()")
        host.checkpoint()

    def test_st3_temporary_directories_are_left_to_the_session(self):
        host = self.begin("t = tempfile.TemporaryDirectory(dir='.'); _ = open(t.name + '/x', 'w').write('1')")
        host.checkpoint().drop()
        copy = host.checkpoint()
        self.ok(host, "os.path.exists(t.name + '/x')", "True")
        self.back(host, copy)
        self.ok(host, "os.path.exists(t.name + '/x')", "True")
        result = host.submit("exit()")
        host.pump(result, lambda event: False)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("tmp")], [])

    def test_st3_input_that_a_thread_waits_for_comes_to_the_restored_session(self):
        host = self.begin("import threading")
        result = host.eval("threading.Thread(target=sys.stdin.readline, daemon=True).start()")
        if result.event("stdin_wait") is None:
            host.pump(host.idle, lambda event: event["ev"] == "stdin_wait")
        copy = host.checkpoint()
        self.assertEqual(copy.told["threads"], 1)
        self.back(host, copy)
        self.ok(host, "input()", "'typed'", answers=["typed\n"])
        self.ok(host, "sys.stdin.readline()", "'more\\n'", answers=["more\n"])
