//! Schemas for clients: what schemars derives, flattened to the few keywords that every client understands.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a request: every field with its type and description.
pub(super) fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = derived::<T>(SchemaSettings::draft2020_12().for_deserialize());
    flatten(&mut schema);
    schema.remove("description");
    schema
}

/// The schema of an answer: the fields that it always has, by type; all fields where it has none of these. None is
/// required: some clients hold a failed result (`{error, kind, hint}`) against it, too.
pub(super) fn output<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = derived::<T>(SchemaSettings::draft2020_12().for_serialize());
    flatten(&mut schema);
    schema.remove("description");
    let promised = schema.remove("required");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        if let Some(Value::Array(promised)) = &promised {
            properties.retain(|name, _| promised.iter().any(|promise| promise == name));
        }
        properties.values_mut().filter_map(Value::as_object_mut).for_each(only_types);
    }
    schema
}

/// Names a property of an object schema as required.
pub(super) fn require(schema: &mut Map<String, Value>, name: &str) {
    if let Some(required) = schema.entry("required").or_insert_with(|| json!([])).as_array_mut()
        && !required.iter().any(|known| known == name)
    {
        required.insert(0, name.into());
    }
}

/// Says that a list may also be given as one text.
pub(super) fn also_text(schema: &mut Map<String, Value>, name: &str) {
    let property = schema.get_mut("properties").and_then(|properties| properties.get_mut(name));
    if let Some(Value::Object(property)) = property {
        property.insert("type".into(), json!(["string", "array"]));
    }
}

/// Names of arguments that the schema does not have, as `limitt` or `memories.txt`, each once.
pub(super) fn unknown_names(schema: &Map<String, Value>, arguments: &Map<String, Value>) -> Vec<String> {
    let mut unknown = Vec::new();
    collect_unknown(schema, arguments, "", &mut unknown);
    unknown
}

fn collect_unknown(schema: &Map<String, Value>, fields: &Map<String, Value>, path: &str, unknown: &mut Vec<String>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, field) in fields {
        let full = format!("{path}{name}");
        let Some(property) = properties.get(name).and_then(Value::as_object) else {
            if !unknown.contains(&full) {
                unknown.push(full);
            }
            continue;
        };
        let items = property.get("items").and_then(Value::as_object).unwrap_or(property);
        // One item may stand where a list is meant.
        for item in field.as_array().map_or(std::slice::from_ref(field), Vec::as_slice) {
            if let Value::Object(fields) = item {
                collect_unknown(items, fields, &format!("{full}."), unknown);
            }
        }
    }
}

fn derived<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// Brings a schema and everything below it into the plain form: no dialect, titles or formats, nothing nullable (an
/// absent field says the same), constants as one `enum`.
fn flatten(schema: &mut Map<String, Value>) {
    for keyword in ["$schema", "title", "format", "default"] {
        schema.remove(keyword);
    }
    if schema.get("minimum").is_some_and(|minimum| minimum.as_f64() == Some(0.0)) {
        schema.remove("minimum");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(mut choices)) = schema.remove(keyword) else { continue };
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        let constants: Vec<Value> = choices.iter().filter_map(constants).flatten().collect();
        if !constants.is_empty() {
            schema.insert("type".into(), "string".into());
            schema.insert("enum".into(), constants.into());
        } else if let [Value::Object(only)] = choices.as_mut_slice() {
            for (name, value) in std::mem::take(only) {
                schema.entry(name).or_insert(value);
            }
            return flatten(schema);
        } else {
            schema.insert(keyword.into(), choices.into());
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(flatten);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(Value::Object(inner)) = schema.get_mut(keyword) {
            flatten(inner);
            // The list is described.
            inner.remove("description");
        }
    }
}

/// The constants that one choice of a union stands for.
fn constants(choice: &Value) -> Option<Vec<Value>> {
    match (choice.get("const"), choice.get("enum")) {
        (Some(constant), _) => Some(vec![constant.clone()]),
        (None, Some(Value::Array(constants))) => Some(constants.clone()),
        _ => None,
    }
}

/// Leaves of a field what type it has: agents pay for more.
fn only_types(schema: &mut Map<String, Value>) {
    schema.retain(|keyword, _| keyword == "type");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    /// A colour.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Colour {
        /// Like the sky.
        Blue,
        /// Like grass.
        Green,
    }

    /// Something inside.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Inner {
        /// Its title.
        title: String,
        /// How much.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amount: Option<f64>,
    }

    /// Everything that schemars may say.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Outer {
        /// Many.
        inner: Vec<Inner>,
        /// One, perhaps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        one: Option<Inner>,
        /// Blue or green.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        colour: Option<Colour>,
        /// Up to five.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 5))]
        count: Option<u32>,
    }

    /// An answer that may be empty.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Sparse {
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Up to five.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 5))]
        count: Option<u32>,
    }

    #[test]
    fn inputs_are_flat_and_described() {
        let inner = |description: Option<&str>| {
            let mut schema = json!({
                "type": "object",
                "properties": {
                    "title": { "type": "string", "description": "Its title." },
                    "amount": { "type": "number", "description": "How much." },
                },
                "required": ["title"],
            });
            if let Some(description) = description {
                schema["description"] = description.into();
            }
            schema
        };
        let expected = json!({
            "type": "object",
            "properties": {
                "inner": { "type": "array", "items": inner(None), "description": "Many." },
                "one": inner(Some("One, perhaps.")),
                "colour": { "type": "string", "enum": ["blue", "green"], "description": "Blue or green." },
                "count": { "type": "integer", "minimum": 1, "maximum": 5, "description": "Up to five." },
            },
            "required": ["inner"],
        });
        assert_eq!(Value::from(input::<Outer>()), expected);
    }

    #[test]
    fn outputs_hold_what_is_promised_and_let_errors_pass() {
        let expected = json!({
            "type": "object",
            "properties": { "inner": { "type": "array" } },
        });
        assert_eq!(Value::from(output::<Outer>()), expected);
        let promises_nothing = json!({
            "type": "object",
            "properties": { "title": { "type": "string" }, "count": { "type": "integer" } },
        });
        assert_eq!(Value::from(output::<Sparse>()), promises_nothing);
    }

    #[test]
    fn unknown_names_are_found_at_any_depth() {
        let schema = input::<Outer>();
        for (value, unknown) in [
            (json!({ "inner": [{ "title": "a" }], "count": 1 }), vec![]),
            (json!({ "innner": [], "count": 1, "Count": 2 }), vec!["innner", "Count"]),
            (json!({ "inner": [{ "text": 1 }, { "text": 2, "amount": 1 }] }), vec!["inner.text"]),
            (json!({ "inner": { "text": 1 }, "one": { "x": 1 } }), vec!["inner.text", "one.x"]),
            (json!({ "inner": "a string", "one": [1] }), vec![]),
        ] {
            assert_eq!(unknown_names(&schema, value.as_object().unwrap()), unknown, "{value}");
        }
    }

    #[test]
    fn a_field_is_required_once() {
        let mut schema = input::<Outer>();
        require(&mut schema, "count");
        require(&mut schema, "count");
        assert_eq!(schema["required"], json!(["count", "inner"]));
    }
}
