//! The tools: what clients are told about each, and how a call becomes a request to the engine and its answer a reply.

use std::sync::{Arc, LazyLock};

use rmcp::model::{CallToolResult, ContentBlock, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{frame, schema};
use crate::engine::{Engine, say, wrong_field};
use crate::error::{Error, Result};

/// Carries out one call of a tool as [`serve`](super::serve) does, for programs that have a wire of their own. Answers
/// with the protocol's result object: what went wrong with the call stands in it, with a hint.
///
/// # Errors
/// [`Error::NotFound`] where there is no such tool.
pub fn call(engine: &Arc<Engine>, name: &str, arguments: Map<String, Value>) -> Result<Value> {
    let tool = find(name).ok_or_else(|| Error::NotFound { what: format!("tool `{name}`") })?;
    let result = Call { tool, arguments, client: None, is_read_only: false }.carry_out(|| Ok(Arc::clone(engine)));
    serde_json::to_value(result).map_err(|error| Error::Internal(error.to_string()))
}

/// Named arguments of a call, or a schema.
pub(super) type Object = Map<String, Value>;

/// What a tool does to memory; clients decide by it what to ask the person about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing; its text is recalled text and is framed as data.
    Reads,
    /// It adds or changes, and nothing is lost. `again`: doing it twice changes nothing more.
    Writes { again: bool },
    /// It takes away.
    Destroys,
}

/// One tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
    input: Object,
    output: Object,
    answer: Box<Answerer>,
}

/// A call carried out: the answer as JSON and as text.
type Answerer = dyn Fn(&Engine, &Object) -> Result<(Value, String)> + Send + Sync;

/// Tools that are listed only on request; they can be called all the same.
const BEYOND_CORE: [&str; 1] = ["consolidate"];

/// All tools, in the order in which they are listed.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let mut remember = tool(
        "remember",
        "Remember",
        "Call when you learn what will matter later: a stable fact, a preference, a decision and its reason, a \
         correction, how something is done; or when asked to remember. One self-contained sentence each, with names \
         instead of pronouns and dates instead of \"yesterday\"; several in one call. No secrets. What is known is \
         recognised, not saved twice. What is no longer true goes into `supersedes`. Kinds: preference, fact, \
         decision, correction, skill, feedback, context, event, interest, question, one_time, note.",
        Effect::Writes { again: true },
        Engine::remember,
        say::remember,
    );
    let memory = remember.input.get_mut("properties").and_then(|properties| properties.get_mut("memories"));
    if let Some(Value::Object(memory)) = memory.and_then(|memories| memories.get_mut("items")) {
        schema::require(memory, "text");
    }
    let mut recall = tool(
        "recall",
        "Recall",
        "Call before answering about the person, their preferences, a project, a decision or earlier work. Searches \
         everything remembered, promoted notes too. `found` is false when nothing fits: then say so, do not guess. \
         `previously` holds what was true before.",
        Effect::Reads,
        Engine::recall,
        say::recall,
    );
    schema::also_text(&mut recall.input, "query");
    let open = tool(
        "open",
        "Open memories",
        "Call when a hit of `recall` is not enough: full text, strength, source, relations and, on request, history. \
         Never counts as use.",
        Effect::Reads,
        Engine::open_memories,
        say::open,
    );
    let mut revise = tool(
        "revise",
        "Revise a memory",
        "Call when a memory is worded wrongly or a field of it is. Give only what changes; the earlier text stays in \
         its history, its note follows. For a new state of affairs use `remember` with `supersedes`.",
        Effect::Writes { again: true },
        Engine::revise,
        say::revise,
    );
    schema::require(&mut revise.input, "id");
    let reinforce = tool(
        "reinforce",
        "Reinforce memories",
        "Call when a memory really helped: it will fade later. `recall` counts its best hits by itself.",
        Effect::Writes { again: false },
        Engine::reinforce,
        say::reinforce,
    );
    let forget = tool(
        "forget",
        "Forget memories",
        "Call when the person asks to forget something. Hidden at once; the reply says how to undo it. `purge` erases \
         for good. Show the person a preview.",
        Effect::Destroys,
        Engine::forget,
        say::forget,
    );
    let mut relate = tool(
        "relate",
        "Relate",
        "Call when two memories hang together or contradict each other.",
        Effect::Writes { again: true },
        Engine::relate,
        say::relate,
    );
    for name in ["type", "to", "from"] {
        schema::require(&mut relate.input, name);
    }
    let promote = tool(
        "promote",
        "Promote to the vault",
        "Call when the person wants something kept for good: it becomes a note in their Obsidian vault and fades no \
         more. Without ids: everything that has proved itself.",
        Effect::Writes { again: true },
        Engine::promote,
        say::promote,
    );
    let review = tool(
        "review",
        "Review",
        "Call when `recall` shows a conflict, or when asked what there is to decide. Show the person its previews.",
        Effect::Writes { again: true },
        Engine::review,
        say::review,
    );
    let inspect = tool(
        "inspect",
        "Inspect memory",
        "Call when asked what is known in all (overview) or of someone (entity), how memory stands (stats), what has \
         faded or is due, or when something seems wrong (health).",
        Effect::Reads,
        Engine::inspect,
        say::inspect,
    );
    let consolidate = tool(
        "consolidate",
        "Consolidate memories",
        "Call when asked to tidy up what is known: it shows clusters of memories that say much the same. Then merge, \
         link or keep one by its id. Where they say different things, a merge needs a `text` that holds all of it; show \
         that to the person first. The originals stay and can be restored.",
        Effect::Writes { again: false },
        Engine::consolidate,
        say::consolidate,
    );
    vec![remember, recall, open, revise, reinforce, forget, relate, promote, review, inspect, consolidate]
});

