//! What is made of a text before it is cut: lower case, decomposed, without marks.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

/// Marks without width.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\p{Mn}+").ok());

/// One change of a text.
pub(super) enum Step {
    Lowercase,
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    /// Drops the marks without width: after [`Step::Nfd`], accents.
    DropMarks,
    Replace(Regex, String),
    Trim {
        start: bool,
        end: bool,
    },
}

impl Step {
    fn apply<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        let changed = match self {
            Step::Lowercase => text.to_lowercase(),
            Step::Trim { start, end } => {
                let rest = if *start { text.trim_start() } else { &text };
                (if *end { rest.trim_end() } else { rest }).to_owned()
            }
            Step::Replace(pattern, with) => match pattern.replace_all(&text, with) {
                Cow::Borrowed(_) => return text,
                Cow::Owned(changed) => changed,
            },
            // None of the others changes ASCII.
            _ if text.is_ascii() => return text,
            Step::Nfc => text.nfc().collect(),
            Step::Nfd => text.nfd().collect(),
            Step::Nfkc => text.nfkc().collect(),
            Step::Nfkd => text.nfkd().collect(),
            Step::DropMarks => match MARKS.as_ref().map(|marks| marks.replace_all(&text, "")) {
                Some(Cow::Owned(changed)) => changed,
                _ => return text,
            },
        };
        Cow::Owned(changed)
    }
}

/// Applies the steps in their order.
pub(super) fn normalise<'a>(steps: &[Step], text: &'a str) -> Cow<'a, str> {
    steps.iter().fold(Cow::Borrowed(text), |text, step| step.apply(text))
}
