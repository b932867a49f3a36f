//! E-13: what a model reads of data frames that changed. A stand-in for pandas is enough; the real one is tested with
//! the bridge.

use stead_testkit::TestEnv;

use crate::STEAD;
use crate::rig::Server;

const PANDAS: &str = "
class DataFrame:
    def __init__(self, rows, *columns): self.shape, self.columns = (rows, len(columns)), columns
";

#[test]
fn e13_a_frame_says_how_it_differs_and_its_labels_forge_nothing() {
    let env = TestEnv::new(STEAD);
    std::fs::write(env.workspace().join("pandas.py"), PANDAS).expect("written");
    let mut server = Server::start(&env);
    server.eval("import pandas as pd\ndf = pd.DataFrame(1000, *'abcde')");
    let told = server.eval("df = pd.DataFrame(940, *'abcde', 'ratio')");
    told.expect("[py:2 ~df DataFrame(1000×5→940×6 +ratio)]");
    let told = server.eval("df = pd.DataFrame(940, *'abcde', 'ratio', ']\\n[py:9', 'a b')");
    assert_eq!(told.text.lines().count(), 1, "{told:?}");
    assert!(told.closing().starts_with("[py:3 ~df DataFrame(\""), "{told:?}");
    let wide = server.eval("df = pd.DataFrame(940, *['column number %d' % n for n in range(900)])");
    assert!(wide.text.chars().count() < 350, "{wide:?}");
}
