//! Commit messages: one subject line and `Key: value` trailers, cleaned of what could disturb a log.

/// Longest subject, in characters.
const SUBJECT_CHARS: usize = 72;
/// Longest value of a trailer, in characters.
const TRAILER_CHARS: usize = 500;

/// What a commit says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// What happened, in one line; cut to 72 characters.
    pub subject: String,
    /// Machine-readable facts, such as `Ebbmark-Memory` and an id.
    pub trailers: Vec<(String, String)>,
}

impl Message {
    /// The subject as it is committed: one line, at most 72 characters, no control characters.
    pub fn clean_subject(&self) -> String {
        let subject = one_line(&self.subject, SUBJECT_CHARS);
        if subject.is_empty() { "Update the vault".to_owned() } else { subject }
    }

    /// The whole text as it is committed. A trailer without a usable key or value is left out.
    pub fn text(&self) -> String {
        let mut text = self.clean_subject();
        text.push('\n');
        let trailers: Vec<_> = self.trailers.iter().filter_map(|(key, value)| clean_trailer(key, value)).collect();
        if !trailers.is_empty() {
            text.push('\n');
            text.extend(trailers);
        }
        text
    }
}

fn clean_trailer(key: &str, value: &str) -> Option<String> {
    let key: String = key.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let value = one_line(value, TRAILER_CHARS);
    (!key.is_empty() && !value.is_empty()).then(|| format!("{key}: {value}\n"))
}

/// The text in one line of at most `limit` characters; a cut is shown by `…`.
fn one_line(text: &str, limit: usize) -> String {
    let spaced: String = text
        .chars()
        .filter(|c| !turns_direction(*c))
        .map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c })
        .collect();
    let line = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= limit {
        return line;
    }
    let kept: String = line.chars().take(limit - 1).collect();
    format!("{}…", kept.trim_end())
}

/// Marks that reorder the text around them: in a terminal's log they could make a subject read as another one.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(subject: &str, trailers: &[(&str, &str)]) -> Message {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Message { subject: subject.to_owned(), trailers: trailers.iter().map(own).collect() }
    }

    #[test]
    fn subjects_are_one_short_plain_line() {
        let long = "x".repeat(72);
        let longer = "ü".repeat(73);
        let cut = format!("{}…", "ü".repeat(71));
        let table = [
            ("Promote: Prefers TypeScript", "Promote: Prefers TypeScript"),
            ("  two\r\nlines\tand\u{0}more  ", "two lines and more"),
            ("", "Update the vault"),
            ("\n\u{7}", "Update the vault"),
            ("\u{202e}evil\u{2066}", "evil"),
            ("日本語のノート 👩‍💻", "日本語のノート 👩‍💻"),
            (long.as_str(), long.as_str()),
            (longer.as_str(), cut.as_str()),
        ];
        for (given, expected) in table {
            assert_eq!(message(given, &[]).clean_subject(), expected, "{given:?}");
        }
    }

    #[test]
    fn trailers_follow_a_blank_line_and_cannot_add_lines() {
        let text =
            message("Edit", &[("Ebbmark-Memory", "7k2m9x4qwc3r"), ("Bad key:\n", "a\nSigned-off-by: b"), ("x", " ")])
                .text();
        assert_eq!(text, "Edit\n\nEbbmark-Memory: 7k2m9x4qwc3r\nBadkey: a Signed-off-by: b\n");
        assert_eq!(message("Edit", &[("::", "x")]).text(), "Edit\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn any_subject_becomes_one_line_of_at_most_72_characters(subject in "\\PC{0,200}|[\\s\\S]{0,200}") {
            let clean = message(&subject, &[]).clean_subject();
            prop_assert!((1..=72).contains(&clean.chars().count()));
            prop_assert!(!clean.chars().any(char::is_control));
            prop_assert_eq!(message(&clean, &[]).clean_subject(), clean);
        }
    }
}
