"""Names: what changed, vars, inspect, complete, clear."""
import os
import tempfile

from driver import BashTest, shared


class Names(BashTest):
    def test_e13_changes(self):
        host = self.start()
        self.assertEqual(host.eval("s=text; a=(1 2 3); declare -A m=([k]=v); declare -i i=5; export e=x; f() { :; }; alias l=ls").changed["added"], [
            {"name": "a", "type": "array", "size": "3"}, {"name": "e", "type": "exported string", "size": "1"}, {"name": "i", "type": "integer", "size": "1"},
            {"name": "m", "type": "map", "size": "1"}, {"name": "s", "type": "string", "size": "4"}, {"name": "f", "type": "function"}, {"name": "l", "type": "alias"}])
        self.assertEqual(host.eval("echo $s; f").changed, {})
        self.assertEqual([one["name"] for one in host.eval("s=other; a+=(4); m[k]=w; f() { true; }; alias l='ls -l'; PATH=$PATH:/x").changed["rebound"]],
                         ["PATH", "a", "m", "s", "f", "l"])
        self.assertEqual(host.eval("unset s; unset -f f; unalias l").changed, {"removed": ["s", "f", "l"]})
        self.assertEqual(host.eval("g() { made_inside=1; }; g").changed["added"][0]["name"], "made_inside")
        changed = host.eval("for i in {1..80}; do declare v$i=1; done").changed
        self.assertEqual((len(changed["added"]), changed["more"]), (50, 31))
        self.assertEqual(host.eval("x=1; exit 3").changed["added"][0]["name"], "x")

    def test_e13_plain_code_tells_the_same_as_any(self):
        """Code that is as plain as a program with arguments is not looked at after it ran; it must be plain indeed."""
        host = self.start()
        told = [
            ("echo $((1+1))", ""), ("echo \"a b\" | cat >/dev/null; true", ""), ("x=1", "+x"), ("x=1", ""), ("x=2 y=3", "~x +y"), ("x=5 true", ""),
            ("x=6 : | cat", ""), ("x=\"it's\"; echo $x >/dev/null", "~x"), ("x+=more", "~x"), ("echo a=b c=d >/dev/null", ""), ("y=$x; z=${y}", "~y +z"),
            ("\"re\"ad r1 <<<1", "+r1"), ("r\\ead r2 <<<1", "+r2"), ("cmd='eval e1=1'", "+cmd"), ("$cmd", "+e1"), ("unset e1", "-e1"), ("\"$nothing\" || $cmd", "+e1"),
            (">/dev/null $cmd; unset e1", "-e1"), ("true # it's\nread r3 <<<1\ntrue 'b'", "+r3"), ("cat >/dev/null <<E\nit's\nE\nread r4 <<<1\ntrue 'b'", "+r4"),
            ("echo $((k=5)) >/dev/null", "+k"), ("sum='k=6'", "+sum"), ("echo $((sum)) >/dev/null", "~k"), (": ${d:=1}", "+d"), ("printf -v p1 1", "+p1"),
            ("o=-v", "+o"), ("printf $o p2 1", "+p2"), ("declare -n ref=x", "+ref"), ("ref=changed", "~ref ~x"), ("unset -n ref", "-ref"), ("declare -i i", ""), ("i=j=3", "+i +j"),
            ("f() { made=$1; }", "+f"), ("f 1", "+made"), ("true; f 2", "~made"), ("true|f 3", ""), ("alias g='aliased=1;'", "+g"), ("g", "+aliased"),
            ("echo() { said=1; }", "+echo"), ("echo a", "+said"), ("unset -f echo", "-echo"), ("trap 'u=$((u+1))' USR1", ""), ("kill -USR1 $$", "+u"), ("trap - USR1", ""),
            ("trap 'd2=1' DEBUG", ""), ("true", "+d2"), ("trap - DEBUG; unset d2", "-d2"), ("for w in 1 2; do :; done", "+w"), ("read w <<<7", "~w"),
            ("if true; then q=1; fi", "+q"), ("{ q=2; }", "~q"), ("(q=3)", ""), ("shopt -s lastpipe", ""), ("echo 4 | q=4", "~q"), ("time q=5", "~q"), ("! q=6", "~q"),
            ("a[1]=1", "+a"), ("a=2", "~a"), ("[[ ab =~ b ]]; true", ""), ("cd /; cd - >/dev/null", ""), ("export q", ""), ("wait -p w2 2>/dev/null; true", ""),
            ("eval 'lost=1'", "+lost"), ("unset lost x", "-lost -x"), ("x=1\necho $x >/dev/null\ny=9", "+x ~y"),
        ]
        for code, expected in told:
            changed = host.eval(code).changed
            names = ["+" + one["name"] for one in changed.get("added", [])] + ["~" + one["name"] for one in changed.get("rebound", [])]
            self.assertEqual(sorted(names + ["-" + name for name in changed.get("removed", [])]), sorted(expected.split()), code)

    def test_p1_plain_code_costs_no_fork(self):
        host = self.start()
        host.eval("true")
        for code in ("echo $((1+1))", "x=5", "true; x=6 y=7", "echo 'a b' \"c\" 2>&1", "cd /"):
            self.assertTrue(any(self.costs_no_fork(host, code) for _ in range(5)), code)

    def costs_no_fork(self, host, code):
        """Code that takes longer than a few milliseconds, as it may on a busy machine, is looked at by a fork."""
        before = self.faults_of_children(host)
        host.eval(code)
        return self.faults_of_children(host) == before

    def faults_of_children(self, host):
        """Page faults of all children that the shell has waited for: every fork has some."""
        with open("/proc/%d/stat" % host.process.pid) as stat:
            return stat.read().rpartition(")")[2].split()[8]

    def test_e13_names_that_the_bridge_uses_itself(self):
        host = self.start()
        names = [
            "name", "type", "size", "value", "list", "rest", "events", "status", "id", "word", "line", "data", "error", "n", "i", "text", "key"]
        host.eval("; ".join("%s=mine" % name for name in names))
        listed = host.ask("query 1 vars")["data"]["vars"]
        self.assertEqual({one["name"]: one["value"] for one in listed}, dict.fromkeys(names, "mine"))
        self.gives(host, "compgen -v | grep -c '^__s_'", "0\n", status=1)

    def test_e13_many_and_large_values(self):
        host = self.start()
        host.eval("for i in {1..3000}; do declare many_$i=$i; done; printf -v big '%*s' 20000000 x; arr=({1..100000})")
        self.assertEqual(host.eval("many_2999=new; big+=y").changed["rebound"], [
            {"name": "many_2999", "type": "string", "size": "3"}, {"name": "big", "type": "string", "size": "20000001"}])
        self.assertEqual(host.eval(":").changed, {})

    def test_e13_more_names_than_a_shell_can_list(self):
        host = self.start()
        if host.hello["version"].startswith("4."):
            self.skipTest("this Bash has no clock that would tell how long the eval took, and lists them however long it takes")
        result = host.eval("for i in {1..30000}; do declare many_$i=$i; done")
        self.assertEqual(result.changed["added"], [{"name": "i", "type": "string", "size": "5"}])
        self.assertIn("too many variables to list", result.done["notice"])
        result = host.eval("many_7=other; new=1; cd /")
        self.assertEqual(({one["name"] for one in result.changed["added"]}, result.done["notice"]), ({"many_7", "new"}, "the working directory is now /"))
        self.assertEqual(host.eval("many_7+=x; unset new").changed, {"rebound": [{"name": "many_7", "type": "string", "size": "6"}], "removed": ["new"]})
        self.assertEqual(host.eval(": wörter ' many_7").error, "SyntaxError")
        result = host.eval("; ".join("named_%d=%d" % (n, n) for n in range(10_000)))
        self.assertEqual((len(result.changed["added"]), result.changed["more"]), (50, 2950))
        self.assertIn("too many variables to list", result.done["notice"])

    def test_e13_thousands_of_functions(self):
        host = self.start()
        changed = host.eval("for ((i = 0; i < 9000; i++)); do eval \"f_$i() { echo 'größe $i'; }\"; done; f_7").changed
        self.assertEqual((len(changed["added"]), changed["more"]), (50, 8951))
        self.assertEqual(host.eval("f_7() { :; }; unset -f f_8").changed, {"rebound": [{"name": "f_7", "type": "function"}], "removed": ["f_8"]})
        self.assertEqual(host.eval("f_9").changed, {})

    def test_s7_clear_takes_names_that_were_made_when_there_were_many(self):
        host = self.start()
        host.eval("for i in {1..2000}; do declare many_$i=$i; done")
        host.eval("named=1; f() { unnamed=1; }; eval 'a'=1; f")
        self.assertEqual(host.ask("clear 1")["data"], {})
        self.gives(host, "echo ${many_2-gone} ${named-gone} ${unnamed-gone} ${a-gone}", "gone gone gone gone\n")
        self.assertEqual(host.ask("query 2 vars")["data"], {"vars": [], "more": 0})
        # And all are listed again.
        self.assertEqual(host.eval("eval 'hidd''en=1'").changed["added"][0]["name"], "hidden")

    def test_st1_vars_and_inspect(self):
        host = self.start()
        host.eval("n=3; a=(one 'two three'); declare -A m=([k]=v); s=$(printf '%2000s'); bin=$'a\\x01\\xff\\n'; twice() { echo $(($1 * 2)); }; alias ll='ls -l'")
        data = host.ask("query 1 vars")["data"]
        self.assertEqual([one["name"] for one in data["vars"]], ["a", "bin", "m", "n", "s", "twice", "ll"])
        self.assertEqual(data["vars"][0], {"name": "a", "type": "array", "size": "2", "value": "(one two three)"})
        self.assertEqual(data["vars"][1]["value"], "a\x01\\xff\n")
        self.assertTrue(all(len(one["value"]) <= 101 for one in data["vars"]))
        for name, parts in (("m", {"type": "map", "value": "([k]=v)"}), ("twice", {"type": "function", "source": "twice () \n{ \n    echo $(($1 * 2))\n}"}),
                            ("ll", {"type": "alias", "value": "ls -l"}), ("cd", {"type": "builtin"}), ("HOME", {"type": "exported string", "value": os.environ["HOME"]})):
            reply = host.ask("query 2 inspect", name)
            self.assertIn("data", reply)
            data = reply["data"]
            self.assertEqual(data, dict(data, name=name, **parts))
        for name in ("none", "a b", "$(echo x)", "x[$(echo x >&2)]", "-p", ""):
            self.assertIn("nothing is named", host.ask("query 3 inspect", name)["error"])
        self.assertEqual(host.ask("query 4 sing")["error"], "unknown query `sing`")

    def test_st1_complete(self):
        host = self.start()
        host.eval("my_var=1; my_func() { :; }")
        self.assertEqual(host.ask("query 1 complete", "echo $my_")["data"]["names"], ["$my_var"])
        self.assertEqual(host.ask("query 2 complete", "true; my_")["data"]["names"], ["my_func"])
        self.assertIn("/etc/passwd", host.ask("query 3 complete", "cat /etc/pass")["data"]["names"])
        self.assertEqual(host.ask("query 4 complete", "__stead_")["data"], {"names": [], "more": 0})

    def test_s7_clear(self):
        with tempfile.TemporaryDirectory() as there:
            host = self.start(cwd=there, env={"KEPT": "first"})
            self.gives(host, "x=1; f() { :; }; alias a=b; set -eu -o pipefail; shopt -s nullglob; cd /; KEPT=second; unset HOME; set -- a b; trap 'echo t' USR1 ERR EXIT DEBUG")
            self.assertEqual(host.ask("clear 5"), {"ev": "reply", "seq": 5, "data": {}})
            self.assertEqual(host.ask("query 6 vars")["data"], {"vars": [], "more": 0})
            self.gives(host, 'echo "<${x-}> $# $KEPT $HOME"; false; echo $nope; shopt -q nullglob || echo nullglob off; trap; pwd; f; a', "<> 0 first %s\n\nnullglob off\n%s\n" % (os.environ["HOME"], there),
                       "bash: f: command not found\nbash: a: command not found\n", 127)
            self.gives(host, "set -e; false; echo never", status=1)
            self.gives(host, "exit 3", status=3)

    def test_s7_clear_leaves_no_version_that_the_shell_is_compatible_with(self):
        look = "declare -p BASH_COMPAT; shopt | grep 'compat.*on$'"
        for code in ("", "BASH_COMPAT=4.4", "shopt -s compat43", "shopt -s compat43; shopt -u compat43"):
            for first in ({}, {"BASH_COMPAT": "4.3"}):
                host, fresh = self.start(env=first), self.start(env=first)
                host.eval(code)
                host.ask("clear 1")
                got, wanted = host.eval(look), fresh.eval(look)
                self.assertEqual((got.out, got.err), (wanted.out, wanted.err), (code, first))
                self.assertEqual("BASH_COMPAT" in got.out, bool(first))
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "a.stead")
                    self.assertEqual(self.work(host, "save", path).event("report")["data"]["saved"], [])
                    self.assertNotIn(b"compat", shared.contents(path).lower())

    def test_st1_namerefs_readonly_names_and_keys(self):
        host = self.start()
        host.eval("x=5; declare -n ref=x; declare -n none=nowhere; declare -r fixed=1; declare -A m=([one]=1); counter=1")
        listed = {one["name"]: (one["type"], one.get("size"), one["value"]) for one in host.ask("query 1 vars")["data"]["vars"]}
        self.assertEqual(listed["ref"], ("nameref", None, "x"))
        self.assertEqual(listed["fixed"], ("readonly string", "1", "1"))
        self.assertEqual(host.ask("query 2 inspect", "none")["data"], {"name": "none", "type": "nameref", "value": "nowhere"})
        self.assertEqual(host.ask("query 3 inspect", "m")["data"]["members"], ["one"])
        for wrong in ("conter", "coutner", "countter", "Counter"):
            self.assertIn("; near: counter", host.ask("query 4 inspect", wrong)["error"], wrong)
        self.assertEqual(host.ask("clear 5")["data"], {"notice": "readonly names stay: fixed"})
        self.gives(host, "declare -p ref none 2>&1 | grep -c 'not found'; echo ${x-gone}", "2\ngone\n")

    def test_st1_more_names_than_a_shell_can_list_in_time(self):
        host = self.start()
        if host.hello["version"].startswith("4."):
            self.skipTest("this Bash has no clock that would tell how long the eval took, and lists them however long it takes")
        host.eval("for i in {1..40000}; do declare many_$i=$i; done; known=1")
        data = host.ask("query 1 vars")["data"]
        self.assertIn("known", [one["name"] for one in data["vars"]])
        self.assertIn("too many variables to list", data["notice"])
        self.assertEqual(host.ask("query 2 inspect", "many_40000")["data"]["value"], "40000")

    def test_s7_clear_says_that_jobs_go_on(self):
        host = self.start()
        self.gives(host, "coproc cat; sleep 1000 & sleep 1000 & true")
        self.assertIn("background jobs of earlier evals go on", host.ask("clear 1")["data"]["notice"])
        host.eval("kill %1 %2 %3; wait")
