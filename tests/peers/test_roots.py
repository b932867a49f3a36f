"""The workspace of a server outside a project: the roots of a real client, or what `open` says (SPEC M-11)."""

import unittest
import warnings

from mcp.types import ListRootsResult, Root
from place import both_eras


@both_eras
class Roots:
    def setUp(self):
        super().setUp()
        # The SDK warns of roots, which 2026-07-28 has no place for; clients of the handshake have them.
        warnings.simplefilter("ignore")
        self.places = {}
        for name in ("one dir", "two"):
            self.places[name] = self.place.root / name
            (self.places[name] / ".git").mkdir(parents=True)

    def tearDown(self):
        for path in (self.place.workspace, *self.places.values()):
            self.place.run("stop", "-n", "py", "--workspace", str(path))

    async def where(self, peer):
        text = await peer.eval("import os; print(os.getcwd())")
        lines = [line for line in text.splitlines() if not line.startswith("[")]
        return lines[0], text

    async def test_m11_the_roots_of_a_client_are_its_workspace(self):
        roots = [self.places["one dir"]]

        async def tell(_context):
            return ListRootsResult(roots=[Root(uri=path.as_uri()) for path in roots])

        async with self.connect(list_roots_callback=tell) as peer:
            at, _ = await self.where(peer)
            if self.mode == "auto":
                # No server may ask a client of this era; `open` is the way.
                self.assertEqual(at, str(self.place.workspace))
            else:
                self.assertEqual(at, str(self.places["one dir"]))
                roots[:] = [self.places["two"]]
                await peer.client.send_roots_list_changed()
                # The question and its answer have gone round when a second request has.
                while at != str(self.places["two"]):
                    at, text = await self.where(peer)
                self.assertIn("[note: the workspace is now", text)
            text = await peer.text("open", {"workspace": str(self.places["one dir"])})
            self.assertIn("from now on", text)
            at, _ = await self.where(peer)
            self.assertEqual(at, str(self.places["one dir"]))

    async def test_m11_a_client_without_roots_is_served_where_the_server_is(self):
        async with self.connect() as peer:
            self.assertEqual((await self.where(peer))[0], str(self.place.workspace))


if __name__ == "__main__":
    unittest.main()
