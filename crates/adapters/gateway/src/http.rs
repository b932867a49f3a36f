//! HTTP as far as it is needed: one request on a connection of its own, and the whole answer to it.

use std::io::{self, Read, Write};

use crate::stream::GatewayStream;

/// More bytes than any answer has that is of use here.
const MOST_BODY: usize = 16 << 20;
const MOST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 100;

/// A request.
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// The host, as it stands in the address.
    pub(crate) host: &'a str,
    pub(crate) token: Option<&'a str>,
    pub(crate) body: Option<&'a str>,
}

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    /// Where a redirect leads.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Sends a request and reads the answer; the connection ends with it.
pub(crate) fn exchange(
    stream: &mut GatewayStream,
    request: &HttpRequest<'_>,
) -> io::Result<HttpAnswer> {
    let HttpRequest { method, path, host, token, body } = request;
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAccept: application/json\r\nUser-Agent: stead\r\n"
    );
    // A server that checks no token takes changes only from clients that can set this cookie, which pages of other
    // sites cannot.
    head += "Cookie: _xsrf=7374656164\r\nX-XSRFToken: 7374656164\r\n";
    if let Some(token) = token {
        head += &format!("Authorization: token {token}\r\n");
    }
    let body = body.unwrap_or_default();
    if !body.is_empty() {
        head += "Content-Type: application/json\r\n";
    }
    head += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes())?;
    stream.flush()?;
    read_answer(stream, *method == "HEAD")
}

/// Reads one answer.
pub(crate) fn read_answer(from: &mut impl Read, without_body: bool) -> io::Result<HttpAnswer> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut bytes = Vec::new();
    let (status, location, length, chunked, mut rest) = loop {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(&bytes).map_err(|_| bad("it is no HTTP"))?;
        if let httparse::Status::Complete(end) = parsed {
            let status = response.code.ok_or_else(|| bad("it has no status"))?;
            let header = |name: &str| {
                let found = response.headers.iter().find(|one| one.name.eq_ignore_ascii_case(name));
                found.map(|one| String::from_utf8_lossy(one.value).trim().to_owned())
            };
            let length: Option<usize> = header("content-length").and_then(|text| text.parse().ok());
            let coding = header("transfer-encoding").unwrap_or_default();
            let chunked = coding.to_ascii_lowercase().contains("chunked");
            // Answers from 100 to 199 only come before the answer itself.
            if (100..200).contains(&status) && status != 101 {
                bytes.drain(..end);
                continue;
            }
            break (status, header("location"), length, chunked, bytes.split_off(end));
        }
        if bytes.len() > MOST_HEAD {
            return Err(bad("its head does not end"));
        }
        if !more(from, &mut bytes)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let empty = without_body || status == 204 || status == 304;
    let body = match (empty, chunked, length) {
        (true, ..) => Vec::new(),
        (_, true, _) => read_chunks(from, rest)?,
        (_, _, Some(length)) if length > MOST_BODY => return Err(bad("its answer is too long")),
        (_, _, Some(length)) => {
            while rest.len() < length {
                if !more(from, &mut rest)? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            rest.truncate(length);
            rest
        }
        // A body without a length reaches to the end of the connection.
        (_, _, None) => {
            while more(from, &mut rest)? {
                if rest.len() > MOST_BODY {
                    return Err(bad("its answer is too long"));
                }
            }
            rest
        }
    };
    Ok(HttpAnswer { status, location, body })
}

fn read_chunks(from: &mut impl Read, mut rest: Vec<u8>) -> io::Result<Vec<u8>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut body = Vec::new();
    loop {
        let (start, size) = match httparse::parse_chunk_size(&rest) {
            Ok(httparse::Status::Complete((start, size))) => (start, size),
            Ok(httparse::Status::Partial) => {
                if rest.len() > MOST_HEAD || !more(from, &mut rest)? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            }
            Err(_) => return Err(bad("a part of its answer has no length")),
        };
        if size == 0 {
            return Ok(body);
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MOST_BODY - body.len().min(MOST_BODY) {
            return Err(bad("its answer is too long"));
        }
        // A line end follows each chunk.
        while rest.len() < start + size + 2 {
            if !more(from, &mut rest)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        body.extend_from_slice(&rest[start..start + size]);
        rest.drain(..start + size + 2);
    }
}

/// Reads some bytes; false at the end.
fn more(from: &mut impl Read, into: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; 16 << 10];
    loop {
        match from.read(&mut bytes) {
            Ok(count) => {
                into.extend_from_slice(&bytes[..count]);
                return Ok(count > 0);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte at a time, as a slow network may.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (into[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    fn read(text: &str) -> io::Result<HttpAnswer> {
        let slow = read_answer(&mut Slow(text.as_bytes()), false);
        let whole = read_answer(&mut text.as_bytes(), false);
        match (&slow, &whole) {
            (Ok(one), Ok(other)) => assert_eq!(one, other),
            (one, other) => assert!(one.is_err() && other.is_err(), "{one:?} {other:?}"),
        }
        whole
    }

    #[test]
    fn k2_answers_of_every_form_are_read_whole() {
        let plain = read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd").unwrap();
        assert_eq!((plain.status, plain.body.as_slice()), (200, b"abc".as_slice()));
        let chunked = "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        assert_eq!(read(chunked).unwrap().body, b"abcde");
        assert_eq!(read("HTTP/1.0 200 OK\r\n\r\nto the end").unwrap().body, b"to the end");
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n").unwrap().body, b"");
        let twice = read(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n",
        );
        let twice = twice.unwrap();
        assert_eq!((twice.status, twice.location.as_deref()), (302, Some("http://x/")));
    }

    #[test]
    fn k2_what_is_no_answer_or_ends_too_early_is_an_error() {
        for text in [
            "",
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
