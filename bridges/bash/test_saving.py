"""Save and load: what a shell has comes back in another one."""
import json
import os
import resource
import signal
import subprocess
import tempfile

from driver import BashTest, shared

HOSTILE = r"""
text=$'a\nb\t"q" \'s\' $(echo no) `id` \\ \x01\x02\x7f\xff é …'
printf -v big '%*s' 100000 x
empty= ; declare none; declare -i number=42 unset_number; declare -r fixed=1; declare -x exported=$'e\nf'; declare -xr both=2
declare -l lower=ABC; declare -u upper=abc; declare -n ref=text; declare -t traced=1
list=(one 'two three' $'four\nfive' ''); sparse=([3]=c [100]=z); declare -a nothing=(); declare -a unset_list; declare -ai numbers=(1 2 3); declare -ar sealed=(x y)
declare -A map=([k]=v [a b]='c d' [$'n\nl']=$'x\ny' ["]"]='[' ['@']=at ['*']=star ['$x']='$y' ['"']="'" [$'\x01']=$'\x7f' [é]=ü [=]='=' ['a]b']='c') empty_map=(); declare -Ar sealed_map=([p]=q)
looks=$'declare -- text="evil"\ndeclare -- other="evil"'
_under=1; BASH_MINE=2; x1=$'\r'
"""
NAMES = [
    "text", "big", "empty", "none", "number", "unset_number", "fixed", "exported", "both", "lower", "upper", "ref", "traced", "list", "sparse",
    "nothing", "unset_list", "numbers", "sealed", "map", "empty_map", "sealed_map", "looks", "_under", "BASH_MINE", "x1"]
FUNCTIONS = r"""
shopt -s extglob
plain() { echo "plain $1"; }
my-func() { case $1 in @(a|b)*) echo ab ;; *) echo other ;; esac; }
here() { cat <<END
doc $1 "é"
END
}
loop() { local i; for ((i = 0; i < 3; i++)); do [[ $i =~ ^[0-2]$ ]] && printf '%s,' "$i"; done; }
exp() { :; }; export -f exp
fix() { :; }; readonly -f fix
a.b:c() { echo odd; }
alias ll='ls -l' say='echo "it'\''s"' plus='echo a; '
shopt -u extglob
"""


