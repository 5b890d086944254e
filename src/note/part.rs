//! A person's note in parts that fit a reply: by heading, long ones by paragraph.

use super::Note;

/// Longest part in bytes, unless one paragraph is longer and has no line end or blank to be cut at.
const MAX_BYTES: usize = 1_500;

/// A part of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// Its text, as [`Section::text`](super::content::Section::text).
    pub text: String,
}

impl Note {
    /// The parts of the note that say something, in order.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for section in self.sections() {
            let pieces = pieces(&section.text).into_iter();
            parts.extend(pieces.map(|text| Part { headings: section.path.clone(), text: text.to_owned() }));
        }
        parts
    }
}

/// Cuts a text where it is least missed: between paragraphs, else lines, else words.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text.trim());
    while rest.len() > MAX_BYTES {
        let most = whole_characters(rest, MAX_BYTES);
        // A short piece before a long paragraph would say little.
        let behind = whole_characters(rest, MAX_BYTES / 3);
        let cut = ["\n\n", "\n", " "].iter().find_map(|gap| rest[behind..most].rfind(gap).map(|at| behind + at));
        let (piece, more) = rest.split_at(cut.unwrap_or(most));
        pieces.push(piece.trim_end());
        rest = more.trim_start();
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// The most bytes up to `bytes` that hold whole characters.
fn whole_characters(text: &str, bytes: usize) -> usize {
    (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_follow_the_headings() {
        let note = Note::parse(
            "---\nid: x\n---\nBefore.\n# Plan\n\n## Budget\nTea [[Shop|here]].\n\n%% ebbmark:related %%\n- [[A]]\n%% /ebbmark:related %%\n# Empty\n",
        );
        let parts: Vec<(String, String)> =
            note.parts().into_iter().map(|part| (part.headings.join(" > "), part.text)).collect();
        assert_eq!(parts, [(String::new(), "Before.".into()), ("Plan > Budget".into(), "Tea here.".into())]);
        assert!(Note::parse("---\na: 1\n---\n").parts().is_empty());
    }

    #[test]
    fn long_sections_are_cut_between_paragraphs() {
        let paragraph = "word ".repeat(160);
        let text = format!("# H\n{}\n\n{}\n\n{}", paragraph.trim(), paragraph.trim(), paragraph.trim());
        let parts = Note::parse(&text).parts();
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.text == paragraph.trim() && part.headings == ["H"]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_but_blanks_is_left_out(text in "([a-zé\u{1F600}]{0,9}[ \n]{0,3}){0,900}") {
            let all: String = pieces(&text).concat().split_whitespace().collect();
            prop_assert_eq!(all, text.split_whitespace().collect::<String>());
            prop_assert!(pieces(&text).iter().all(|piece| !piece.is_empty() && piece.len() <= MAX_BYTES));
        }
    }
}
