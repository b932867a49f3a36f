"""Figures as image content (SPEC O-9, M-3)."""

import base64
import io
import unittest

from PIL import Image
from place import both_eras

PLOT = "import matplotlib.pyplot as plt\nfig = plt.figure(figsize=(4, 3))\nax = fig.add_subplot()\nax.plot([1, 3, 2])\nNone"


@both_eras
class Figures:
    def picture(self, result):
        """The one image of a reply, decoded in full."""
        kinds = [block.type for block in result.content]
        self.assertEqual(kinds, ["text", "image"], result.content)
        block = result.content[1]
        self.assertEqual(block.mime_type, "image/png")
        image = Image.open(io.BytesIO(base64.b64decode(block.data, validate=True)))
        self.assertEqual(image.format, "PNG")
        image.load()
        return image

    async def test_o9_a_figure_comes_once_as_one_png(self):
        async with self.connect() as peer:
            result = await peer.call("eval", {"code": PLOT, "timeout_ms": 50_000})
            image = self.picture(result)
            self.assertGreater(len(image.convert("RGB").getcolors(1 << 20)), 1, "nothing is drawn")
            text = result.content[0].text
            self.assertIn(f"[image: {image.width}×{image.height}, image/png, ", text)
            self.assertEqual((await peer.eval("1 + 1")).splitlines()[0], "2")
            changed = await peer.call("eval", {"code": "_ = ax.plot([3, 1, 2])", "timeout_ms": 50_000})
            self.assertNotEqual(self.picture(changed).tobytes(), image.tobytes())

    async def test_o9_the_next_plot_is_a_figure_of_its_own(self):
        async with self.connect() as peer:
            code = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3]); plt.show()"
            first = self.picture(await peer.call("eval", {"code": code, "timeout_ms": 50_000}))
            code = "plt.plot([3, 2, 1])\nlines = len(plt.gca().lines)"
            second = self.picture(await peer.call("eval", {"code": code, "timeout_ms": 50_000}))
            self.assertNotEqual(first.tobytes(), second.tobytes())
            self.assertEqual((await peer.eval("lines")).splitlines()[0], "1")
            self.assertIn("saved the last one, of py:2", await peer.eval("plt.savefig('a.png')"))
            saved = Image.open(self.place.workspace / "a.png")
            self.assertEqual(saved.convert("RGB").tobytes(), second.convert("RGB").tobytes())

    async def test_o9_many_figures_of_one_eval_are_named_and_some_of_them_shown(self):
        async with self.connect() as peer:
            code = "import matplotlib.pyplot as plt\nfor i in range(25):\n    plt.figure(figsize=(1, 1)); plt.plot([i])"
            result = await peer.call("eval", {"code": code, "timeout_ms": 50_000})
            kinds = [block.type for block in result.content]
            text = result.content[0].text
            self.assertEqual(kinds, ["text"] + ["image"] * 8, text)
            self.assertEqual((text.count("[image: 100×100, "), text.count("not in this reply")), (20, 12), text)
            self.assertIn("[5 figures were not shown: an eval sends 20 images at most; plt.show() shows them]", text)
            self.assertNotIn("More than 20 figures", text)

    async def test_o9_an_image_as_last_value_is_shown(self):
        async with self.connect() as peer:
            code = "from PIL import Image\nImage.new('RGB', (40, 30), 'red')"
            image = self.picture(await peer.call("eval", {"code": code, "timeout_ms": 50_000}))
            self.assertEqual(image.size, (40, 30))
            self.assertEqual(image.convert("RGB").getpixel((5, 5)), (255, 0, 0))

    async def test_o9_the_figure_of_a_yielded_eval_comes_with_its_output(self):
        gate = self.place.pipe("gate")
        async with self.connect() as peer:
            code = "open('gate').close()\n" + PLOT
            await peer.eval(code, background=True)
            await gate.open()
            self.picture(await peer.call("output", {"id": "py:1", "wait_ms": 50_000}))


if __name__ == "__main__":
    unittest.main()
