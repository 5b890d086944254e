//! One line of the wire as a message, or why it is none. What asks for a reply gets one, as far as its id can be told.

use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Value, json};

/// Longest message, bytes. A call of `remember` takes a sixteenth of it.
pub(super) const MAX_BYTES: usize = 16 << 20;
/// Longest key or id that is looked at in a message that cannot be read, bytes.
const MAX_SALVAGED: usize = 1024;
/// A line that is no JSON.
const PARSE_ERROR: i32 = -32700;
/// JSON that is no message.
const INVALID_REQUEST: i32 = -32600;

/// What a line is.
#[derive(Debug)]
pub(super) enum Heard {
    /// A message.
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Nothing that anybody waits for an answer to.
    Nothing,
    /// No message: this is the reply.
    Wrong(Value),
}

/// Reads one line, with or without its end.
pub(super) fn hear(line: &mut [u8]) -> Heard {
    let line = match line {
        [0xEF, 0xBB, 0xBF, rest @ ..] => rest,
        line => line,
    };
    if line.trim_ascii().is_empty() {
        return Heard::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Heard::Message(message);
    }
    if replace_lone_surrogates(line)
        && let Ok(message) = serde_json::from_slice(line)
    {
        return Heard::Message(message);
    }
    let why = match (std::str::from_utf8(line), serde_json::from_slice::<Value>(line)) {
        (Err(error), _) => format!("it is not UTF-8 from byte {} on", error.valid_up_to()),
        (Ok(_), Ok(value)) => return no_message(&value),
        (Ok(_), Err(error)) => error.to_string(),
    };
    let mut salvage = Salvage::default();
    salvage.feed(line);
    salvage.reply(PARSE_ERROR, &format!("Parse error: {why}"))
}

/// What is said to a message of so many bytes, of which only its ids were looked at.
pub(super) fn too_long(salvage: Salvage, bytes: usize) -> Heard {
    let why = format!("Invalid Request: it has {bytes} bytes, {MAX_BYTES} are taken: send less in one call");
    salvage.reply(INVALID_REQUEST, &why)
}

/// What is said to JSON that is no message.
fn no_message(value: &Value) -> Heard {
    let id = value.get("id");
    let is_call = value.get("method").is_some_and(Value::is_string);
    let is_answer = value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some());
    if is_call && id.is_none() || is_answer {
        return Heard::Nothing;
    }
    let why = match id {
        _ if value.is_array() => "a list of messages is not taken, send one a line",
        _ if !value.is_object() => "it is no object",
        Some(id) if !id.is_i64() && !id.is_string() => "`id` is neither a whole number nor a text",
        _ if value.get("jsonrpc").is_none_or(|version| version != "2.0") => "`jsonrpc` is not \"2.0\"",
        _ if !is_call => "it has no `method`",
        _ => "its `params` do not fit its `method`",
    };
    let id = id.filter(|id| id.is_number() || id.is_string());
    Heard::Wrong(error(id, INVALID_REQUEST, &format!("Invalid Request: {why}")))
}

