//! K-2: servers that are none, refuse, lead elsewhere, hang or cannot be trusted: a clear error in seconds, and no token leaves.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;
use stead_testkit::{GatewayKind, GatewayServer, TEST_TOKEN, wait_for};

use crate::gateway::{Far, message, ok};

/// Something that listens and answers every request with this; what it was sent is kept.
fn answers(with: &'static str) -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(String::new()));
    let kept = heard.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap_or(0);
            kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            let _ = stream.write_all(with.as_bytes());
        }
    });
    (port, heard)
}

#[test]
fn k2_an_address_that_leads_nowhere_or_elsewhere_is_an_error_in_seconds() {
    let far = Far::new();
    let said = |url: &str| {
        let reply = far.launch(url, "x", &["--kernel", "python3"]);
        assert_eq!(reply["ok"], false, "{reply:#}");
        assert!(!reply.to_string().contains(TEST_TOKEN), "{reply:#}");
        assert!(!reply.to_string().contains("interpreter"), "{reply:#}");
        assert!(reply["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--url")));
        message(&reply).to_owned()
    };
    let none = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let dead = said(&format!("http://127.0.0.1:{none}"));
    assert_eq!(
        dead,
        format!(
            "could not start session `x`: no server answers at http://127.0.0.1:{none}/: nothing listens there"
        )
    );
    let unknown = said("http://no-such-host.invalid:8888");
    assert!(unknown.contains("no-such-host.invalid"), "{unknown}");
    // What answers is no Jupyter.
    let (ssh, _) = answers("SSH-2.0-OpenSSH_9.2\r\n");
    assert!(said(&format!("http://127.0.0.1:{ssh}")).contains("is no Jupyter server"));
    let (page, _) = answers("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>");
    assert!(said(&format!("http://127.0.0.1:{page}")).contains("is no Jupyter server"));
    // It leads elsewhere: the token does not go there.
    let (thief, heard) = answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    let to = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:{thief}/api\r\nContent-Length: 0\r\n\r\n"
    );
    let (leads, _) = answers(Box::leak(to.into_boxed_str()));
    let elsewhere = said(&format!("http://127.0.0.1:{leads}"));
    assert!(
        elsewhere.contains("leads elsewhere") && elsewhere.contains(&thief.to_string()),
        "{elsewhere}"
    );
    assert_eq!(*heard.lock().unwrap(), "");
    // It takes the connection and says nothing.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let mute_url = format!("http://127.0.0.1:{}", mute.local_addr().unwrap().port());
    let id = "0b9cf6b4-6b6d-4d51-b02f-8c2ad4c6d2f1";
    let silent = far.attach(&mute_url, "y", id);
    assert!(message(&silent).contains("does not answer in time"), "{silent:#}");
    assert!(said(&mute_url).contains("does not answer in time"));
    // Over MCP the user has to be asked, whose configuration it is.
    let config = far.env.root().join("home/.config/stead");
    std::fs::create_dir_all(&config).unwrap();
    let table = format!("[gateways.dead]\nurl = \"http://127.0.0.1:{none}/\"\n");
    std::fs::write(config.join("config.toml"), table).unwrap();
    let open = json!({"url": "dead", "name": "m"});
    let opened = stead_testkit::mcp_call(far.env.command(["mcp"]), "open", open);
    let text = opened["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("nothing listens there") && text.contains("ask the user"), "{text}");
    assert!(!text.contains("interpreter"), "{text}");
    // Addresses with a secret in them are refused without repeating it.
    for url in ["http://h:8888/?token=hunter2", "http://me:hunter2@h/", "h:8888", "ftp://h/"] {
        let refused = far.launch(url, "z", &[]);
        assert_eq!(refused["error"]["code"], "bad_request", "{refused:#}");
        assert!(!refused.to_string().contains("hunter2"), "{refused:#}");
    }
    // Options that do not fit.
    assert!(message(&far.env.json(["launch", "gateway", "-n", "z"])).contains("by its address"));
    assert!(
        message(&far.env.json(["start", "gateway", "http://h/", "-n", "z"]))
            .contains("the kernel's id")
    );
    let unset = far.env.json([
        "launch",
        "gateway",
        "--url",
        &mute_url,
        "-n",
        "z",
        "--token-env",
        "NO_SUCH",
    ]);
    assert!(message(&unset).contains("`NO_SUCH`, which is not set"), "{unset:#}");
}

