//! O-4, P-4, O-6: any amount of output, flat memory, the right last lines, an honest quota.

use std::time::Instant;

use crate::rig::{Rig, memory_kb};

#[test]
fn o4_a_flood_leaves_the_hosts_memory_flat() {
    // A little less than the quota, whose records have headers.
    let lines: u64 = if std::env::var_os("STEAD_BIG").is_some() { 10_600_000 } else { 2_700_000 };
    let rig = Rig::new();
    let host = rig.env.host_pid();
    let before = memory_kb(host, "VmHWM");
    let began = Instant::now();
    let code = format!(
        "tail = 'y' * 90 + '\\n'\nfor n in range(0, {lines}, 100):\n \
         print(''.join(['%09d ' % i + tail for i in range(n, n + 100)]), end='')"
    );
    let reply = rig.env.json(["eval", "-n", "py", "--timeout", "120s", "--", &code]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    let took = began.elapsed();
    let grown = memory_kb(host, "VmHWM") - before;
    eprintln!("{} MB in {took:.1?}, host +{grown} kB", lines * 101 / 1_000_000);
    assert!(grown < 16 << 10, "the host grew by {grown} kB");
    assert_eq!(reply["data"]["truncated"]["total_bytes"], lines * 101);
    let id = reply["data"]["eval_id"].as_str().unwrap();
    let asked = Instant::now();
    let tail = rig.env.json(["output", id, "--tail", "5"]);
    eprintln!("its tail in {:.1?}", asked.elapsed());
    let expected: String =
        (lines - 5..lines).map(|n| format!("{n:09} {}\n", "y".repeat(90))).collect();
    assert_eq!(tail["data"]["chunks"][0]["content"], expected);
    let middle =
        rig.env.json(["output", id, "--offset", &(lines / 2 * 101).to_string(), "--limit", "101"]);
    let expected = format!("{:09} {}\n", lines / 2, "y".repeat(90));
    assert_eq!(middle["data"]["chunks"][0]["content"], expected);
}

#[test]
fn o4_beyond_the_quota_code_goes_on_and_the_reply_counts_what_is_missing() {
    let env = stead_testkit::TestEnv::new(crate::STEAD);
    let quota = 1 << 20;
    env.json(["launch", "python", "-n", "py", "--quota", &quota.to_string()]);
    let reply = env.eval("for n in range(30_000): print('%099d' % n)\nn");
    assert_eq!(reply["status"], "complete");
    assert_eq!(reply["data"]["value"], "29999");
    let lost = reply["data"]["lost_bytes"].as_u64().unwrap_or_else(|| panic!("{reply:#}"));
    let notice = reply["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("not kept: the session keeps at most"), "{notice}");
    let kept = reply["data"]["truncated"]["total_bytes"].as_u64().unwrap();
    assert_eq!(kept + lost, 3_000_000);
    assert!(kept <= quota && kept > quota / 2, "{kept} of {quota} bytes are kept");
    let notice = reply["data"]["notice"].to_string();
    assert!(notice.contains(&format!("{lost} bytes")), "{notice}");
    // The next eval has room again: older output makes way for it.
    let next = env.eval("for n in range(3_000): print('%099d' % n)");
    assert!(next["data"]["lost_bytes"].is_null(), "{next:#}");
    assert_eq!(next["data"]["truncated"]["total_bytes"], 300_000);
}
