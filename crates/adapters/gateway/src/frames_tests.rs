use super::*;

fn message() -> JupyterMessage {
    JupyterMessage::request("m1", "s1", "execute_request", json!({"code": "é"}))
}

#[test]
fn k2_both_forms_bring_a_message_over_as_it_is() {
    for form in [WireForm::V1, WireForm::Json] {
        for channel in [KernelChannel::Shell, KernelChannel::Control, KernelChannel::Stdin] {
            let (came, read) = form.read(&form.write(channel, &message())).unwrap();
            assert_eq!((came, read.kind(), read.text("code")), (channel, "execute_request", "é"));
        }
    }
}

#[test]
fn k2_the_newer_form_is_as_jupyter_server_writes_it() {
    // By Python: jupyter_server.services.kernels.connection.base.serialize_msg_to_ws_v1([b"{}", b"{}", b"{}", b"{}"], "iopub")
    let parts = [b"{}".to_vec(), b"{}".to_vec(), b"{}".to_vec(), b"{}".to_vec()];
    let written = v1("iopub", &parts);
    assert_eq!(written[..16], [6, 0, 0, 0, 0, 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(written[48..56], [69, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(&written[56..], b"iopub{}{}{}{}");
}

#[test]
fn k2_raw_data_behind_a_message_is_passed_over() {
    let json = br#"{"channel":"iopub","header":{"msg_type":"stream"},"content":{"text":"x"}}"#;
    let mut bytes = Vec::new();
    for number in [2, 12, 12 + json.len() as u32] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(json);
    bytes.extend(b"raw");
    let (_, read) = WireForm::Json.read(&Message::binary(bytes)).unwrap();
    assert_eq!((read.kind(), read.text("text")), ("stream", "x"));
}

#[test]
fn k2_garbage_is_no_message_and_no_panic() {
    let Message::Binary(whole) = WireForm::V1.write(KernelChannel::Shell, &message()) else {
        panic!("not binary");
    };
    for cut in 0..whole.len() {
        let cut = Message::binary(whole.slice(..cut));
        assert!(WireForm::V1.read(&cut).is_err());
        let _ = WireForm::Json.read(&cut);
    }
    for at in 0..60 {
        let mut changed = whole.to_vec();
        changed[at] = 0xff;
        let _ = WireForm::V1.read(&Message::binary(changed));
    }
    assert!(WireForm::Json.read(&Message::text("{")).is_err());
    assert!(WireForm::Json.read(&Message::text(r#"{"channel":"hb"}"#)).is_err());
}
