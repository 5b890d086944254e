//! Reading requests kindly: a string where a list is meant, one object where many are, numbers as strings.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::Value;

/// A list, or one item in its place; absent or null is the empty list.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let items = match Value::deserialize(deserializer)? {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        one => vec![one],
    };
    items.into_iter().map(|item| serde_json::from_value(item).map_err(D::Error::custom)).collect()
}

/// As [`list`], where being there at all means something.
pub(super) fn some_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        value => list(value).map(Some).map_err(D::Error::custom),
    }
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

/// A whole number, or the text of one.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = number(deserializer)?;
    number
        .map(|number| if number >= 0.0 { Ok(number as u32) } else { Err(D::Error::custom("must not be negative")) })
        .transpose()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Request {
        #[serde(default, deserialize_with = "list")]
        tags: Vec<String>,
        #[serde(default, deserialize_with = "some_list")]
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
        for wrong in [r#"{"tags":{}}"#, r#"{"limit":-1}"#, r#"{"limit":"many"}"#, r#"{"explain":"perhaps"}"#] {
            assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        }
    }
}
