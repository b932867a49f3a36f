//! E-13: data frames say how they changed. A stand-in for pandas, of which only shape and columns can be known, is
//! enough here; the real libraries are in `bridges/python/test_frames.py`.

use stead_testkit::TestEnv;

use crate::STEAD;

const PANDAS: &str = "
class DataFrame:
    def __init__(self, rows, *columns): self.shape, self.columns = (rows, len(columns)), columns
    def become(self, rows, *columns): self.__init__(rows, *columns)
    def __setitem__(self, key, value): pass
";

#[test]
fn e13_a_frame_says_how_it_changed() {
    let env = TestEnv::new(STEAD);
    std::fs::write(env.workspace().join("pandas.py"), PANDAS).expect("written");
    let made = env.eval("import pandas as pd\ndf = pd.DataFrame(1000, 'a', 'b')\nn = 1");
    let added = &made["data"]["changed"]["added"];
    assert_eq!(added[1]["size"], "1000×2", "{made:#}");
    assert!(added[1].get("change").is_none(), "{made:#}");
    let rebound = |code: &str| env.eval(code)["data"]["changed"].clone();
    let expected = serde_json::json!({"rebound": [
        {"name": "df", "type": "DataFrame", "size": "940×3", "change": "1000×2→940×3 +ratio"}
    ]});
    assert_eq!(rebound("df = pd.DataFrame(940, 'a', 'b', 'ratio')"), expected);
    assert_eq!(
        rebound("df.become(940, 'a', 'b', 'share')")["rebound"][0]["change"],
        "940×3 ratio→share"
    );
    assert_eq!(rebound("df[0] = 1")["rebound"][0]["change"], "940×3 values");
    assert!(rebound("df.shape, len(df.columns)").is_null(), "a read");
    assert!(rebound("n = 2")["rebound"][0].get("change").is_none(), "no frame");
}