fn error(id: Option<&Value>, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Puts U+FFFD in the place of each half of a surrogate pair that stands alone in an escape: a text that was cut
/// within an emoji has one, and no Unicode text can hold it. Answers whether there was any.
pub(crate) fn replace_lone_surrogates(json: &mut [u8]) -> bool {
    let unit = |json: &[u8], at: usize| {
        let [b'\\', b'u', digits @ ..] = json.get(at..at + 6)? else { return None };
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let is_low = |unit: u16| (0xDC00..=0xDFFF).contains(&unit);
    let (mut at, mut any) = (0, false);
    while let Some(next) = memchr::memchr(b'\\', json.get(at..).unwrap_or_default()) {
        at += next;
        at += match unit(json, at) {
            Some(0xD800..=0xDBFF) if unit(json, at + 6).is_some_and(is_low) => 12,
            Some(0xD800..=0xDFFF) => {
                if let Some(escape) = json.get_mut(at..at + 6) {
                    escape.copy_from_slice(b"\\ufffd");
                    any = true;
                }
                6
            }
            Some(_) => 6,
            None => 2,
        };
    }
    any
}

/// Looks for the id of a message that cannot be read, without reading it.
#[derive(Debug, Default)]
pub(super) struct Salvage {
    depth: usize,
    is_object: bool,
    is_in_text: bool,
    is_escaped: bool,
    is_key: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    id: Option<Value>,
    is_call: bool,
    is_answer: bool,
}

impl Salvage {
    /// Goes through further bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.is_in_text {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 1 {
                    self.is_object = byte == b'{';
                    self.begin_field();
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.end_field();
                self.begin_field();
            }
            b':' if self.depth == 1 => self.is_key = false,
            b'"' => {
                self.is_in_text = true;
                self.keep(byte);
            }
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        let kept = if self.is_key { &mut self.key } else { &mut self.value };
        if self.depth == 1 && kept.len() < MAX_SALVAGED {
            kept.push(byte);
        }
    }

    fn begin_field(&mut self) {
        self.is_key = true;
        self.key.clear();
        self.value.clear();
    }

    fn end_field(&mut self) {
        if !self.is_object {
            return;
        }
        match self.key.trim_ascii() {
            b"\"id\"" => {
                let id = serde_json::from_slice(&self.value).ok();
                self.id = id.filter(|id: &Value| id.is_number() || id.is_string());
            }
            b"\"method\"" => self.is_call = true,
            b"\"result\"" | b"\"error\"" => self.is_answer = true,
            _ => {}
        }
    }

    /// The reply to what was gone through; none to what is an answer itself.
    fn reply(mut self, code: i32, why: &str) -> Heard {
        if !self.is_in_text && self.depth == 1 {
            self.end_field();
        }
        if self.is_answer && !self.is_call { Heard::Nothing } else { Heard::Wrong(error(self.id.as_ref(), code, why)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reply_to(line: &str) -> Option<(i64, Value)> {
        match hear(&mut line.as_bytes().to_vec()) {
            Heard::Wrong(reply) => Some((reply["error"]["code"].as_i64()?, reply["id"].clone())),
            Heard::Nothing => None,
            Heard::Message(message) => panic!("{line}: {message:?}"),
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_under_its_id_where_that_can_be_told() {
        let deep = "[".repeat(5000);
        for (line, code, id) in [
            ("{bad json", PARSE_ERROR, Value::Null),
            ("this is not JSON", PARSE_ERROR, Value::Null),
            (r#"{"jsonrpc":"2.0","id":1,"#, PARSE_ERROR, json!(1)),
            (r#"{"jsonrpc":"2.0","id":7"#, PARSE_ERROR, json!(7)),
            (r#"{"jsonrpc":"2.0","id":"a}\"b","method":x}"#, PARSE_ERROR, json!("a}\"b")),
            (r#"{"method":"m","params":{"id":5,"x":"\"id\":6"},"id" : 8 ,}"#, PARSE_ERROR, json!(8)),
            (r#"{"id":true,"#, PARSE_ERROR, Value::Null),
            (r#"[{"id":5},"#, PARSE_ERROR, Value::Null),
            (deep.as_str(), PARSE_ERROR, Value::Null),
            (&format!(r#"{{"id":9,"method":"ping","params":{deep}"#), PARSE_ERROR, json!(9)),
            ("{}", INVALID_REQUEST, Value::Null),
            ("[1,2]", INVALID_REQUEST, Value::Null),
            ("7", INVALID_REQUEST, Value::Null),
            (r#"{"jsonrpc":"2.0","id":777}"#, INVALID_REQUEST, json!(777)),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, INVALID_REQUEST, json!("a")),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, INVALID_REQUEST, json!(1.5)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, INVALID_REQUEST, Value::Null),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, INVALID_REQUEST, Value::Null),
        ] {
            assert_eq!(reply_to(line), Some((i64::from(code), id)), "{line:.80}");
        }
        for line in
            ["", "\r\n", "  \n", r#"{"jsonrpc":"2.0","method":"x/unheard_of","params":7}"#, r#"{"id":1,"result":7}"#]
        {
            assert_eq!(reply_to(line), None, "{line}");
        }
    }

    #[test]
    fn the_id_of_a_message_is_found_however_it_is_cut_into_pieces() {
        let message = br#"{"params":{"id":1,"text":"a\\\"id\":2"},"id":"x\ud83d\ude00y","method":"m"}"#;
        for cut in 0..message.len() {
            let mut salvage = Salvage::default();
            salvage.feed(&message[..cut]);
            salvage.feed(&message[cut..]);
            let Heard::Wrong(reply) = too_long(salvage, MAX_BYTES + 1) else { panic!("no reply") };
            assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!("x😀y"), &json!(INVALID_REQUEST)));
        }
    }

    #[test]
    fn a_surrogate_without_its_other_half_is_replaced() {
        for (json, expected) in [
            (r#""cut \ud83d""#, Some("cut \u{fffd}")),
            (r#""\uDE00 low first""#, Some("\u{fffd} low first")),
            (r#""\ud83d\ud83d\ude00""#, Some("\u{fffd}😀")),
            (r#""\ud83dx\u0041""#, Some("\u{fffd}xA")),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""no escape""#, None),
            (r#""\ud8"#, None),
        ] {
            let mut bytes = json.as_bytes().to_vec();
            assert_eq!(replace_lone_surrogates(&mut bytes), expected.is_some(), "{json}");
            match expected {
                Some(expected) => assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), expected),
                None => assert_eq!(bytes, json.as_bytes()),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn the_id_of_every_request_is_salvaged(id in any::<i64>(), text in any::<String>(), key in "[a-z]{1,4}") {
            let message = json!({ key: { "id": "inner" }, text.clone(): text, "id": id, "method": [text] });
            let mut salvage = Salvage::default();
            salvage.feed(message.to_string().as_bytes());
            let Heard::Wrong(reply) = too_long(salvage, 0) else { panic!("no reply") };
            prop_assert_eq!(&reply["id"], &message["id"]);
        }
    }
}
