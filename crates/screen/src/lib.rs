pub fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