fn tool<Q: DeserializeOwned + JsonSchema + 'static, A: Serialize + JsonSchema + 'static>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
    ask: fn(&Engine, &Q) -> Result<A>,
    say: fn(&A) -> String,
) -> Tool {
    let input = schema::input::<Q>();
    let hints = input.clone();
    let answer = move |engine: &Engine, arguments: &Object| {
        let request: Q = decode(&hints, arguments)?;
        let answer = ask(engine, &request)?;
        let structured = serde_json::to_value(&answer).map_err(|error| Error::Internal(error.to_string()))?;
        Ok((structured, say(&answer)))
    };
    Tool { name, title, description, effect, input, output: schema::output::<A>(), answer: Box::new(answer) }
}

/// The tool of that name, whether it is listed or not.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Names of the tools that are listed.
pub(super) fn names(is_read_only: bool, is_full: bool) -> String {
    list(is_read_only, is_full).iter().map(|tool| tool.name.clone()).collect::<Vec<_>>().join(", ")
}

/// What `tools/list` shows: the core profile, or all.
pub(super) fn list(is_read_only: bool, is_full: bool) -> Vec<Listed> {
    let is_listed = |tool: &&Tool| {
        (is_full || !BEYOND_CORE.contains(&tool.name)) && (!is_read_only || tool.effect == Effect::Reads)
    };
    TOOLS.iter().filter(is_listed).map(Tool::listed).collect()
}

impl Tool {
    fn listed(&self) -> Listed {
        // What is the protocol's own default is left out.
        let annotations = ToolAnnotations::new().open_world(false);
        let annotations = match self.effect {
            Effect::Reads => annotations.read_only(true),
            Effect::Writes { again } => annotations.read_only(false).destructive(false).idempotent(again),
            Effect::Destroys => annotations.read_only(false).destructive(true).idempotent(true),
        };
        Listed::new(self.name, self.description, self.input.clone())
            .with_title(self.title)
            .with_raw_output_schema(self.output.clone().into())
            .with_annotations(annotations)
    }
}