/// TLS in front of a server, with this certificate.
struct Tls(Child, u16);

impl Tls {
    fn before(server: u16, certificate: &str, key: &str) -> Tls {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let listen = format!(
            "OPENSSL-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,verify=0,cert={certificate},key={key}"
        );
        let child = Command::new("socat")
            .args([listen, format!("TCP:127.0.0.1:{server}")])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("socat listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Tls(child, port)
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn k2_tls_with_a_ca_of_ones_own_and_certificates_that_are_no_good() {
    let far = Far::new();
    let dir = far.env.root().join("certificates");
    std::fs::create_dir_all(&dir).unwrap();
    let openssl = |line: &str| {
        let done =
            Command::new("openssl").args(line.split(' ')).current_dir(&dir).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let make = |name: &str, names: &str, signed: &str| {
        std::fs::write(dir.join(format!("{name}.ext")), format!("subjectAltName={names}\n"))
            .unwrap();
        openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"
        ));
        openssl(&format!("x509 -req -in {name}.csr -out {name}.pem -extfile {name}.ext {signed}"));
    };
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca",
    );
    let by_ca = "-CA ca.pem -CAkey ca.key -CAcreateserial";
    make("good", "DNS:localhost,IP:127.0.0.1", &format!("{by_ca} -days 2"));
    make("old", "DNS:localhost", &format!("{by_ca} -days -1"));
    make("other", "DNS:example.org", &format!("{by_ca} -days 2"));
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &[]);
    let ca = at("ca.pem");
    let launch = |name: &str, url: &str, more: &[&str]| {
        let more: Vec<&str> = ["--kernel", "python3"].iter().chain(more).copied().collect();
        far.launch(url, name, &more)
    };
    let tls = Tls::before(server.port, &at("good.pem"), &at("good.key"));
    let url = format!("https://localhost:{}/", tls.1);
    ok(launch("far", &url, &["--ca-file", &ca]));
    assert_eq!(far.value("far", "print('x' * 300_000)\n6 * 7"), "42");
    ok(far.env.json(["stop", "-n", "far"]));
    let trusted_by_nobody = launch("a", &url, &[]);
    assert!(
        message(&trusted_by_nobody).contains("somebody who is not trusted"),
        "{trusted_by_nobody:#}"
    );
    let expired = Tls::before(server.port, &at("old.pem"), &at("old.key"));
    let expired = launch("b", &format!("https://localhost:{}/", expired.1), &["--ca-file", &ca]);
    assert!(message(&expired).contains("its certificate has expired"), "{expired:#}");
    let other = Tls::before(server.port, &at("other.pem"), &at("other.key"));
    let other = launch("c", &format!("https://localhost:{}/", other.1), &["--ca-file", &ca]);
    assert!(message(&other).contains("for another name"), "{other:#}");
    let plain = launch("d", &format!("https://127.0.0.1:{}/", server.port), &["--ca-file", &ca]);
    assert!(message(&plain).contains("TLS"), "{plain:#}");
    let no_file = launch("e", &url, &["--ca-file", "/no/such/ca.pem"]);
    assert!(message(&no_file).contains("/no/such/ca.pem"), "{no_file:#}");
    assert!(server.kernels().is_empty());
    // What there is not is named.
    let kernel = far.launch(&server.url(), "f", &["--kernel", "cobol"]);
    let said = message(&kernel);
    assert!(said.contains("has no kernel `cobol`; it has: ") && said.contains("python3"), "{said}");
    let id = far.attach(&server.url(), "g", "0b9cf6b4-6b6d-4d51-b02f-8c2ad4c6d2f1");
    assert!(message(&id).contains("has no kernel with the id"), "{id:#}");
    let path = far.attach(&server.url(), "h", "../../shutdown");
    assert!(message(&path).contains("has no kernel with the id"), "{path:#}");
    let without = far.env.json([
        "launch",
        "gateway",
        "--url",
        &server.url(),
        "--kernel",
        "python3",
        "-n",
        "i",
    ]);
    assert!(message(&without).contains("STEAD_GATEWAY_TOKEN"), "{without:#}");
}

