//! The golden transcript has what a kernel says and is asked, and what becomes of the connection to its server, beside what host
//! and adapter say to each other.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};
use stead_jupyter::{
    JupyterMessage, KernelChannel, KernelOwner, KernelTalk, TalkAction, TalkInput,
};
use stead_protocol::bridge::{BridgeEvent, Commands};

use crate::fate;
use crate::link::{LinkAction, LinkInput, LinkState};

struct GoldenGateway {
    talk: KernelTalk,
    link: LinkState,
    said: VecDeque<Value>,
    asked: VecDeque<(KernelChannel, JupyterMessage)>,
    /// The ids of the requests on the shell channel: the last one, and that of the code.
    last: String,
    code: String,
}

impl GoldenGateway {
    fn tell(&mut self, event: &BridgeEvent) {
        self.said.push_back(serde_json::to_value(event).unwrap());
    }

    fn act(&mut self, actions: Vec<TalkAction>) {
        for action in actions {
            match action {
                TalkAction::Tell(event) => self.tell(&event),
                TalkAction::Send(channel, message) => {
                    let id = message.header["msg_id"].as_str().unwrap();
                    if channel == KernelChannel::Shell {
                        id.clone_into(&mut self.last);
                    }
                    if message.kind() == "execute_request" {
                        id.clone_into(&mut self.code);
                    }
                    self.asked.push_back((channel, message));
                }
                _ => {}
            }
        }
    }

    fn link(&mut self, input: LinkInput) {
        let state = std::mem::replace(&mut self.link, LinkState::Over);
        let (state, actions) = state.step(input, Instant::now());
        self.link = state;
        for action in actions {
            for event in action.told("gw:8888") {
                self.tell(&event);
            }
            if action == LinkAction::TellFound {
                let actions = self.talk.step(TalkInput::Reconnected);
                self.act(actions);
            }
        }
    }

    fn hear(&mut self, told: &Value) {
        let kind = told["kind"].as_str().unwrap();
        let mut message = JupyterMessage::request("x", "them", kind, told["content"].clone());
        let parent = if told["of"].is_string() { &self.code } else { &self.last };
        message.parent = json!({"msg_id": parent});
        let channel = match told["channel"].as_str().unwrap() {
            "shell" => KernelChannel::Shell,
            "stdin" => KernelChannel::Stdin,
            _ => KernelChannel::Published,
        };
        match fate::end_told(channel, &message) {
            Some(reason) => {
                let reason = Some(reason.to_owned());
                self.tell(&BridgeEvent::Exiting { code: 1, reason });
            }
            None => {
                let actions = self.talk.step(TalkInput::Kernel(channel, &message));
                self.act(actions);
            }
        }
    }
}

#[test]
fn k2_the_golden_transcript_is_what_the_adapter_says() {
    let golden = include_str!("../../../../bridges/golden/adapter-gateway.jsonl");
    let talk = KernelTalk::new(KernelOwner::Others, "me", "http://gw:8888/api/kernels/1");
    let mut gateway = GoldenGateway {
        talk,
        link: LinkState::open(Instant::now()),
        said: VecDeque::new(),
        asked: VecDeque::new(),
        last: String::new(),
        code: String::new(),
    };
    let greeting = gateway.talk.greet();
    gateway.act(greeting);
    for line in golden.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(command) = line["host"].as_str() {
            let mut commands = Commands::default();
            commands.push(command.as_bytes()).unwrap();
            let frame = commands.next_frame().unwrap();
            let actions = gateway.talk.step(TalkInput::Host(&frame.command().unwrap()));
            gateway.act(actions);
        } else if line["kernel"].is_object() {
            gateway.hear(&line["kernel"]);
        } else if let Some(text) = line["input"].as_str() {
            let actions = gateway.talk.step(TalkInput::Line(Some(text.to_owned())));
            gateway.act(actions);
        } else if !line["link"].is_null() {
            gateway.link(match line["link"]["cut"].as_str() {
                Some(reason) => LinkInput::Cut { reason: reason.to_owned() },
                None => LinkInput::Opened,
            });
        } else if let Some(expected) = line["bridge"].as_object() {
            let event =
                gateway.said.pop_front().unwrap_or_else(|| panic!("nothing is said: {line}"));
            for (name, value) in expected {
                assert!(value == "*" || event[name] == *value, "{name}: {event} is not {line}");
            }
        } else {
            let asked = gateway.asked.pop_front();
            let (channel, message) = asked.unwrap_or_else(|| panic!("nothing is asked: {line}"));
            assert_eq!(format!("{channel:?}").to_lowercase(), line["asked"]["channel"], "{line}");
            assert_eq!(message.kind(), line["asked"]["kind"], "{line}");
            for key in ["code", "value", "allow_stdin"] {
                let expected = &line["asked"][key];
                assert!(expected.is_null() || message.content[key] == *expected, "{key}: {line}");
            }
        }
    }
    assert!(gateway.said.is_empty() && gateway.asked.is_empty(), "{:?}", gateway.said);
}