/// A call of a tool, as it came in.
pub(super) struct Call {
    pub(super) tool: &'static Tool,
    pub(super) arguments: Object,
    /// Name of the program that calls.
    pub(super) client: Option<String>,
    pub(super) is_read_only: bool,
}

impl Call {
    /// Carries the call out on the engine that `open` gives.
    pub(super) fn carry_out(mut self, open: impl FnOnce() -> Result<Arc<Engine>>) -> CallToolResult {
        let ignored = schema::unknown_names(&self.tool.input, &self.arguments);
        let note = if ignored.is_empty() { String::new() } else { format!("ignored: {}\n", ignored.join(", ")) };
        self.prepare();
        match self.answer(open, &note) {
            Ok((structured, text)) => result(structured, &text, false),
            Err(error) => failure(&error, &note),
        }
    }

    /// Adds what the server knows and the caller did not say.
    fn prepare(&mut self) {
        match (self.tool.name, &self.client) {
            ("remember", Some(client)) => {
                if let Some(memories) = self.arguments.get_mut("memories") {
                    name_client(memories, client);
                }
            }
            ("recall", _) if self.is_read_only => {
                self.arguments.insert("reinforce".into(), false.into());
            }
            _ => {}
        }
    }

    fn answer(self, open: impl FnOnce() -> Result<Arc<Engine>>, note: &str) -> Result<(Value, String)> {
        let Tool { name, effect, answer, .. } = self.tool;
        if self.is_read_only && *effect != Effect::Reads {
            return Err(Error::invalid(
                format!("tool {name}"),
                "this server is read-only",
                "nothing can be saved or changed here; `ebbmark serve` without --read-only can",
            ));
        }
        let engine = open()?;
        let (structured, text) = answer(&engine, &self.arguments)?;
        // What we say about the call stands outside the frame, where only data is.
        let is_recalled = *effect == Effect::Reads || structured.get("preview").is_some();
        let said = if is_recalled { frame::framed(&text)? } else { frame::visible(&text) };
        let note = frame::visible(note);
        Ok((structured, if note.is_empty() { said } else { format!("{}\n{note}", said.trim_end()) }))
    }
}

/// Notes the program that saves, in each memory that names none.
fn name_client(memories: &mut Value, client: &str) {
    match memories {
        Value::Array(memories) => memories.iter_mut().for_each(|memory| name_client(memory, client)),
        Value::String(text) => {
            // Models send lists as their JSON text, too.
            let read = serde_json::from_str(text).ok().filter(|read: &Value| read.is_array() || read.is_object());
            *memories = read.unwrap_or_else(|| json!({ "text": text }));
            name_client(memories, client);
        }
        Value::Object(memory) => {
            let source = memory.entry("source").or_insert(Value::Null);
            if source.is_null() {
                *source = json!({});
            }
            if let Value::Object(source) = source
                && source.get("client").is_none_or(Value::is_null)
            {
                source.insert("client".into(), client.into());
            }
        }
        _ => {}
    }
}

/// Reads the arguments; the error names the one that is wrong and says what it should be.
fn decode<Q: DeserializeOwned>(input: &Object, arguments: &Object) -> Result<Q> {
    let error = match Q::deserialize(arguments) {
        Ok(request) => return Ok(request),
        Err(error) => error.to_string(),
    };
    let wrong = wrong_field::<Q>(arguments);
    let required = || input.get("required")?.as_array()?.iter().find_map(Value::as_str);
    let (name, why) = match wrong {
        Some(wrong) => wrong,
        None if error.starts_with("missing field") => {
            (required().unwrap_or("arguments").to_owned(), "is missing".to_owned())
        }
        None => ("arguments".to_owned(), error),
    };
    let described = input.get("properties").and_then(|properties| properties.get(&name)?.get("description")?.as_str());
    let hint = described.map_or("see the tool's input schema".into(), |described| format!("{name}: {described}"));
    Err(Error::invalid(name, why, hint))
}

