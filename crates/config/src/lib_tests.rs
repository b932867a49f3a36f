use std::collections::BTreeSet;

use stead_protocol::SessionName;

use super::*;

#[test]
fn s5_a_language_goes_by_its_name_and_its_alias() {
    for known in LANGUAGES {
        assert_eq!(language(known.name).unwrap().name, known.name);
        assert_eq!(language(known.alias).unwrap().name, known.name);
    }
    assert!(language("cobol").is_none());
    assert!(language("").is_none());
    assert!(default_language().offered);
}

#[test]
fn s5_a_word_that_is_not_a_language_here_but_means_one_is_understood() {
    let known = ["bash", "node", "python"].map(str::to_owned);
    for (given, expected) in
        [("javascript", Some("node")), ("pyhton", Some("python")), ("cobol", None)]
    {
        assert_eq!(meant(given, &known), expected, "{given}");
    }
    assert_eq!(meant("javascript", &known[..1]), None);
}

#[test]
fn s5_no_two_languages_share_a_name_and_each_can_name_a_session() {
    let mut seen = BTreeSet::new();
    for known in LANGUAGES {
        for name in BTreeSet::from([known.name, known.alias]) {
            assert!(seen.insert(name), "`{name}` stands for two languages");
            assert!(name.parse::<SessionName>().is_ok(), "`{name}`");
        }
    }
}

#[test]
fn sentences_name_every_language_that_is_offered_and_no_other() {
    let (listing, names) = (listing(), session_names());
    for known in LANGUAGES {
        assert_eq!(listing.contains(known.name), known.offered, "{listing}");
    }
    assert!(listing.starts_with("python (py), bash (sh)"), "{listing}");
    assert!(names.starts_with("py, sh") && names.contains(" or "), "{names}");
}

#[test]
fn every_bridge_that_is_fed_has_its_text() {
    for known in LANGUAGES {
        if let Start::Fed(fed) = &known.start {
            assert!(!fed.bridge.trim().is_empty() && !fed.boot.trim().is_empty());
        }
    }
}
