//! Reading requests kindly: a string where a list is meant, one object where many are, numbers as strings.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};

/// A list, or one item in its place; absent or null is the empty list.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let items = match Value::deserialize(deserializer)? {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        one => vec![one],
    };
    items.into_iter().map(|item| serde_json::from_value(item).map_err(D::Error::custom)).collect()
}

/// A list of words: numbers count as words, and one text may hold several between commas.
pub(super) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let word = |value: Value| match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(D::Error::custom(format!("`{other}` is no word"))),
    };
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(text.split(',').map(|part| part.trim().to_owned()).collect()),
        Value::Array(items) => items.into_iter().map(word).collect(),
        one => word(one).map(|word| vec![word]),
    }
}

/// As [`words`], where being there at all means something.
pub(super) fn some_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        value => words(value).map(Some).map_err(D::Error::custom),
    }
}

/// A text, or a number as its text.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => Err(D::Error::custom(format!("`{other}` is no text"))),
    }
}

/// A whole number, also negative, or the text of one.
pub(super) fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(number(deserializer)?.map(|number| number as i64))
}

/// Memories: one or many, each an object or its text; also the JSON text of such a list.
pub(super) fn memories<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    let given = Value::deserialize(deserializer)?;
    let read = given.as_str().filter(|text| text.trim_start().starts_with(['[', '{'])).map(serde_json::from_str);
    let given = if let Some(Ok(read)) = read { read } else { given };
    list(given).map_err(D::Error::custom)
}

/// A number, or the text of one.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(number.as_f64()),
        Value::String(text) => {
            text.trim().parse().map(Some).map_err(|_| D::Error::custom(format!("`{text}` is no number")))
        }
        other => Err(D::Error::custom(format!("`{other}` is no number"))),
    }
}

/// A whole number, or the text of one; one below zero is zero.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(number(deserializer)?.map(|number| number as u32))
}

/// A switch, or the text `true` or `false`.
pub(super) fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Bool(is_on) => Ok(Some(is_on)),
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(Some(true)),
            "false" | "no" | "0" => Ok(Some(false)),
            _ => Err(D::Error::custom(format!("`{text}` is neither true nor false"))),
        },
        other => Err(D::Error::custom(format!("`{other}` is neither true nor false"))),
    }
}

/// The first of some named values that a request cannot take, and why not, in plain words.
pub(crate) fn wrong_field<T: DeserializeOwned>(fields: &Map<String, Value>) -> Option<(String, String)> {
    fields.iter().find_map(|(name, value)| {
        // Each alone shows which one it is.
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        let error = T::deserialize(alone).err()?.to_string();
        (!error.starts_with("missing field")).then(|| (name.clone(), plain(&error, value)))
    })
}

/// What serde says of a value, in words for people.
fn plain(error: &str, value: &Value) -> String {
    let shown = super::say::cut(&value.to_string().replace('"', "`"), 40);
    let typed = error.strip_prefix("invalid type: ").or_else(|| error.strip_prefix("invalid value: "));
    if let Some((_, expected)) = typed.and_then(|error| error.rsplit_once(", expected ")) {
        let what = match expected {
            "a string" | "string or map" => "no text",
            "a boolean" => "neither true nor false",
            "a sequence" => "no list",
            "i64" | "u64" | "u32" => "no whole number",
            "f64" => "no number",
            _ if expected.starts_with("struct ") || expected == "a map" => "no object of named values",
            _ => return format!("{shown} is not {expected}"),
        };
        return format!("{shown} is {what}");
    }
    match error.strip_prefix("unknown variant ").and_then(|error| error.split_once(", expected ")) {
        Some((given, known)) => {
            let known = known.trim_start_matches("one of ").replace('`', "").replace(" or ", ", ");
            format!("{given} is none of {known}")
        }
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Request {
        #[serde(default, deserialize_with = "words")]
        tags: Vec<String>,
        #[serde(default, deserialize_with = "some_words")]
        kinds: Option<Vec<String>>,
        #[serde(default, deserialize_with = "count")]
        limit: Option<u32>,
        #[serde(default, deserialize_with = "switch")]
        explain: Option<bool>,
    }

    #[test]
    fn near_misses_are_read_as_meant() {
        let read = |text: &str| serde_json::from_str::<Request>(text).unwrap();
        let expected = Request { tags: vec!["a".into()], kinds: None, limit: Some(3), explain: Some(true) };
        assert_eq!(read(r#"{"tags":"a","kinds":null,"limit":"3","explain":"true"}"#), expected);
        assert_eq!(read(r#"{"tags":["a"],"limit":3,"explain":true}"#), expected);
        assert_eq!(read(r#"{"kinds":[]}"#).kinds, Some(Vec::new()));
        assert_eq!((read(r#"{"limit":-1}"#).limit, read(r#"{"limit":1e12}"#).limit), (Some(0), Some(u32::MAX)));
        assert_eq!(read(r#"{"tags":"a, b"}"#).tags, ["a", "b"]);
        assert_eq!(read(r#"{"tags":[1,"two"]}"#).tags, ["1", "two"]);
        let told = |text: &str| memories(serde_json::from_str::<Value>(text).unwrap()).unwrap();
        assert_eq!(told(r#""[{\"text\":\"t\"}]""#), told(r#"{"text":"t"}"#));
        assert_eq!(told(r#""plain""#), [Value::from("plain")]);
        for wrong in [r#"{"tags":{}}"#, r#"{"limit":"many"}"#, r#"{"explain":"perhaps"}"#] {
            assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        }
    }
    #[test]
    fn what_cannot_be_taken_is_told_in_plain_words() {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum View {
            Health,
            Stats,
        }
        #[derive(Deserialize)]
        #[serde(default)]
        #[derive(Default)]
        struct Asked {
            #[serde(rename = "text")]
            _text: String,
            #[serde(rename = "view")]
            _view: Option<View>,
            #[serde(rename = "old")]
            _old: Option<bool>,
            #[serde(rename = "many")]
            _many: Vec<i64>,
        }
        let told = |json: &str| {
            let fields: Map<String, Value> = serde_json::from_str(json).unwrap();
            wrong_field::<Asked>(&fields).map(|(name, why)| format!("{name}: {why}"))
        };
        assert_eq!(told(r#"{"text":"x","view":"health","unknown":1}"#), None);
        assert_eq!(told(r#"{"view":"stats","text":null}"#).unwrap(), "text: null is no text");
        assert_eq!(told(r#"{"view":7}"#).unwrap(), "view: 7 is no text");
        assert_eq!(told(r#"{"view":"weather"}"#).unwrap(), "view: `weather` is none of health, stats");
        assert_eq!(told(r#"{"old":"x"}"#).unwrap(), "old: `x` is neither true nor false");
        assert_eq!(told(r#"{"many":{"a":1}}"#).unwrap(), "many: {`a`:1} is no list");
        assert_eq!(told(r#"{"many":[1.5]}"#).unwrap(), "many: [1.5] is no whole number");
    }
}
