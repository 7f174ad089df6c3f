//! What a notifier may take, and whom a webhook believes.

use std::{io::Read as _, net::TcpListener, sync::Arc};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};

use crate::notify::sender::*;

/// Signed by itself, for 127.0.0.1. Nobody knows it, and nothing else uses its key.
const CERTIFICATE: &[u8] = include_bytes!("../stranger/certificate.der");
const KEY: &[u8] = include_bytes!("../stranger/key.der");

fn notice() -> Notice {
    Notice {
        run: "r1".to_owned(),
        kind: Kind::End,
        message: "the run is done".to_owned(),
        next: "forge show r1".to_owned(),
        repo: "/r".to_owned(),
        at: 1,
    }
}

#[test]
fn a_notifier_that_takes_too_long_is_killed_with_all_that_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["sh", "-c", "sleep 600 & wait"].map(str::to_owned);
    let told =
        tell_command(&words, dir.path(), &notice(), &dir.path().join("stderr"), Duration::ZERO);
    assert_eq!(told, Err("took longer than 0 s and was killed".to_owned()));
    // The same one is told in its time.
    let words = ["sh", "-c", "cat > told"].map(str::to_owned);
    let told = tell_command(&words, dir.path(), &notice(), &dir.path().join("stderr"), TIME);
    assert_eq!(told, Ok(()));
    let told = fs::read(dir.path().join("told")).unwrap();
    assert_eq!(serde_json::from_slice::<Notice>(&told).unwrap(), notice());
}

#[test]
fn what_is_noted_once_is_noted_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join(LOG);
    for what in ["no desktop", "no desktop", "no bell", "no desktop"] {
        note_once(&log, what);
    }
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 2);
}

#[test]
fn a_webhook_whose_certificate_nobody_knows_is_told_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(CERTIFICATE)],
            PrivatePkcs8KeyDer::from(KEY).into(),
        )
        .unwrap();
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut heard = Vec::new();
        // The other side leaves before anything is said.
        let ended = StreamOwned::new(connection, stream).read_to_end(&mut heard);
        (ended.map_err(|error| error.to_string()), heard)
    });
    let told = tell_webhook(&format!("https://127.0.0.1:{port}/hidden"), &notice());
    let why = told.expect_err("nobody knows its certificate");
    assert!(why.contains("was not reached") && why.contains("UnknownIssuer"), "{why}");
    assert!(!why.contains("hidden"), "{why}");
    let (ended, heard) = server.join().unwrap();
    assert!(ended.is_err() && heard.is_empty(), "{ended:?}");
}
