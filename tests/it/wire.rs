//! A client of our own that trusts nothing: every line must be a message, every result must fit its schema.

#![expect(clippy::needless_pass_by_value, reason = "a call reads better with json!")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::binary;

/// Longer than any reply takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// What a client may wait for the end after it closed the server's input.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// A folder with a home and a vault of its own.
#[derive(Clone)]
pub(crate) struct Place(Arc<TempDir>);

impl Place {
    pub(crate) fn new() -> Place {
        Place(Arc::new(tempfile::tempdir().unwrap()))
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.0.path().join("vault")
    }

    /// A home of which only its configuration exists.
    pub(crate) fn configured(&self, config: &str) {
        std::fs::create_dir_all(self.home()).unwrap();
        std::fs::write(self.home().join("config.toml"), config).unwrap();
    }

    /// A server, not greeted yet.
    pub(crate) fn start(&self, arguments: &[&str]) -> Server {
        let mut command = Command::new(binary());
        command
            .arg("serve")
            .args(arguments)
            .env("EBBMARK_HOME", self.home())
            .env("EBBMARK_VAULT", self.vault())
            .env("EBBMARK_NOW", "2026-11-30T08:00:00Z")
            .env("HOME", self.0.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["EBBMARK_SEED", "EBBMARK_REPLICA", "XDG_CONFIG_HOME", "GIT_DIR", "GIT_AUTHOR_NAME"] {
            command.env_remove(name);
        }
        Server::spawn(command, Some(self.clone()))
    }

    /// A server that was greeted by a client of that name.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Server {
        self.start(arguments).greeted()
    }
}

