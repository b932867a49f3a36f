"""The fake host of ../python/driver.py, playing to the Bash bridge. STEAD_TEST_BASH names another Bash."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
import importlib.util  # noqa: E402

spec = importlib.util.spec_from_file_location("shared_driver", os.path.join(os.path.dirname(HERE), "python", "driver.py"))
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)

BASH = os.environ.get("STEAD_TEST_BASH") or shutil.which("bash")


class Host(shared.Host):
    argv = [BASH, "--posix", "-c", shared.contents("bash/boot.bash").decode().strip()]
    bridge = shared.bridge("BASH")
    session = "sh"
