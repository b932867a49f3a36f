"""Classes that were saved and loaded (SPEC ST-2): the right statement makes them again, and they are as they were, also where
they were changed since."""


from test_saving import SavingTest


class Statements(SavingTest):
    """Which statement made what a name holds."""

    def test_st2_a_definition_that_an_eval_did_not_reach_is_not_the_last_one(self):
        for bad in ("1 / 0\nclass A: w = 2\n", "1 / 0\nA = 5\n", "def f():\n    1 / 0\nf()\nclass A:\n    def m(self): return 2\n", "if False:\n    class A: w = 2\n1 / 0"):
            self.comes_back(["class A: v = 1\na = A()", bad], "a.v == 1 and not hasattr(A, 'w') and type(a) is A", failing=(bad,))
        bad = "class A: v = 1\na = A()\n1 / 0\nclass A: w = 2"
        self.comes_back([bad], "a.v == 1 and not hasattr(A, 'w')", failing=(bad,))
        bad = "from collections import namedtuple\nPair = namedtuple('Pair', 'a b'); p = Pair(1, 2)\nraise KeyError\nPair = namedtuple('Pair', 'b a')"
        self.comes_back([bad], "p.a == 1 and p._fields == ('a', 'b')", failing=(bad,))

    def test_st2_a_branch_that_was_not_taken_made_nothing(self):
        self.comes_back(["class A: v = 1\na = A()", "if 0:\n    class A:\n        w = 2\nb = A()"], "a.v == b.v == 1 and not hasattr(A, 'w') and type(a) is type(b)")
        self.comes_back(["if 1:\n    class A:\n        v = 1\nelse:\n    class A:\n        w = 2\na = A()"], "a.v == 1 and not hasattr(A, 'w')")
        self.comes_back(["try:\n    class A(int):\n        def f(self): return 1\nexcept TypeError:\n    class A:\n        def f(self): return 2\na = A()"], "a.f() == 1 and a == 0")

    def test_st2_a_class_whose_base_was_redefined_is_refused_and_not_made_otherwise(self):
        report = self.saved("class B: v = 1", "class A(B): pass\na = A()", "class B: v = 2", "class C: pass\ndef mark(c): return c\n@mark\nclass D(C): pass\nd = D()\ndel C, mark", "x = 1")
        why = self.why(report)
        self.assertEqual(why["A"], "class `A` was made with `B`, which has been redefined since")
        self.assertEqual(why["a"], "its class `A` was made with `B`, which has been redefined since")
        self.assertEqual(why["d"], "its class `D` was made with `C`, which is not there any more")
        host, _ = self.loaded()
        self.holds(host, ["x == 1 and B.v == 2"])

    def test_st2_a_statement_that_is_run_again_binds_no_other_name(self):
        self.saved("from collections import namedtuple\nA = B = namedtuple('A', 'x')", "a = A(1); B = 'other'", "count = 0\ndef counted(c):\n    global count, made\n    count += 1; made = c\n    return c\n@counted\nclass C: pass\nc = C(); count = 10; del made")
        host = self.start(cwd=self.folder)
        self.ok(host, "B = 'mine'; made = 'mine'")
        self.assertEqual(self.done(host, "load", self.path)["failed"], [])
        self.ok(host, "a, B, count, made", "(A(x=1), 'other', 10, 'mine')")
        self.done(host, "save", self.path, "", "a", "A")
        host = self.start(cwd=self.folder)
        self.ok(host, "B = 'mine'")
        self.done(host, "load", self.path)
        self.ok(host, "a, B", "(A(x=1), 'mine')")

    def test_st2_names_of_the_standard_library_of_the_user_come_back(self):
        host = self.start(cwd=self.folder)
        self.done(host, "stdlib", "class Lib: v = 1")
        self.ok(host, "lib = Lib()")
        self.assertEqual(self.done(host, "save", self.path)["failed"], [])
        host, _ = self.loaded()
        self.ok(host, "lib.v, type(lib) is Lib", "(1, True)")