/// A server that takes for ever to make a kernel, or a proxy before it that answers so meanwhile; what it was asked.
fn never_makes_a_kernel(proxy: Option<&'static str>) -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(String::new()));
    let kept = heard.clone();
    std::thread::spawn(move || {
        let mut waiting = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut asked = String::new();
            let mut bytes = [0; 4096];
            // The body of a request comes after its head.
            while !asked.contains("\r\n\r\n")
                || (asked.starts_with("POST") && !asked.ends_with('}'))
            {
                match stream.read(&mut bytes) {
                    Ok(count) if count > 0 => {
                        asked.push_str(&String::from_utf8_lossy(&bytes[..count]));
                    }
                    _ => break,
                }
            }
            kept.lock().unwrap().push_str(&asked);
            let answer = match asked.split(' ').next() {
                Some("GET") => "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"kernelspecs\":{}}",
                Some("DELETE") => "HTTP/1.1 204 No Content\r\n\r\n",
                _ => match proxy {
                    Some(answer) => answer,
                    None => {
                        waiting.push(stream);
                        continue;
                    }
                },
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, heard)
}

#[test]
fn k2_a_kernel_that_takes_long_to_be_made_is_waited_for_and_can_be_stopped() {
    let far = Far::new();
    let (port, heard) = never_makes_a_kernel(None);
    let config = far.env.root().join("home/.config/stead");
    std::fs::create_dir_all(&config).unwrap();
    let text = format!(
        "[gateways.slow]\nurl = \"http://127.0.0.1:{port}/\"\n\n[sessions.far]\ngateway = \"slow\"\n"
    );
    std::fs::write(config.join("config.toml"), text).unwrap();
    let eval = ok(far.env.json(["eval", "-n", "far", "--bg", "--", "1"]));
    let eval = eval["data"]["eval_id"].as_str().unwrap().to_owned();
    wait_for("it is asked for", || heard.lock().unwrap().contains("KERNEL_ID"));
    let status = far.env.json(["status", "-n", "far"]);
    assert_eq!(status["data"]["state"], "starting", "{status:#}");
    // Code that waits for the start is taken back, and the start itself is ended.
    let asked = far.env.json(["interrupt", &eval]);
    assert_eq!(asked["ok"], true, "{asked:#}");
    let over = far.env.json(["output", &eval]);
    assert_eq!(over["status"], "interrupted", "{over:#}");
    ok(far.env.json(["stop", "-n", "far"]));
    deleted_what_was_asked_for(&heard.lock().unwrap());
}

/// What the server may yet make is deleted by the id that it was given.
#[track_caller]
fn deleted_what_was_asked_for(heard: &str) {
    let (_, rest) = heard.split_once("\"KERNEL_ID\":\"").unwrap();
    let id = &rest[..36];
    assert!(heard.contains(&format!("DELETE /api/kernels/{id} ")), "{heard}");
}

/// The server goes on making the kernel.
#[test]
fn k2_a_kernel_whose_making_a_proxy_gave_up_on_is_deleted_all_the_same() {
    let far = Far::new();
    let timeout = "HTTP/1.1 504 Gateway Time-out\r\nContent-Length: 0\r\n\r\n";
    let (port, heard) = never_makes_a_kernel(Some(timeout));
    let url = format!("http://127.0.0.1:{port}/");
    let failed = far.env.json(["launch", "gateway", "--url", &url, "-n", "far"]);
    assert!(message(&failed).contains("504"), "{failed:#}");
    far.env.json(["stop", "-n", "far"]);
    deleted_what_was_asked_for(&heard.lock().unwrap());
}
