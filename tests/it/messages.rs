//! Every line that asks for a reply gets exactly one, also where it is no message.

use serde_json::{Value, json};

use crate::wire::{Place, Server};

/// Sends a line, and then a ping: what is said before the ping's reply is said to the line.
fn replies_to(server: &mut Server, line: &[u8]) -> Vec<Value> {
    server.send_bytes(line);
    server.send_bytes(b"\n");
    server.send(&json!({ "jsonrpc": "2.0", "id": "after", "method": "ping" }));
    let mut replies = Vec::new();
    loop {
        let reply = server.next();
        if reply["id"] == "after" {
            return replies;
        }
        replies.push(reply);
    }
}

/// The one error reply to a line: its id and code.
fn refusal(server: &mut Server, line: &[u8]) -> (Value, i64) {
    let replies = replies_to(server, line);
    let [reply] = replies.as_slice() else { panic!("{replies:?} to {:.80}", String::from_utf8_lossy(line)) };
    assert!(
        reply.get("id").is_some() && reply["error"]["message"].as_str().is_some_and(|why| why.len() > 15),
        "{reply}"
    );
    (reply["id"].clone(), reply["error"]["code"].as_i64().unwrap())
}

#[test]
fn a_request_that_cannot_be_read_is_answered() {
    let mut server = Place::new().serve(&[]);
    let deep = "[".repeat(5000);
    let request = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{params}}}"#);
    for (line, id, code) in [
        (&b"{bad json"[..], Value::Null, -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", json!(1), -32700),
        (b"\xff\xfe\x00 no UTF-8 \xc3\x28", Value::Null, -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}",
            json!("x"),
            -32700,
        ),
        (deep.as_bytes(), Value::Null, -32700),
        (request(&format!("{{\"x\":{deep}")).as_bytes(), json!(5), -32700),
        (request(&format!("{{\"x\":{deep}{}}}", "]".repeat(5000))).as_bytes(), json!(5), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":777}", json!(777), -32600),
        (request("[]").as_bytes(), json!(5), -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", json!(1), -32600),
        (b"[1,2,3]", Value::Null, -32600),
        (b"{}", Value::Null, -32600),
    ] {
        assert_eq!(refusal(&mut server, line), (id, code), "{:.80}", String::from_utf8_lossy(line));
    }
    // Nobody waits for an answer to these.
    for line in [&b""[..], b"  \r", b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard_of\",\"params\":7}"] {
        assert_eq!(replies_to(&mut server, line), Vec::<Value>::new());
    }
    server.finish_quietly();
}

#[test]
fn a_request_that_is_too_long_is_answered_under_its_id() {
    let mut server = Place::new().serve(&[]);
    let text = "x".repeat(20 << 20);
    let params = json!({ "name": "remember", "arguments": { "memories": text } }).to_string();
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{params}}}"#),
        format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":41}}"#),
    ] {
        assert_eq!(refusal(&mut server, line.as_bytes()), (json!(41), -32600));
    }
    server.remember("It goes on after that");
    server.finish_quietly();
}

#[test]
fn a_text_that_was_cut_within_an_emoji_is_served() {
    let mut server = Place::new().serve(&[]);
    let arguments = r#"{"memories":"Ana wrote hello \ud83d","op_key":"\ude00"}"#;
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{{"name":"remember","arguments":{arguments}}}}}"#
    );
    let replies = replies_to(&mut server, line.as_bytes());
    let saved = replies.into_iter().next().unwrap_or_else(|| server.next());
    assert_eq!(saved["result"]["structuredContent"]["results"][0]["outcome"], "saved", "{saved}");
    let (found, _) = server.call("recall", json!({ "query": "what did Ana write" }));
    assert_eq!(found["hits"][0]["text"], "Ana wrote hello \u{fffd}");
    server.finish_quietly();
}

#[test]
fn a_last_line_without_its_end_is_answered() {
    for line in [&b"{bad json"[..], b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}"] {
        let mut server = Place::new().serve(&[]);
        server.send_bytes(line);
        let (status, rest, complaints) = server.finish();
        assert!(status.success() && complaints.is_empty(), "{status} {complaints}");
        assert_eq!(rest.len(), 1, "{rest:?}");
    }
}
