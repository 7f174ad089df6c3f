//! HTTP/1.1 by hand: requests are read whole and bounded, answers are written in any broken form.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: u64 = 256 << 10;

/// Longest body of a request, in bytes.
pub(crate) const BODY_BYTES_MAX: u64 = 64 << 20;

/// A whole request.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// The result of reading a request.
#[derive(Debug)]
pub(crate) enum IncomingRequest {
    /// A whole one.
    Request(HttpRequest),
    /// The client has gone, also in the middle of one.
    Gone,
    /// None that can be understood: answer with this status and close.
    Bad(u16, &'static str),
}

/// Reads the next request of a connection.
pub(crate) fn read(reader: &mut BufReader<TcpStream>) -> IncomingRequest {
    read_request(reader).unwrap_or(IncomingRequest::Gone)
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<IncomingRequest> {
    let mut head = reader.by_ref().take(HEAD_BYTES_MAX);
    let Some(first) = line(&mut head)? else { return Ok(no_line(&head)) };
    let mut words = first.split(' ');
    let (Some(method), Some(path), Some(version)) = (words.next(), words.next(), words.next())
    else {
        return Ok(IncomingRequest::Bad(400, "the first line is not one of HTTP"));
    };
    if !version.starts_with("HTTP/1.") {
        return Ok(IncomingRequest::Bad(505, "only HTTP/1.1 is spoken"));
    }
    let mut headers = BTreeMap::new();
    loop {
        let Some(line) = line(&mut head)? else { return Ok(no_line(&head)) };
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Ok(IncomingRequest::Bad(400, "a header has no colon"));
        };
        headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
    }
    let request =
        HttpRequest { method: method.to_owned(), path: path.to_owned(), headers, body: Vec::new() };
    read_body(reader, request)
}

fn read_body(
    reader: &mut BufReader<TcpStream>,
    mut request: HttpRequest,
) -> io::Result<IncomingRequest> {
    let header = |name: &str| request.headers.get(name).map(String::as_str);
    let is_chunked = header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"));
    let length = match header("content-length").map(str::parse::<u64>) {
        Some(Err(_)) => return Ok(IncomingRequest::Bad(400, "`content-length` is not a number")),
        Some(Ok(length)) if length > BODY_BYTES_MAX => {
            return Ok(IncomingRequest::Bad(413, "the body is too large"));
        }
        Some(Ok(length)) => length,
        None => 0,
    };
    if header("expect").is_some_and(|expected| expected.eq_ignore_ascii_case("100-continue")) {
        reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if is_chunked {
        loop {
            let mut size = reader.by_ref().take(HEAD_BYTES_MAX);
            let Some(size) = line(&mut size)? else { return Ok(IncomingRequest::Gone) };
            let size = size.split(';').next().unwrap_or_default().trim();
            let Ok(size) = u64::from_str_radix(size, 16) else {
                return Ok(IncomingRequest::Bad(400, "a chunk has no size"));
            };
            if size > BODY_BYTES_MAX.saturating_sub(request.body.len() as u64) {
                return Ok(IncomingRequest::Bad(413, "the body is too large"));
            }
            if !take(reader, size, &mut request.body)? {
                return Ok(IncomingRequest::Gone);
            }
            if line(&mut reader.by_ref().take(HEAD_BYTES_MAX))?.is_none() {
                return Ok(IncomingRequest::Gone);
            }
            if size == 0 {
                return Ok(IncomingRequest::Request(request));
            }
        }
    }
    if take(reader, length, &mut request.body)? {
        Ok(IncomingRequest::Request(request))
    } else {
        Ok(IncomingRequest::Gone)
    }
}

/// Adds exactly this many bytes, or says that they did not come.
fn take(reader: &mut impl Read, bytes: u64, body: &mut Vec<u8>) -> io::Result<bool> {
    Ok(reader.take(bytes).read_to_end(body)? as u64 == bytes)
}

/// Returns the next line without its end, or nothing if it does not end.
fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Returns why there was no line.
fn no_line(head: &io::Take<&mut BufReader<TcpStream>>) -> IncomingRequest {
    if head.limit() == 0 {
        IncomingRequest::Bad(431, "the head is too large")
    } else {
        IncomingRequest::Gone
    }
}

/// The length of a body.
#[derive(Clone, Copy)]
pub(crate) enum BodyLength {
    /// Known before.
    Bytes(usize),
    /// In chunks.
    Chunked,
}

/// Returns the head of an answer.
pub(crate) fn head(
    code: u16,
    kind: &str,
    headers: &BTreeMap<String, String>,
    length: BodyLength,
) -> String {
    let reason = match code {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Status",
    };
    let mut head = format!("HTTP/1.1 {code} {reason}\r\ncontent-type: {kind}\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    match length {
        BodyLength::Bytes(bytes) => {
            let _ = write!(head, "content-length: {bytes}\r\n\r\n");
        }
        BodyLength::Chunked => head.push_str("transfer-encoding: chunked\r\n\r\n"),
    }
    head
}

/// Returns one chunk of a body.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The chunk that says that the body is whole.
pub(crate) const LAST_CHUNK: &str = "0\r\n\r\n";