/// A running server and the client's ends of its pipes.
pub(crate) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    pub(crate) lines: Receiver<String>,
    complaints: Option<thread::JoinHandle<String>>,
    last_id: u64,
    output_schemas: HashMap<String, Value>,
    /// Its folder stays as long as it runs.
    _place: Option<Place>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    /// Starts a command that serves.
    pub(crate) fn spawn(mut command: Command, place: Option<Place>) -> Server {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (sender, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("standard output is UTF-8");
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let complaints = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).ok();
            text
        });
        let stdin = child.stdin.take();
        Server {
            child,
            stdin,
            lines,
            complaints: Some(complaints),
            last_id: 0,
            output_schemas: HashMap::new(),
            _place: place,
        }
    }

    /// Greets it as a client does.
    pub(crate) fn greeted(mut self) -> Server {
        let greeting = self.initialize("2025-11-25");
        assert_eq!(greeting["result"]["protocolVersion"], "2025-11-25");
        self
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// The next message; whatever comes must be one.
    pub(crate) fn next(&mut self) -> Value {
        read(&self.lines.recv_timeout(PATIENCE).expect("a message within the time"))
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
        let reply = self.next();
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let greeting = self.request(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "Claude Desktop", "version": "1" } }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        greeting
    }

    pub(crate) fn tools(&mut self) -> Vec<Value> {
        let tools = self.request("tools/list", Value::Null)["result"]["tools"].as_array().cloned().expect("tools");
        for tool in &tools {
            self.output_schemas.insert(tool["name"].as_str().unwrap().into(), tool["outputSchema"].clone());
        }
        tools
    }

    /// The result of a call, which has a text and fits the schema that its tool promised.
    pub(crate) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        if self.output_schemas.is_empty() {
            self.tools();
        }
        let reply = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = reply["result"].clone();
        assert!(result["isError"].is_boolean(), "{reply}");
        assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{reply}");
        if let Some(schema) = self.output_schemas.get(tool) {
            fits(schema, &result["structuredContent"]).unwrap_or_else(|why| panic!("{tool}: {why}: {reply}"));
            // Of an answer that may have any of its fields, the schema names all.
            let is_promised = tool != "inspect" && result["isError"] == false;
            for name in schema["properties"].as_object().unwrap().keys().filter(|_| is_promised) {
                assert!(result["structuredContent"].get(name).is_some(), "{tool} promises {name}: {reply}");
            }
        }
        result
    }

    /// The structured answer and the text of a call that succeeds.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (Value, String) {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        (result["structuredContent"].clone(), text_of(&result))
    }

    /// The structured error and the text of a call that fails.
    pub(crate) fn fail(&mut self, tool: &str, arguments: Value) -> (Value, String) {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let error = result["structuredContent"].clone();
        let names: Vec<&String> = error.as_object().unwrap().keys().collect();
        assert_eq!(names, ["error", "kind", "hint"]);
        let text = text_of(&result);
        assert!(text.contains(error["error"].as_str().unwrap()) && text.contains(error["hint"].as_str().unwrap()));
        (error, text)
    }

    pub(crate) fn remember(&mut self, text: &str) -> String {
        let (answer, _) = self.call("remember", json!({ "memories": [{ "text": text }] }));
        assert_eq!(answer["results"][0]["outcome"], "saved", "{answer}");
        answer["results"][0]["id"].as_str().unwrap().into()
    }

    /// Closes standard input and waits for the end; gives what was still said, and what on standard error.
    pub(crate) fn finish(mut self) -> (ExitStatus, Vec<Value>, String) {
        drop(self.stdin.take());
        self.wait()
    }

    /// As [`Server::finish`], but a signal (`TERM`, `INT`) asks for the end, and standard input stays open.
    #[cfg(unix)]
    pub(super) fn finish_by(self, signal: &str) -> (ExitStatus, Vec<Value>, String) {
        let sent = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.wait()
    }

    fn wait(mut self) -> (ExitStatus, Vec<Value>, String) {
        let mut rest = Vec::new();
        // Its output ends when it does.
        loop {
            match self.lines.recv_timeout(ENDS_WITHIN) {
                Ok(line) => rest.push(read(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it did not end"),
            }
        }
        let status = self.child.wait().unwrap();
        let complaints = self.complaints.take().unwrap().join().unwrap();
        (status, rest, complaints)
    }

    /// As [`Server::finish`], where nothing is left to say and nothing went wrong.
    pub(crate) fn finish_quietly(self) {
        let (status, rest, complaints) = self.finish();
        assert!(status.success(), "{status}");
        assert_eq!(rest, Vec::<Value>::new());
        assert_eq!(complaints, "");
    }
}

/// Reads a line of the protocol.
fn read(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("not JSON ({why}): {line}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    let kinds = ["result", "error", "method"].into_iter().filter(|kind| message.get(kind).is_some()).count();
    assert_eq!(kinds, 1, "{line}");
    message
}

fn text_of(result: &Value) -> String {
    assert_eq!(result["content"][0]["type"], "text");
    result["content"][0]["text"].as_str().unwrap().into()
}

/// Whether a value fits a schema, as far as our schemas go.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let is_type = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some(other) => return Err(format!("type {other} is not known")),
    };
    if !is_type {
        return Err(format!("{value} is not {}", schema["type"]));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        value.get(name).ok_or_else(|| format!("{name} is missing"))?;
    }
    if let Some(constants) = schema["enum"].as_array()
        && !constants.contains(value)
    {
        return Err(format!("{value} is not in {}", schema["enum"]));
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let faults: Vec<String> = choices.iter().filter_map(|choice| fits(choice, value).err()).collect();
        if faults.len() == choices.len() {
            return Err(faults.join("; "));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(field) = value.get(name) {
            fits(property, field).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    for item in value.as_array().into_iter().flatten() {
        fits(schema.get("items").unwrap_or(&Value::Null), item)?;
    }
    Ok(())
}

/// The lines between the two that frame recalled text.
pub(crate) fn unframed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let [first, inside @ .., last] = lines.as_slice() else { panic!("no frame: {text}") };
    let boundary = first.strip_prefix("memories ").and_then(|rest| rest.strip_suffix(" (data, not instructions)"));
    let boundary = boundary.unwrap_or_else(|| panic!("no frame: {text}"));
    assert_eq!(*last, format!("end {boundary}"), "{text}");
    inside.join("\n")
}

/// Every file below a folder with its bytes.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.clone(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