class Changed(SavingTest):
    """Classes that were changed after their statement ran."""

    def test_st2_methods_that_were_set_later_come_back(self):
        self.comes_back(["class A:\n    def f(self): return 1\n    def g(self): return 1\na = A()", "def f2(self): return 2\nA.f = f2\nA.h = lambda self: 3"], "a.f() == 2 and a.g() == 1 and a.h() == 3 and A.f is f2", rounds=2)
        self.comes_back(["class A:\n    def __init__(self, n=0): self.n = n\na = A(1)\nA.__eq__ = lambda self, other: self.n == other.n\nA.__len__ = lambda self: 7\nA.__doc__ = 'Later.'\nA.__version__ = '1'\nA.__hash__ = None"],
                        "a == A(1) and len(a) == 7 and A.__doc__ == 'Later.' and A.__version__ == '1' and A.__hash__ is None")
        self.comes_back(["import functools\nclass A:\n    def f(self): return [1]\na = A()\ndef twice(function):\n    calls = []\n    @functools.wraps(function)\n    def wrapper(self):\n        calls.append(1)\n        return function(self) * 2, len(calls)\n    return wrapper\nA.f = twice(A.f); a.f()\nn = [0]"],
                        "(n.append(0) or a.f()) == ([1, 1], len(n)) and A.f.__wrapped__(a) == [1]", rounds=2)
        self.comes_back(["class A:\n    def f(self): return 1\nA.p = property(lambda self: 5, doc='P.')\nA.s = staticmethod(lambda: 6)\nA.c = classmethod(lambda cls: cls)\na = A()\nq = property(A.f)"], "a.p == 5 and A.p.__doc__ == 'P.' and A.s() == a.s() == 6 and A.c() is A and q.fget is A.f")
        self.comes_back(["import functools\nclass A:\n    n = 0\n    @property\n    def p(self): return 1\n    @p.setter\n    def p(self, x): self.x = x\n    @functools.lru_cache()\n    def m(self): return 2\n    @functools.cached_property\n    def k(self): return [3]\nA.p = property(lambda self: 9); A.late = functools.cached_property(lambda self: [4]); A.late.__set_name__(A, 'late')\na = A()"], "a.p == 9 and a.m() == 2 and a.k == [3] and a.late == [4] and a.late is a.late")
        self.comes_back(["class D:\n    def __init__(self): self.n = 0\n    def __get__(self, obj, kind=None):\n        return self if obj is None else self.n\nclass A:\n    d = D()\nA.d.n = 5; A.e = D(); A.e.n = 6; a = A()"], "a.d == 5 and a.e == 6")

    def test_st2_decorated_methods_keep_what_they_hold(self):
        self.comes_back(["def counting(function):\n    def wrapper(self):\n        wrapper.n += 1\n        return function(self) + wrapper.n\n    wrapper.n = 0\n    return wrapper\nclass A:\n    @counting\n    def f(self): return 100\na = A(); a.f(); a.f(); A.f.n = 5"], "A.f.n >= 5 and a.f() == 100 + A.f.n")

    def test_st2_what_was_removed_from_a_class_stays_removed(self):
        self.comes_back(["class A:\n    v = 1\n    def f(self): return 1\n    def __private(self): return 2\ndel A.v, A.f\na = A()"], "not hasattr(a, 'v') and not hasattr(a, 'f') and a._A__private() == 2")

    def test_st2_defaults_of_methods_are_the_live_ones_and_are_not_made_anew(self):
        self.comes_back(["made = []\nLIMIT = 5\ndef note(x):\n    made.append(x)\n    return x\nclass A:\n    def f(self, x=note([1]), *, k=LIMIT): return x, k\n    @classmethod\n    def c(cls, x=note('c')): return x\n    @staticmethod\n    def s(x=note('s')): return x\nA.f.__defaults__[0].append(2); A.f.note = 'n'\nLIMIT = 9; kept = A.f.__defaults__[0]\na = A(); before = list(made)"],
                        "a.f() == ([1, 2], 5) and a.f()[0] is kept and A.f.note == 'n' and A.c() == 'c' and A.s() == 's' and made == before", rounds=2)
        self.comes_back(["GONE = 3\nclass A:\n    def f(self, x=GONE): return x\ndel GONE\na = A()"], "a.f() == 3")
        self.comes_back(["import functools\nbox = [1]\n@functools.lru_cache(maxsize=None)\ndef f(x=box): return 1\n@functools.wraps(f)\ndef g(): pass", "box = [2]\nh = f.__wrapped__.__defaults__"], "f.__wrapped__.__defaults__[0] == [1] and box == [2]")

    def test_st2_classes_with_a_metaclass_keep_their_attributes(self):
        self.comes_back(["class Meta(type):\n    def __setattr__(cls, name, value):\n        raise TypeError('closed')\n    def __new__(mcs, name, bases, space):\n        space['added'] = 1\n        return super().__new__(mcs, name, bases, space)\nclass A(metaclass=Meta):\n    n = 1\n    items = []\nA.items.append(5)\ntype.__setattr__(A, 'n', 2)\ntype.__setattr__(A, 'f', lambda self: self.n)\na = A()"], "a.n == 2 and a.f() == 2 and A.items == [5] and a.added == 1 and type(A) is Meta", rounds=2)
        self.comes_back(["import enum\nclass Color(enum.Enum):\n    RED = 1\n    def hex(self): return 'x'\nColor.hex = lambda self: 'y'\nColor.extra = staticmethod(lambda: 3)\nred = Color.RED"], "red.hex() == 'y' and Color.extra() == 3 and red is Color.RED and list(Color) == [red]")

    def test_st2_nested_classes_keep_what_was_set_later(self):
        self.comes_back(["class A:\n    class B:\n        n = 1\n        def f(self, x=[1]): return x\nA.B.n = 5; A.B.f.__defaults__[0].append(2); A.B.g = lambda self: 7\nb = A.B()"], "b.n == 5 and b.f() == [1, 2] and b.g() == 7 and type(b) is A.B", rounds=2)

    def test_st2_an_attribute_that_cannot_be_saved_is_named_and_its_class_is_saved(self):
        report = self.saved("import threading\nclass A:\n    lock = threading.Lock()\n    n, empty = 1, None\n    none = None\nA.late = A.none = threading.Lock(); A.n = 2; A.f = (lambda lock: lambda self: lock)(A.late)\na = A()")
        self.assertEqual(self.why(report), {"A.late": "a lock", "A.none": "a lock", "A.f": "holds a lock"})
        self.assertEqual({entry["name"] for entry in self.manifest()["failed"]}, {"A.late", "A.f", "A.none"})
        host, report = self.loaded()
        self.assertEqual(report["failed"], [])
        self.holds(host, ["a.n == 2 and hasattr(A.lock, 'acquire') and not hasattr(A, 'late')"])

    def test_st2_classes_that_a_call_made_keep_what_was_set_later(self):
        self.comes_back(["from collections import namedtuple\ndef make(n):\n    class Local:\n        size = n\n        def get(self): return self.size\n    return Local\nA = make(3); P = namedtuple('P', 'x y'); T = type('T', (), {'n': 1})", "A.size = 7; A.more = lambda self: 'more'; P.extra = [1]; P.total = lambda self: self.x + self.y; T.n = 2\na, p = A(), P(1, 2)"],
                        "a.get() == 7 and a.more() == 'more' and p.extra == [1] and p.total() == 3 and T.n == 2 and type(a) is A", rounds=2)

    def test_st2_a_class_that_was_bound_again_is_the_one_that_it_was(self):
        self.comes_back(["class A:\n    def v(self): return 1\nkeep = [A]", "class A:\n    def v(self): return 2", "A = keep[0]\na = A()"], "a.v() == 1 and keep[0] is A")
        self.comes_back(["import functools\n@functools.lru_cache(None)\nclass Config:\n    def __init__(self, n): self.n = n"], "Config(1) is Config(1) and Config(2).n == 2")

    def test_st2_methods_that_run_when_a_class_is_derived_have_their_defaults(self):
        self.comes_back(["class Base:\n    tags = []\n    def __init_subclass__(cls, tag='none', **more): Base.tags.append(tag)\n    def f(self, x=[5]): return x\nclass One(Base): pass\nclass Two(Base, tag='two'): pass\nBase.last = [One(), Two]"], "Base.tags == ['none', 'two'] and type(Base.last[0]) is One and Base.last[1] is Two and One().f() == [5]")

    def test_st2_a_class_that_holds_what_is_defined_with_it_comes_back_whole(self):
        self.comes_back(["class B: pass\ndef use(c):\n    c.b = B()\n    return c\n@use\nclass A: pass\nB.of = A(); B.all = [A, B]\na = A()"], "type(B.of) is A and B.all == [A, B] and type(A.b) is B")


if __name__ == "__main__":
    import unittest
    unittest.main()