class Saving(BashTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.file = os.path.join(self.folder, "a.stead")

    def report(self, result, status="ok"):
        self.assertEqual(result.status, status, (result.order, result.events))
        return result.event("report")["data"]

    def test_sh1_a_save_leaves_the_shell_as_it_was(self):
        """Copies for undo are such saves, which the session makes by itself."""
        pairs = [
            ("sleep 60 &", "kill $! && wait $!", 143),
            ("(exit 3) & wait $!", "wait $!", 3),
            ("coproc cat", "[ $! = $COPROC_PID ]", 0),
            ("false", "[ $? = 1 ]", 0),
            ("hash -r; ls / >/dev/null", "[[ $(hash) == *ls* ]]", 0),
            ("RANDOM=42; a=$RANDOM; b=$RANDOM; RANDOM=42; [ $RANDOM = $a ]", "[ $RANDOM = $b ]", 0),
            ("set -- x y; getopts ab: o -a -b q", "getopts ab: o -a -b q; [ $o$OPTARG = bq ]", 0),
            ("REPLY=7 MAPFILE=(1 2)", "[ \"$REPLY${MAPFILE[*]}\" = '71 2' ]", 0),
        ]
        for before, after, status in pairs:
            host = self.start()
            host.eval(before)
            for n in range(2):
                self.report(self.work(host, "save", "%s.%d" % (self.file, n), "checkpoint"))
            self.assertEqual(host.eval(after).done["exit_code"], status, before)
            os.remove(self.file + ".0"), os.remove(self.file + ".1")

    def test_sh1_o1_a_save_fires_no_trap_for_children_and_keeps_it(self):
        host = self.start()
        host.eval("n=0; trap 'n=$((n + 1)); echo child' CHLD")
        # Asked for, as an eval that takes longer than a few milliseconds forks, too.
        before = host.ask("query 1 inspect", "n")
        for _ in range(3):
            result = self.work(host, "save", self.file, "checkpoint")
            self.report(result)
            self.assertEqual((result.out, result.err), ("", ""))
        self.assertEqual(host.ask("query 1 inspect", "n"), before)
        self.assertIn("child\nup\n", host.eval("sh -c :; echo up").out)
        other = self.start()
        self.report(self.work(other, "load", self.file))
        self.assertIn("CHLD", other.eval("trap -p").out)
        self.assertIn("child\nup\n", other.eval("sh -c :; echo up").out)

    def test_p1_evals_after_a_save_go_the_quick_way(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        self.report(self.work(host, "save", self.file, "checkpoint"))
        self.gives(host, "echo 1", "1\n")
        # The time at which an eval began is noted on the long way only.
        self.gives(host, "echo $__stead_began.", ".\n")

    def refused(self, result, name, words):
        self.assertEqual((result.status, result.error), ("error", name), result.events)
        self.assertIn(words, result.event("error")["message"])
        self.assertIsNone(result.event("report"))

    def save(self, host, *names, path=None, force=""):
        result = self.work(host, "save", path or self.file, force, *names)
        self.assertEqual((result.out, result.err), ("", ""))
        return self.report(result)

    def load(self, host, path=None):
        result = self.work(host, "load", path or self.file)
        self.assertEqual((result.out, result.err), ("", ""))
        return self.report(result)

    def shown(self, host, code):
        result = host.eval(code)
        return result.out, result.err

    def manifest(self, path=None):
        with open(path or self.file, "rb") as file:
            data = file.read()
        self.assertTrue(data.startswith(b"STEADSAVE1\n"))
        word, start, length = data[-51:].split()
        self.assertEqual((word, data[-1:], int(start) + int(length) + 51), (b"STEADEND", b"\n", len(data)))
        return json.loads(data[int(start):int(start) + int(length)].decode())

    def test_st2_hostile_variables_come_back_exactly(self):
        host, fresh = self.start(), self.start()
        host.eval(HOSTILE)
        report = self.save(host)
        self.assertEqual((sorted(report["saved"]), report["failed"]), (sorted(NAMES), []))
        self.assertEqual((report["bytes"], os.stat(self.file).st_mode & 0o777), (os.path.getsize(self.file), 0o600))
        loaded = self.load(fresh)
        self.assertEqual((sorted(loaded["loaded"]), loaded["failed"], loaded["warnings"]), (sorted(NAMES), [], []))
        # A map has its keys in no order.
        look = "declare -p %s; for k in \"${!map[@]}\"; do echo \"${k@Q}=${map[$k]@Q}\"; done | sort; echo ${#map[@]}" % " ".join(name for name in NAMES if name != "map")
        self.assertEqual(self.shown(fresh, look), self.shown(host, look))
        self.gives(fresh, "ref=new; echo $text; number=2+3; echo $number; lower=XY; echo $lower; bash -c 'echo \"$exported\"'", "new\n5\nxy\ne\nf\n")
        self.assertEqual({one["name"]: one["type"] for one in self.manifest()["names"]}, dict(
            dict.fromkeys(NAMES, "string"), number="integer", unset_number="integer", exported="exported string", both="exported string", ref="reference", list="array",
            sparse="array", nothing="array", unset_list="array", numbers="array", sealed="array", map="map", empty_map="map", sealed_map="map"))

    def test_st2_an_attribute_that_came_after_the_value_does_not_change_it(self):
        host, fresh, mark = self.start(), self.start(), os.path.join(os.path.dirname(self.file), "ran")
        host.eval("z='a[$(touch %s)]'; declare -i z; n=010; declare -i n; y=Abc; declare -u y; l=(010 xX); declare -ai l; x=out; export x" % mark)
        self.assertEqual(self.save(host)["failed"], [])
        self.assertEqual(self.load(fresh)["failed"], [])
        self.assertFalse(os.path.exists(mark), "what is in a value was run")
        look = "declare -p n y l x; echo \"${#z}\""
        self.assertEqual(self.shown(fresh, look), self.shown(host, look))

    def test_st2_what_shows_or_fires_does_neither_while_a_session_is_saved_or_loaded(self):
        other = self.file + "2"
        plain = self.start()
        plain.eval("x=2; l=(a 'b c'); f() { echo f; }; IFS=:; LANG=C; set -- p 'q r'")
        self.save(plain, path=other)
        for state in ("trap 'echo R' RETURN", "trap 'echo R' RETURN; set -T", "set -T; trap 'echo D' DEBUG", "set -E; trap 'echo E' ERR", "set -v", "set -x -u -e -C -a", "shopt -u interactive_comments",
                      "set -o posix; shopt -s nocasematch failglob", "IFS=$'\\n'", "IFS='[]\"{},:'", "readonly IFS=:", "readonly LC_ALL=C", "GLOBIGNORE='*'; BASH_COMPAT=4.4; EXECIGNORE='*'", "POSIXLY_CORRECT=1; IFS=",
                      "shopt -s expand_aliases; alias local='echo LOCAL' declare='echo DECL' if='echo IF' '[[=echo'", "printf() { echo mine; }; local() { echo mine; }; mapfile() { echo mine; }; declare() { echo mine; }"):
            with self.subTest(state):
                host, fresh, into = self.start(), self.start(), self.start()
                host.eval("x=1; l=(a 'b c'); declare -A m=([k]=v [j]=w); f() { echo f; }; alias q='echo q'")
                host.eval(state)
                self.assertEqual(self.save(host)["failed"], [])
                self.assertEqual(self.load(fresh)["failed"], [])
                look = "\\builtin declare -p x l IFS BASH_COMPAT 2>&1; \\builtin echo ${m[k]}; \\builtin set +o; \\builtin shopt -p; \\builtin trap -p; \\builtin declare -F f"
                self.assertEqual(self.shown(fresh, look), self.shown(host, look))
                into.eval(state)
                failed = [one["name"] for one in self.load(into, other)["failed"]]
                self.assertEqual(failed, ["IFS"] if state == "readonly IFS=:" else [])
                self.assertEqual(self.shown(into, "\\builtin echo \"$x${l[1]}$LANG$2\"")[0].replace("D\n", "").split("\n")[0], "2b cCq r")

    def test_st2_what_is_readonly_is_not_told_as_loaded(self):
        host, fresh, other = self.start(), self.start(), self.start()
        host.eval("LANG=C; LC_TIME=C; x=1")
        self.save(host)
        fresh.eval("readonly LANG=C.UTF-8 LC_TIME=C")
        loaded = self.load(fresh)
        self.assertEqual({one["name"]: one["why"] for one in loaded["failed"]}, dict.fromkeys(["LANG", "LC_TIME"], "it is readonly in this session"))
        self.gives(fresh, "echo $LANG $x", "C.UTF-8 1\n")
        other.eval("y=1; readonly LC_ALL=C.UTF-8")
        self.refused(self.work(other, "save", self.file, ""), "SaveError", "`LC_ALL` is readonly")
        self.refused(self.work(other, "load", self.file), "LoadError", "`LC_ALL` is readonly")

    def test_st3_a_checkpoint_keeps_what_came_from_the_standard_library(self):
        host, fresh = self.start(), self.start()
        self.work(host, "stdlib", "lib() { echo lib; }; alias lal='echo a'; LIBVAR=1; gone() { :; }")
        host.eval("mine() { lib; }; x=1; gone() { echo mine; }")
        look = "query 1 vars"
        before = sorted(one["name"] for one in host.ask(look)["data"]["vars"])
        self.assertEqual(before, ["gone", "mine", "x"])
        self.save(host, force="checkpoint")
        result = self.work(fresh, "load", self.file)
        self.assertEqual((result.status, result.done["variables"], sorted(one["name"] for one in result.changed["added"])), ("ok", 3, before))
        self.assertEqual(sorted(one["name"] for one in fresh.ask(look)["data"]["vars"]), before)
        self.gives(fresh, "mine; echo $LIBVAR", "lib\n1\n")
        changed = fresh.eval("lib() { echo other; }; LIBVAR=2").changed
        self.assertEqual(sorted(one["name"] for one in changed["rebound"]), ["LIBVAR", "lib"])
        self.assertEqual(sorted(one["name"] for one in fresh.ask(look)["data"]["vars"]), ["LIBVAR", "gone", "lib", "mine", "x"])

    def test_st2_what_came_from_the_standard_library_is_saved_only_if_it_is_used_or_changed(self):
        library = r"""lib() { echo "lib $LIBVAR"; }; deep() { :; }; used() { deep; }; other() { :; }; alias lal='echo a' lil='echo i'
            LIBVAR=é LIBLIST=(1 'two  words' $'three\n') KEPT=1 TWICE=1; declare -A LIBMAP=([a]=b); export PATH=$PATH:/x; turned() { :; }"""
        host = self.start()
        self.work(host, "stdlib", library)
        host.eval("x=1")
        self.assertEqual(self.save(host)["saved"], ["x"])
        self.save(host, force="checkpoint")
        back = self.start()
        self.load(back)
        self.assertEqual([one["name"] for one in back.ask("query 1 vars")["data"]["vars"]], ["x"])
        self.assertEqual(self.save(back)["saved"], ["x"])
        self.assertEqual(sorted(self.save(back, "lib", "LIBVAR", "lal")["saved"]), ["LIBVAR", "lal", "lib"])
        # An error that ends the shell, which becomes another one.
        self.assertEqual(back.eval("set -e; : ${nothing?}").status, "error")
        back.eval("set +e")
        self.assertEqual(self.save(back)["saved"], ["x"])
        for session in (host, back):
            session.eval("mine() { used; }; alias say='lal'; trap 'lib' USR1; turned() { echo mine; }; LIBLIST[1]='two words'; TWICE=2")
            session.eval("TWICE=1")
            self.assertEqual(sorted(self.save(session)["saved"]), sorted(["x", "mine", "used", "deep", "say", "lal", "lib", "LIBVAR", "turned", "LIBLIST", "TWICE"]))
            fresh = self.start()
            self.load(fresh)
            self.gives(fresh, "kill -USR1 $$; mine; turned; echo ${LIBLIST[1]}; say", "lib é\nmine\ntwo words\na\n")

    def test_st2_functions_and_aliases_come_back(self):
        host, fresh = self.start(), self.start()
        host.eval(FUNCTIONS)
        report = self.save(host)
        self.assertEqual((sorted(report["saved"]), report["failed"]), (["a.b:c", "exp", "fix", "here", "ll", "loop", "my-func", "plain", "plus", "say"], []))
        self.load(fresh)
        look = "declare -f plain my-func here loop exp fix a.b:c; declare -F | grep -v __stead_ | grep -v ' read$'; alias"
        self.assertEqual(self.shown(fresh, look), self.shown(host, look))
        self.gives(fresh, "shopt -q extglob", status=1)
        self.gives(fresh, "shopt -s extglob; plain x; my-func bx; here y; loop; a.b:c; say", 'plain x\nab\ndoc y "é"\n0,1,2,odd\nit\'s\n')

    def test_st2_settings_come_back(self):
        there = os.path.join(self.folder, "a dir")
        os.mkdir(there)
        host, fresh = self.start(), self.start()
        host.eval("set -u -o pipefail; set -C; shopt -s nullglob extglob; shopt -u sourcepath; umask 027; cd /; pushd /usr >/dev/null; pushd '%s' >/dev/null; IFS=:; set -- one 'two three' ''" % there)
        host.eval("trap 'echo usr1 \"$1\"' USR1; trap '' HUP; trap 'echo err' ERR; trap 'echo int' INT; trap 'n=1' RETURN; trap 'echo bye' EXIT; HOME=/elsewhere; unset LANG; export -n PATH")
        report = self.save(host)
        self.assertEqual(sorted(report["saved"]), ["HOME", "PATH"])
        loaded = self.load(fresh)
        self.assertEqual((loaded["failed"], loaded["warnings"]), ([], []))
        look = "printf '<%s>' \"$@\" \"$IFS\" \"$-\" \"$PWD\" \"$OLDPWD\" \"$HOME\" \"${LANG-gone}\" \"$BASHOPTS\" \"$SHELLOPTS\"; umask; dirs -l -p; trap; declare -p PATH"
        self.assertEqual(self.shown(fresh, look), self.shown(host, look))
        self.gives(fresh, "kill -USR1 $$; false; kill -INT $$", "usr1 one\nerr\nint\n")
        fresh.control.sendall(b"exit 0\n")
        result = shared.Result()
        fresh.wait_end(result)
        self.assertEqual(result.out, "bye\n")

    def test_st2_errexit_xtrace_and_debug_traps_come_back(self):
        for setting, code in (("set -e", "false; echo never"), ("set -x", "x=1; echo $x"), ("trap 'echo \"<$BASH_COMMAND>\"' DEBUG", "x=1; echo $x"), ("set -f", "echo /*"), ("set -o posix", "echo $-"), ("set -E; trap 'echo e' ERR", "f() { false; true; }; f"), ("set -a", "y=5; bash -c 'echo $y'"), ("set -k", "echo k a=b"),
                              ("shopt -s nocasematch", "[[ A == a ]]"), ("shopt -u expand_aliases", "alias q='echo q'\nq"), ("IFS=", "w='a b'; printf '<%s>' $w"), ("unset IFS", "w='a b'; printf '<%s>' $w ${IFS-unset}")):
            with self.subTest(setting):
                host, fresh = self.start(), self.start()
                host.eval(setting)
                host.eval("kept='a  b'; f() { echo f; }")
                self.save(host)
                self.load(fresh)
                self.assertEqual(self.shown(fresh, 'echo "$kept"'), self.shown(host, 'echo "$kept"'))
                ends = [(result.out, result.err, result.status, result.done.get("exit_code")) for result in (one.eval(code) for one in (host, fresh))]
                self.assertEqual(ends[0], ends[1])
                # Saving and loading did not change the session itself.
                self.save(host, path=self.file + "2")
                self.assertEqual(self.shown(fresh, "echo $SHELLOPTS $BASHOPTS"), self.shown(host, "echo $SHELLOPTS $BASHOPTS"))

    def test_st2_only_what_is_the_users_is_saved(self):
        host = self.start(env={"FROM_OUTSIDE": "x" * 9000, "CHANGED": "y" * 9000, "GIVEN": "1"})
        self.assertEqual(self.save(host)["saved"], [])
        host.eval("CHANGED=%s; export GIVEN=2" % ("z" * 9000))
        self.assertEqual(self.save(host)["saved"], ["CHANGED", "GIVEN"])
        host.eval("read -p 'x? ' v <<<1; exit() { builtin exit; }")
        self.assertEqual(self.save(host)["saved"], ["CHANGED", "GIVEN", "v", "exit"])

    def test_st2_named_ones_only(self):
        host, fresh = self.start(), self.start()
        host.eval("a=1 b=2 c=3; b() { echo b; }; alias c=ls; set -u; cd /")
        report = self.save(host, "b", "c", "nope", "PWD", "PATH", "x y")
        self.assertEqual(sorted(report["saved"]), ["PATH", "b", "b", "c", "c"])
        self.assertEqual(report["failed"], [{"name": "nope", "type": "", "why": "there is no such name"}, {"name": "PWD", "type": "variable", "why": "it is the shell's own"},
                                            {"name": "x y", "type": "", "why": "there is no such name"}])
        self.assertEqual(self.load(fresh)["count"], 5)
        self.gives(fresh, "echo ${a-no} $b $c $-; b", "no 2 3 hiBEs\nb\n")
        os.unlink(self.file)
        self.refused(self.work(host, "save", self.file, "", "nope", "nix"), "SaveError", "nothing was saved: there is no name `nix`")
        self.assertEqual(os.listdir(self.folder), [])

    def test_st2_what_no_file_can_keep_is_named(self):
        host = self.start()
        host.eval("sleep 1000 & exec 7>/dev/null; exec 2>/dev/null; coproc CO { cat; }; x=1")
        report = self.save(host)
        self.assertIn({"name": "CO", "type": "coprocess", "why": "it belongs to a process that runs"}, report["failed"])
        self.assertIn("background jobs are not saved", report["warnings"])
        self.assertTrue([one for one in report["warnings"] if one.startswith("redirections by `exec` are not saved: descriptors 2 7")], report)

    def test_st3_what_going_back_ends_is_named_by_the_checkpoint_and_again_by_the_load(self):
        host, fresh = self.start(), self.start()
        self.gives(host, "echo 1", "1\n")
        self.assertEqual(self.save(host, force="checkpoint")["failed"], [])
        self.assertEqual(self.load(fresh)["failed"], [])
        pids = [int(word) for word in host.eval("sleep 1000 & echo $!; sleep 2000 & disown; echo $!; exec 7>/dev/null 2>/dev/null").out.split()]
        for code in ("", "coproc CO { cat; }; x=1"):
            host.eval(code)
            saved, fresh = self.save(host, force="checkpoint"), self.start()
            named = {one["type"]: one for one in saved["failed"]}
            self.assertTrue(all("%d (sleep)" % pid in named["process"]["name"] for pid in pids), named)
            self.assertEqual(named["process"]["why"], "going back ends them")
            self.assertEqual((named["descriptor"]["name"], named["descriptor"]["why"]), ("descriptors 2 7", "going back closes what `exec` has opened"))
            self.assertEqual("CO" if code else None, named.get("coprocess", {}).get("name"))
            loaded = self.load(fresh)
            self.assertEqual((loaded["failed"], loaded["failed_count"]), (saved["failed"], len(saved["failed"])))
        self.gives(fresh, "echo $x", "1\n")

    def test_st2_loading_into_a_used_session(self):
        host, used = self.start(), self.start()
        host.eval("declare -r fixed=1 same=2; declare -A m=([a]=b); s=text; n=5; f() { echo new; }; list=(1 2); declare -rA both=([k]=v)")
        self.save(host)
        used.eval("declare -r fixed=other same=2; declare -rA both=([k]=v); declare -i s=7; declare -n n=target; target=t; m=scalar; list=(9 9 9 9); f() { echo old; }; readonly -f f; mine=kept")
        report = self.load(used)
        self.assertEqual({one["name"]: one["why"] for one in report["failed"]}, {"fixed": "it is readonly in this session", "f": "it cannot be defined in this session: is it readonly?"})
        self.assertEqual(sorted(report["loaded"]), ["both", "list", "m", "n", "s", "same"])
        self.gives(used, "echo $fixed $same ${m[a]} $s $n $target ${list[@]} $mine; f", "other 2 b text 5 t 1 2 kept\nold\n")
        self.assertEqual(self.load(used)["count"], 6)

    def test_st2_shadowed_commands_and_odd_options_do_not_matter(self):
        shadows = "".join("%s() { echo SHADOW %s; }; " % (name, name) for name in ("printf", "mv", "rm", "sync", "mkdir", "cat", "command", "echo", "test", "declare", "cd"))
        for setting in (shadows, "alias mv='echo no' printf='echo no' builtin='echo no' declare='echo no' local='echo no' if=echo", "set -euo pipefail", "set -C", "IFS=e", "PATH=/nowhere",
                        "umask 777", "trap 'echo err; exit 9' ERR; set -eE", "trap 'echo debug' DEBUG", "shopt -s failglob nocasematch", "set -o posix", "set -f", "LC_ALL=C", "TMOUT=1"):
            with self.subTest(setting):
                host, fresh = self.start(), self.start()
                host.eval(setting)
                host.eval("v='a b'; f() { :; }")
                path = os.path.join(self.folder, "s")
                self.assertIn("v", self.save(host, path=path, force="force")["saved"])
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
                loaded = self.load(fresh, path=path)
                self.assertEqual(loaded["failed"], [])
                self.assertEqual(fresh.eval("[[ $v == 'a b' ]]").done["exit_code"], 0)
                # And into the session that has all these.
                self.assertIn("v", self.load(host, path=path)["loaded"])

    def test_st2_odd_paths_and_a_link_that_is_followed(self):
        host = self.start(cwd=self.folder)
        host.eval("x=1")
        for name in ("-dash", "a b", "it's \"q\"", "$(id)", "*", "ü…", "new/deep/er/file", "n" * 250):
            path = os.path.join(self.folder, name)
            self.assertEqual(self.save(host, path=path)["path"], path)
            self.assertEqual(self.load(host, path=path)["loaded"], ["x"])
        os.symlink("a b", os.path.join(self.folder, "link"))
        self.save(host, path=os.path.join(self.folder, "link"))
        self.assertTrue(os.path.islink(os.path.join(self.folder, "link")))
        os.symlink("not yet", os.path.join(self.folder, "dangling"))
        self.save(host, path=os.path.join(self.folder, "dangling"))
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "not yet")))
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".tmp")], [])

    def test_st2_refused_targets(self):
        host = self.start()
        host.eval("x=1")
        other = os.path.join(self.folder, "other")
        with open(other, "w") as file:
            file.write("precious\n")
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        for path, words in ((other, "would be lost"), (self.folder, "is a directory"), (fifo, "is a FIFO"), ("/dev/null", "is a device"), (other + "/below", "could not be written"), (self.folder + "/", "directory")):
            self.refused(self.work(host, "save", path, ""), "SaveError", words)
        for path in (self.folder, fifo, "/dev/null"):
            self.refused(self.work(host, "save", path, "force"), "SaveError", "is a ")
        with open(other) as file:
            self.assertEqual(file.read(), "precious\n")
        self.save(host, path=other, force="force")
        self.save(host, path=other)
        self.assertEqual(self.load(host, path=other)["loaded"], ["x"])

    def test_st2_a_disk_that_takes_no_more_keeps_the_old_file(self):
        host = self.start()
        host.eval("x=1")
        self.save(host)
        with open(self.file, "rb") as file:
            before = file.read()
        host.eval("printf -v x '%*s' 100000 y")
        resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
        self.refused(self.work(host, "save", self.file, ""), "SaveError", "could not write `%s`: File too large" % self.file)
        resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(self.folder), ["a.stead"])
        self.save(host)

    def test_st2_leftovers_of_killed_saves_go_and_those_of_living_ones_stay(self):
        host = self.start()
        host.eval("x=1")
        ended = subprocess.Popen(["true"])
        ended.wait()
        dead, alive = (os.path.join(self.folder, ".a.stead.%d.tmp" % pid) for pid in (ended.pid, os.getpid()))
        for path in (dead, alive):
            open(path, "w").close()
        self.save(host)
        self.assertEqual(sorted(os.listdir(self.folder)), [os.path.basename(alive), "a.stead"])

    def test_st2_files_that_cannot_be_loaded(self):
        host, fresh = self.start(), self.start()
        host.eval("x=1; f() { echo f; }")
        self.save(host)
        with open(self.file, "rb") as file:
            whole = file.read()
        path = os.path.join(self.folder, "b")
        for end in range(len(whole)):
            with open(path, "wb") as file:
                file.write(whole[:end])
            self.refused(self.work(fresh, "load", path), "LoadError", "`%s` is " % path)
        manifest = whole.index(b'{"format":1')
        for data, words in ((whole + b"\n", "not whole"), (whole.replace(b'"format":1', b'"format":9'), "newer version of stead (format 9)"), (b"\0" * 100, "no file that stead has saved"),
                            (whole.replace(b'"bash"', b'"node"', 1), "a session of node"), (whole[:20] + b"'" + whole[21:], "damaged"), (whole[:manifest] + b"x" + whole[manifest + 1:], "not whole"),
                            (whole.replace(b"__stead_is end", b"__stead_is xnd"), "damaged")):
            with open(path, "wb") as file:
                file.write(data)
            self.refused(self.work(fresh, "load", path), "LoadError", words)
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        for place, words in ((fifo, "is a FIFO"), (self.folder, "is a directory"), (path + "none", "does not exist"), ("/dev/null", "is no file")):
            self.refused(self.work(fresh, "load", place), "LoadError", words)
        self.gives(fresh, "echo ${x-none}", "none\n")

    def test_st2_a_directory_that_is_gone_is_a_warning(self):
        host, fresh = self.start(), self.start(cwd="/")
        there = os.path.join(self.folder, "gone")
        os.mkdir(there)
        host.eval("cd '%s'; x=1" % there)
        self.save(host)
        os.rmdir(there)
        report = self.load(fresh)
        self.assertEqual((report["loaded"], report["warnings"]), (["x"], ["the directory `%s` cannot be entered: the session stays in `/`" % there]))

    def test_st3_st5_going_back_names_a_directory_that_is_gone_among_what_is_lost(self):
        there = os.path.join(self.folder, "gone")
        for code in ("x=1", ""):
            host, fresh = self.start(), self.start(cwd="/")
            os.mkdir(there)
            host.eval("cd '%s'; %s" % (there, code))
            self.assertEqual(self.save(host, force="checkpoint")["failed"], [])
            os.rmdir(there)
            report = self.load(fresh)
            self.assertEqual(report["failed"], [{"name": "the directory `%s`" % there, "type": "directory", "why": "it cannot be entered, and the session is in `/`"}])
            self.assertEqual((report["loaded"], report["failed_count"], report["warnings"]), (["x"] if code else [], 1, []))
            self.gives(fresh, "pwd", "/\n")

    def test_st3_st5_going_back_to_a_directory_that_is_there_says_nothing(self):
        host, fresh = self.start(), self.start(cwd="/")
        host.eval("cd '%s'" % self.folder)
        self.save(host, force="checkpoint")
        report = self.load(fresh)
        self.assertEqual((report["failed"], report["warnings"]), ([], []))
        self.gives(fresh, "pwd", self.folder + "\n")

    def test_st2_an_interrupted_save_leaves_nothing(self):
        host = self.start()
        host.eval("for i in {1..3000}; do declare \"v$i=$i\"; done; x=1")
        self.save(host, "x")
        with open(self.file, "rb") as file:
            before = file.read()
        for _ in range(5):
            host.count += 1
            host.send("work sh:%d save" % host.count, self.file + "\n")
            result = shared.Result()
            # It is under way when it has a child.
            while not host.children():
                pass
            host.interrupt()
            host.finish(result)
            self.assertIn(result.status, ("interrupted", "ok"))
            with open(self.file, "rb") as file:
                now = file.read()
            if result.status == "interrupted":
                self.assertTrue(now == before or (now.startswith(b"STEADSAVE1\n") and b"STEADEND" in now[-51:]))
            self.assertEqual(os.listdir(self.folder), ["a.stead"])
            self.gives(host, "echo $x $v7", "1 7\n")

    def test_st2_many_variables(self):
        host, fresh = self.start(), self.start()
        host.eval("for i in {1..10000}; do printf -v many_$i '%s' \"value $i\"; done")
        report = self.save(host)
        self.assertEqual((report["count"], len(report["saved"]), report["failed_count"]), (10001, 200, 0))
        report = self.load(fresh)
        self.assertEqual((report["count"], len(report["loaded"])), (10001, 200))
        self.gives(fresh, "echo $many_1 $many_10000", "value 1 value 10000\n")

    def test_st2_status_and_arguments_of_the_session_stay(self):
        host = self.start()
        host.eval("set -- a b; (exit 7)")
        self.save(host)
        self.gives(host, "echo $? $#", "7 2\n")
        host.eval("(exit 6)")
        self.load(host)
        self.gives(host, "echo $? $#", "6 2\n")

    def test_st2_unknown_work_is_refused_and_one_that_was_interrupted_before_it_began(self):
        host = self.start()
        self.refused(self.work(host, "sing", "x"), "Unsupported", "does not know the work `sing`")
        host.eval("x=1")
        host.count += 1
        os.kill(host.process.pid, signal.SIGINT)
        host.control.sendall(b"work sh:%d save %d\n%sinterrupt sh:%d 0\n" % (host.count, len(self.file), self.file.encode(), host.count))
        result = host.finish(shared.Result())
        self.assertIn(result.status, ("interrupted", "ok"))
        self.gives(host, "echo $x", "1\n")