/// The result of a call that failed: what, whose it is to mend, and how; as text too.
pub(super) fn failure(error: &Error, note: &str) -> CallToolResult {
    let hint = error.hint();
    let structured = json!({ "error": error.to_string(), "kind": error.kind().as_str(), "hint": hint });
    result(structured, &frame::visible(&format!("{error}\nhint: {hint}\n{note}")), true)
}

fn result(structured: Value, text: &str, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text.trim_end())];
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(structured);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{OpenRequest, RecallRequest, RememberRequest};
    use crate::kinds::Kind;

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_list_is_small_flat_and_in_a_fixed_order() {
        let listed = list(false, false);
        let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(
            names,
            ["remember", "recall", "open", "revise", "reinforce", "forget", "relate", "promote", "review", "inspect"]
        );
        let text = serde_json::to_string(&listed).unwrap();
        assert!(text.len() <= 12_288, "{} bytes", text.len());
        for keyword in ["$ref", "$defs", "$schema", "\"null\"", "\"format\"", "\"default\"", "\"oneOf\"", "\"allOf\""] {
            assert!(!text.contains(keyword), "{keyword}");
        }
        assert_eq!(text, serde_json::to_string(&list(false, false)).unwrap());
        let readers: Vec<String> = list(true, true).into_iter().map(|tool| tool.name.into_owned()).collect();
        assert_eq!(readers, ["recall", "open", "inspect"]);
        let all: Vec<String> = list(false, true).into_iter().map(|tool| tool.name.into_owned()).collect();
        assert_eq!(all.get(..10).unwrap(), names);
        assert_eq!(all.get(10..).unwrap(), BEYOND_CORE);
    }

    #[test]
    fn every_tool_says_when_to_call_it_and_what_each_argument_is() {
        for tool in list(false, true) {
            let description = tool.description.unwrap_or_default();
            assert!(description.starts_with("Call when") || description.starts_with("Call before"), "{}", tool.name);
            assert!(description.len() < 2048, "{}", tool.name);
            assert!(tool.title.is_some_and(|title| !title.is_empty()), "{}", tool.name);
            for (name, argument) in tool.input_schema["properties"].as_object().unwrap() {
                let described = argument["description"].as_str().unwrap_or_default();
                assert!(!described.is_empty() && described.len() < 120, "{}: {name}", tool.name);
            }
        }
        let remember = find("remember").unwrap();
        for kind in Kind::ALL {
            assert!(remember.description.contains(kind.as_str()), "{kind:?}");
        }
    }

    #[test]
    fn annotations_are_honest() {
        let hints = |name: &str| {
            let annotations = find(name).unwrap().listed().annotations.unwrap();
            assert_eq!(annotations.open_world_hint, Some(false));
            (annotations.read_only_hint, annotations.destructive_hint, annotations.idempotent_hint)
        };
        for name in ["recall", "open", "inspect"] {
            assert_eq!(hints(name), (Some(true), None, None), "{name}");
        }
        for name in ["remember", "revise", "relate", "promote", "review"] {
            assert_eq!(hints(name), (Some(false), Some(false), Some(true)), "{name}");
        }
        assert_eq!(hints("reinforce"), (Some(false), Some(false), Some(false)));
        assert_eq!(hints("forget"), (Some(false), Some(true), Some(true)));
    }

    #[test]
    fn what_must_be_given_is_said() {
        let required = |name: &str| find(name).unwrap().input.get("required").cloned().unwrap_or_default();
        assert_eq!(required("remember"), json!(["memories"]));
        assert_eq!(required("recall"), Value::Null);
        assert_eq!(required("revise"), json!(["id"]));
        assert_eq!(required("relate"), json!(["from", "to", "type"]));
        assert_eq!(required("forget"), Value::Null);
        for name in ["open", "reinforce"] {
            assert_eq!(required(name), json!(["ids"]), "{name}");
        }
        assert_eq!(find("remember").unwrap().input["properties"]["memories"]["items"]["required"], json!(["text"]));
    }

    #[test]
    fn wrong_arguments_are_named() {
        fn decoded<Q: DeserializeOwned + std::fmt::Debug>(tool: &str, arguments: Value) -> String {
            let error = decode::<Q>(&find(tool).unwrap().input, &object(arguments)).unwrap_err();
            format!("{error} / {}", error.hint())
        }
        let cases = [
            (
                decoded::<RecallRequest>("recall", json!({ "query": "x", "limit": "many" })),
                "limit: `many` is no number / limit: 1 to 50",
            ),
            (decoded::<RecallRequest>("recall", json!({ "query": {} })), "query: {} is no text / query: What"),
            (decoded::<OpenRequest>("open", json!({ "history": true })), "ids: is missing / ids: 1 to 100"),
            (decoded::<OpenRequest>("open", json!({ "history": "perhaps" })), "history: `perhaps`"),
            (
                decoded::<RememberRequest>("remember", json!({ "memories": [], "op_key": 7 })),
                "op_key: 7 is no text / op_key: ",
            ),
        ];
        for (text, start) in cases {
            assert!(text.starts_with(start), "{text}");
        }
    }

    #[test]
    fn the_client_is_named_where_the_caller_names_none() {
        let named = json!({ "client": "Desk" });
        for (given, expected) in [
            (json!("a"), json!({ "text": "a", "source": named })),
            (json!({ "text": "a" }), json!({ "text": "a", "source": named })),
            (json!({ "source": null }), json!({ "source": named })),
            (json!({ "source": { "client": null } }), json!({ "source": named })),
            (json!({ "source": { "who": "web" } }), json!({ "source": { "who": "web", "client": "Desk" } })),
            (json!({ "source": { "client": "Other" } }), json!({ "source": { "client": "Other" } })),
            (json!({ "source": "wrong" }), json!({ "source": "wrong" })),
            (json!(["a", 7]), json!([{ "text": "a", "source": named }, 7])),
        ] {
            let mut memories = given.clone();
            name_client(&mut memories, "Desk");
            assert_eq!(memories, expected, "{given}");
        }
    }

    #[test]
    fn a_read_only_recall_counts_no_use() {
        for (is_read_only, expected) in [(true, json!(false)), (false, json!(true))] {
            let arguments = object(json!({ "query": "x", "reinforce": true }));
            let mut call = Call { tool: find("recall").unwrap(), arguments, client: None, is_read_only };
            call.prepare();
            assert_eq!(call.arguments["reinforce"], expected);
        }
    }

    #[test]
    fn errors_hide_nothing() {
        let failed = failure(&Error::no_memory("a\u{202e}b\u{1b}[31m"), "ignored: x\u{200b}y\n");
        let text = failed.content.first().and_then(|block| block.as_text()).unwrap().text.clone();
        assert!(text.starts_with("there is no memory `ab`\nhint: ") && text.ends_with("\nignored: xy"), "{text:?}");
    }

    #[test]
    fn a_failed_opening_and_a_refused_write_are_results() {
        let call = |name: &str, is_read_only: bool| {
            let call =
                Call { tool: find(name).unwrap(), arguments: object(json!({ "x": 1 })), client: None, is_read_only };
            call.carry_out(|| Err(Error::invalid("config.toml", "is not UTF-8", "save it as UTF-8")))
        };
        let refused = call("recall", false);
        assert_eq!(refused.is_error, Some(true));
        let expected = json!({ "error": "config.toml: is not UTF-8", "kind": "user", "hint": "save it as UTF-8" });
        assert_eq!(refused.structured_content, Some(expected));
        let text = refused.content.first().and_then(|block| block.as_text()).map(|block| block.text.as_str());
        assert_eq!(text, Some("config.toml: is not UTF-8\nhint: save it as UTF-8\nignored: x"));
        for name in ["remember", "revise", "reinforce", "forget", "relate", "promote", "review"] {
            let structured = call(name, true).structured_content.unwrap();
            assert_eq!(structured["error"], format!("tool {name}: this server is read-only"));
        }
    }
}
