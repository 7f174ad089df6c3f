//! Which certificates are trusted.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Arc,
    thread,
};

use forge_hosts::{Address, HostError, HttpSettings, Issue, Kind, Known, fetch};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};

use serde_json::json;

use crate::{
    loopback::{Host, Reply},
    world::{World, kinds, settings, tokens},
};

/// Signed by itself, for 127.0.0.1. Only these tests know it.
const CERTIFICATE: &[u8] = include_bytes!("authority/certificate.der");
const KEY: &[u8] = include_bytes!("authority/key.der");

/// Fetches an issue from a host with that certificate.
fn fetch_from_tls(settings: &HttpSettings, answer: String) -> Result<Issue, HostError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = listener.local_addr().unwrap().to_string();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivatePkcs8KeyDer::from(KEY).into();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
        .unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let _unread = stream.read(&mut [0; 4096]);
        let _left = stream.write_all(answer.as_bytes());
        let _left = stream.flush();
    });
    let known = Known { kinds: kinds(&name, Kind::GitHub), ..Known::default() };
    let address = Address::parse(&format!("https://{name}/o/r/issues/3"), &known);
    let address = address.unwrap().unwrap();
    fetch(&address, &tokens(&address), &World::with(settings).http, "")
}

fn issue() -> String {
    let body = r#"{"number": 3, "title": "Sums"}"#;
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_redirect_never_leads_from_https_to_http() {
    let open = Host::always(|| Reply::json(&json!({"number": 3, "title": "Sums"})));
    let head = format!("HTTP/1.1 302 Found\r\nlocation: http://{}/x\r\n", open.name);
    let error =
        fetch_from_tls(&settings(), format!("{head}content-length: 0\r\n\r\n")).unwrap_err();
    assert!(error.what().ends_with("it redirects from https to http"), "{error}");
    assert!(open.asked().is_empty());
}

#[test]
fn a_bundle_of_the_environment_is_trusted() {
    assert_eq!(fetch_from_tls(&settings(), issue()).unwrap().title, "Sums");
}

#[test]
fn a_certificate_that_the_system_does_not_know_is_not_trusted() {
    let error = fetch_from_tls(&HttpSettings::from_env(&|_| None), issue()).unwrap_err();
    assert!(matches!(error, HostError::Unreachable { .. }), "{error:?}");
    assert!(error.what().contains("UnknownIssuer"), "{error}");
    assert!(error.next().contains("SSL_CERT_FILE"), "{}", error.next());
}
